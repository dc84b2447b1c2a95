// How a person stands after the configuration changed: who owns this Rockpool, what schedules still send to the chat of the person,
// and what `pairing list` and `pairing remove` say.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { perform } from '../src/operations/all.ts'
import type { Caller } from '../src/operations/operation.ts'
import { findPrinter } from '../src/cli/printers.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const ada = { id: 500, name: 'Ada' }
const bob = { id: 601, name: 'Bob' }
const eve = { id: 602, name: 'Eve' }
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  const account = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 }
  house = await openChannelHouse({
    channels: { ownerAllowFrom: ['telegram:500'], telegram: account },
    offline: true,
  })
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownTo = ({ id }: { id: number }): string[] =>
  telegram.shown.filter(({ chat }) => chat === id).map(({ text }) => text)

/** Writes something and resolves to the first answer. */
async function say(text: string, from: typeof ada): Promise<string> {
  const before = shownTo(from).length
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text) })
  await vi.waitFor(() => expect(shownTo(from).length).toBeGreaterThan(before), waiting)
  return shownTo(from)[before]!
}

/** The person asks for a code, and the operator approves it. */
async function pair(from: typeof ada, options = {}): Promise<Record<string, unknown>> {
  const [, code] = /pairing code is (\w+)/.exec(await say('hello', from)) ?? []
  return house.ask('pairing.approve', { code, ...options })
}

async function configure(settings: Record<string, unknown>): Promise<void> {
  for (const [key, value] of Object.entries(settings))
    await house.ask('config.set', { key: `channels.${key}`, value: JSON.stringify(value) })
  await house.restart()
}

test.each(['with a guest', 'without a guest'])(
  'after the configured owner was taken out, %s, the next person becomes the owner only by name',
  async (how) => {
    if (how === 'with a guest') expect(await pair(bob)).toMatchObject({ person: { owner: false } })
    await configure({ ownerAllowFrom: [] })
    expect(await house.ask('pairing.list')).toMatchObject({ firstOwns: false })
    expect(await pair(eve)).toMatchObject({ person: { owner: false } })
    expect(await pair(ada, { owner: true })).toMatchObject({ person: { owner: true } })
  },
)

const session = ({ id }: typeof ada): string => `agent:main:telegram:direct:${id}`

/** What the operator schedules for the chat of a person: a message, a turn and a wake. */
async function scheduleFor(person: typeof ada): Promise<void> {
  const { id, name } = person
  const every = { when: 'every 1 hours', text: `news for ${name}` }
  await house.ask('schedules.add', { ...every, do: 'message', to: `telegram|${id}`, name: `message-${id}` })
  await house.ask('schedules.add', { ...every, sessionKey: session(person), name: `turn-${id}` })
  await house.ask('schedules.add', { ...every, do: 'wake', sessionKey: session(person), name: `wake-${id}` })
}

/** Runs all of them and resolves to what the person was shown. */
async function runFor(person: typeof ada, kinds = ['message', 'turn', 'wake']): Promise<string[]> {
  const before = shownTo(person).length
  for (const kind of kinds) {
    await house.ask('schedules.run', { schedule: `${kind}-${person.id}` })
    await house.conversations.converse.idle()
  }
  await house.conversations.converse.deliverer.lookForMore()
  await house.conversations.converse.idle()
  return shownTo(person).slice(before)
}

const pausedOf = async (schedule: string): Promise<unknown> =>
  (await house.ask('schedules.show', { schedule }))['paused']

test('schedules for the chat of a person pause when the configuration takes the person out, also those of the operator', async () => {
  await say('good morning', ada)
  await scheduleFor(ada)
  expect(await runFor(ada)).toHaveLength(3)
  await configure({ ownerAllowFrom: [] })
  expect(await runFor(ada)).toEqual([])
  for (const kind of ['message', 'turn', 'wake'])
    expect(await pausedOf(`${kind}-500`)).toBe(
      'It uses telegram|500, whose person may not write. Only the owner can resume it.',
    )
  // An operator who resumes one wants it.
  await house.ask('schedules.resume', { schedule: 'message-500' })
  expect(await runFor(ada, ['message'])).toEqual(['news for Ada'])
})

