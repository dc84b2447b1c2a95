import { expect, test } from 'vitest'
import type { CommandAuthor } from '../rights/chat-rights.ts'
import type { Message } from '../domain/message.ts'
import { commandShapes, helpText, mayGive, parseCommand } from './command.ts'
import type { CommandName } from './command.ts'
import { commandText } from './message-text.ts'

test.each([
  ['/new', 'new', ''],
  ['/NEW haiku summarize this', 'new', 'haiku summarize this'],
  ['/reset@my_bot now', 'reset', 'now'],
  ['/think: high', 'think', 'high'],
  ['/t high', 'think', 'high'],
  ['  /status  ', 'status', ''],
  [
    '/queue collect debounce:0.5s cap:25 drop:summarize',
    'queue',
    'collect debounce:0.5s cap:25 drop:summarize',
  ],
  ['/compact keep\nthe names', 'compact', 'keep\nthe names'],
])('%j is a command', (text, name, rest) => {
  expect(parseCommand(text)).toEqual({ name, rest })
})

test.each([
  ['a path', '/etc/passwd'],
  ['an unknown word', '/frobnicate'],
  ['a word that begins like one', '/newsletter please'],
  ['a command inside a sentence', 'please /new'],
  ['an invisible character', '/re\u200Bset'],
  ['tag characters', '/reset\u{E0041}'],
  ['no slash', 'new'],
])('not a command: %s', (_, text) => {
  expect(parseCommand(text)).toBeUndefined()
})

const message = (over: Partial<Message>): Message => ({
  id: '1',
  event: 'message',
  address: { channel: 'telegram', to: '-100', accountId: 'default' },
  chatType: 'group',
  sender: { id: '7' },
  text: '/reset',
  sentAt: 0,
  mentioned: true,
  media: [],
  ...over,
})
const commandIn = (over: Partial<Message>) =>
  parseCommand(commandText(message(over), { names: ['my_bot'] }))?.name

test('a command counts behind a mention, not when forwarded', () => {
  expect(commandIn({})).toBe('reset')
  expect(commandIn({ text: '@my_bot /reset' })).toBe('reset')
  expect(commandIn({ text: '[Dec 4 17:35] /reset' })).toBe('reset')
  expect(commandIn({ forwarded: true })).toBeUndefined()
})

test('the help names every command', () => {
  for (const name of Object.keys(commandShapes)) expect(helpText()).toContain(`/${name}`)
  const more = [
    { name: 'claude', usage: '<prompt>', description: 'Start it.' },
    { name: 'stats', description: 'Count.' },
  ]
  expect(helpText(more)).toMatch(/\n\/claude <prompt> - Start it\.\n\/stats - Count\.$/)
})

test("settings of a group are the owner's, its session is its named people's, and only looking is everybody's", () => {
  const givenBy = (giver: Partial<CommandAuthor>): string[] =>
    Object.keys(commandShapes).filter((name) =>
      mayGive(name as CommandName, { byOwner: false, byMember: false, inGroup: false, ...giver }),
    )
  const all = Object.keys(commandShapes)
  expect(givenBy({ byOwner: true, byMember: true, inGroup: true })).toEqual(all)
  expect(givenBy({})).toEqual(all.filter((name) => name !== 'send'))
  expect(givenBy({ inGroup: true })).toEqual(['help', 'status', 'whoami'])
  expect(givenBy({ byMember: true, inGroup: true })).toEqual([
    'help',
    'status',
    'new',
    'reset',
    'stop',
    'compact',
    'whoami',
  ])
})