test('a schedule for the main session pauses when its replies would go to a person who was taken out', async () => {
  await house.ask('config.set', { key: 'session.dmScope', value: 'main' })
  await house.restart()
  await say('good morning', ada)
  await house.ask('schedules.add', { when: 'every 1 hours', text: 'news', name: 'turn-500' })
  expect(await runFor(ada, ['turn'])).toHaveLength(1)
  await configure({ ownerAllowFrom: [] })
  expect(await runFor(ada, ['turn'])).toEqual([])
  expect(await pausedOf('turn-500')).toContain('It uses telegram|500')
})

test('an agent that pauses and resumes its schedule does not take it over from a person who was taken out', async () => {
  await say('/remind every 1 hours drink', ada)
  await configure({ ownerAllowFrom: [] })
  const agent: Caller = { via: 'rpc', scopes: ['write'], agentId: 'main' }
  await perform(house.app, 'schedules.pause', { schedule: 'drink' }, agent)
  await perform(house.app, 'schedules.resume', { schedule: 'drink' }, agent)
  await house.ask('schedules.run', { schedule: 'drink' })
  expect(await pausedOf('drink')).toContain("is no longer the owner's")
  await expect(perform(house.app, 'schedules.resume', { schedule: 'drink' }, agent)).rejects.toMatchObject({
    code: 'refused',
  })
})

test.each([
  ['who is paired', () => pair(bob)],
  ['of allowFrom', () => configure({ 'telegram.allowFrom': ['601'] })],
])('the schedules of the operator for a guest %s go on', async (_who, admit) => {
  await admit()
  await say('good morning', bob)
  await scheduleFor(bob)
  await configure({ ownerAllowFrom: [] })
  expect(await runFor(bob)).toHaveLength(3)
})

test('schedules for groups, the dashboard and the terminal go on, whoever was taken out', async () => {
  const every = { when: 'every 1 hours', text: 'news' }
  await house.ask('schedules.add', { ...every, do: 'message', to: 'telegram|-100500', name: 'group' })
  await house.ask('schedules.add', { ...every, name: 'mains' })
  await house.ask('schedules.add', { ...every, sessionKey: 'agent:main:web:direct:500', name: 'web' })
  await configure({ ownerAllowFrom: [] })
  for (const schedule of ['group', 'mains', 'web']) {
    await house.ask('schedules.run', { schedule })
    expect(await pausedOf(schedule)).toBeUndefined()
  }
})

const printedAs = async (name: 'pairing.list' | 'pairing.remove', output: object): Promise<string> =>
  (await findPrinter(name))(output, { width: 200, color: false, now: 0, interactive: false })

test('pairing list shows what a person may do now, not what the pairing says', async () => {
  await pair(bob, { owner: true })
  const listed = await house.ask('pairing.list')
  expect(listed).toMatchObject({ people: [{ owner: true, standing: 'owner' }] })
  expect(await printedAs('pairing.list', listed)).toMatch(/601 +Bob +owner/)
  await configure({ 'telegram.dmPolicy': 'allowlist' })
  const closed = await house.ask('pairing.list')
  expect(closed).toMatchObject({ people: [{ owner: false, standing: 'not-allowed' }] })
  expect(await printedAs('pairing.list', closed)).toMatch(/601 +Bob +no: not-allowed/)
})

test('pairing remove says what the person may still do, here and through other accounts', async () => {
  const { people } = house.app.storage
  const at = (accountId: string) => ({ channel: 'telegram', accountId, senderId: '601' })
  const remove = () => house.ask('pairing.remove', { channel: 'telegram', senderId: '601' })
  const asked = await people.request(at('work'))
  await house.ask('pairing.approve', { code: (asked as { code: string }).code })

  await pair(bob)
  const elsewhere = await remove()
  expect(elsewhere).toMatchObject({
    standing: 'stranger',
    elsewhere: [{ accountId: 'work', standing: 'guest' }],
  })
  expect(await printedAs('pairing.remove', elsewhere)).toBe(
    'Removed. This person may no longer write through this account. May still write through your other accounts: work (guest).',
  )

  await people.remove(at('work'))
  await pair(bob)
  const gone = await remove()
  expect(gone).toMatchObject({ standing: 'stranger', elsewhere: [] })
  expect(await printedAs('pairing.remove', gone)).toBe(
    'Removed. This person may no longer talk to your agents.',
  )

  await pair(bob)
  await configure({ ownerAllowFrom: ['telegram:601'] })
  const named = await remove()
  expect(named).toMatchObject({ standing: 'owner', elsewhere: [] })
  expect(await printedAs('pairing.remove', named)).toContain('This person may still write as owner')
})
