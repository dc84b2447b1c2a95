// What is sent to a person who has no access any more, and what that person asked for before: messages of programs that are bound to
// an agent, messages of schedules that wait in the outbox, and commands that a restart recovers.
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { perform } from '../src/operations/all.ts'
import type { Caller } from '../src/operations/operation.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const bob = { id: 503, name: 'Bob' }
const bobRef = { channel: 'telegram', accountId: 'default', senderId: '503' }
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  const account = { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 }
  const channels = { ownerAllowFrom: ['telegram:500'], telegram: account }
  house = await openChannelHouse({ channels, offline: true })
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownTo = ({ id }: { id: number }): string[] =>
  telegram.shown.filter(({ chat }) => chat === id).map(({ text }) => text)

function write(text: string, from = bob): void {
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text) })
}

/** Writes something and resolves to the first answer. */
async function say(text: string, from = bob): Promise<string> {
  const before = shownTo(from).length
  write(text, from)
  await vi.waitFor(() => expect(shownTo(from).length).toBeGreaterThan(before), waiting)
  return shownTo(from)[before]!
}

/** The person asks for a code, the operator approves it, and the agent has a session with the person. */
async function pair(options = {}): Promise<void> {
  const [, code] = /pairing code is (\w+)/.exec(await say('hello')) ?? []
  await house.ask('pairing.approve', { code, ...options })
  await say('good morning')
  await house.conversations.converse.idle()
}

async function settled(): Promise<void> {
  await house.conversations.converse.deliverer.lookForMore()
  await house.conversations.converse.idle()
}

/** A program with a token that is bound to the agent, and the model in a turn of the owner. */
const bound: Array<[who: string, caller: Caller]> = [
  ['a token of the agent', { via: 'rpc', scopes: ['read', 'write'], agentId: 'main' }],
  ['the model', { via: 'mcp', scopes: ['read', 'write'], agentId: 'main', author: 'owner' }],
]

const sends: Array<[operation: string, input: Record<string, unknown>]> = [
  ['message.send', { channel: 'telegram', target: '503', message: 'The code is 4711.' }],
  ['turns.run', { channel: 'telegram', to: '503', message: 'The code is 4711.', deliver: true }],
  ['turns.send', { sessionKey: 'agent:main:telegram:direct:503', message: 'It is 4711.', deliver: true }],
  ['schedules.add', { when: 'in 2 hours', text: 'It is 4711.', do: 'message', to: 'telegram|503' }],
]

test.each(bound)('%s does not write to a person who was removed', async (_who, caller) => {
  await pair()
  const [, message] = sends[0]!
  expect(await perform(house.app, 'message.send', message, caller)).toMatchObject({ state: 'sent' })
  await house.app.storage.people.remove(bobRef)
  const before = shownTo(bob).length
  for (const [operation, input] of sends)
    await expect(perform(house.app, operation, input, caller), operation).rejects.toMatchObject({
      code: 'forbidden',
      message: 'The person of the chat 503 no longer has access.',
      hint: expect.stringContaining('rockpool pairing list'),
    })
  await settled()
  expect(shownTo(bob).slice(before)).toEqual([])
})

test('a message of a program that waits in the outbox is not sent after the person was removed', async () => {
  await pair()
  telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 3_600 })
  const before = shownTo(bob).length
  const sent = perform(house.app, 'message.send', sends[0]![1], bound[0]![1])
  const refusal = expect(sent).rejects.toMatchObject({ code: 'refused' })
  await rowIn('retry', /4711/)
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })
  await refusal
  expect(shownTo(bob).slice(before)).toEqual([])
})

test.each(bound)('%s delivers answers only to chats of its agent', async (_who, caller) => {
  const ask = { channel: 'telegram', message: 'hello', deliver: true }
  for (const to of ['-100500', '777'])
    await expect(perform(house.app, 'turns.run', { ...ask, to }, caller)).rejects.toMatchObject({
      code: 'forbidden',
      message: `The agent main does not talk in the chat ${to}.`,
    })
})

/** The delivery of this text, when it is in this state. */
async function rowIn(state: 'retry' | 'dead', text: RegExp): Promise<void> {
  const { outbox } = house.app.storage.work
  await vi.waitFor(async () => {
    await house.conversations.converse.deliverer.lookForMore()
    const rows = await outbox.list()
    expect(rows.find(({ delivery }) => text.test(delivery.reply.text ?? ''))?.state).toBe(state)
  }, waiting)
}

const removals: Array<[how: string, remove: () => Promise<unknown>]> = [
  ['with pairing remove', () => house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })],
  ['by another process', () => house.app.storage.people.remove(bobRef)],
]

test.each(removals)(
  'a message of a schedule waits in the outbox and is not sent to a person who is removed %s',
  async (_how, remove) => {
    await pair()
    const news = { when: 'every 1 hours', text: 'The code is 4711.', do: 'message', to: 'telegram|503' }
    await house.ask('schedules.add', { ...news, name: 'news' })
    telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 1 })
    const before = shownTo(bob).length
    await house.ask('schedules.run', { schedule: 'news' })
    await rowIn('retry', /4711/)
    await remove()
    await rowIn('dead', /4711/)
    expect(shownTo(bob).slice(before)).toEqual([])
    // An operator who resumes it wants the person to get it.
    await house.ask('schedules.run', { schedule: 'news' })
    await house.ask('schedules.resume', { schedule: 'news' })
    await house.ask('schedules.run', { schedule: 'news' })
    await vi.waitFor(() => expect(shownTo(bob).slice(before)).toEqual(['The code is 4711.']), waiting)
  },
)

/** Stores what the person wrote, as before a stop of the program: a command that was accepted and has not run. */
async function acceptedBefore(text: string, owner = true): Promise<string> {
  const message = {
    id: '9000',
    event: 'command' as const,
    address: { channel: 'telegram', accountId: 'default', to: '503' },
    chatType: 'direct' as const,
    sender: { id: '503', name: 'Bob' },
    text,
    sentAt: 1,
    mentioned: true,
    media: [],
  }
  const key = 'telegram|default|503|9000'
  const lane = 'agent:main:telegram:direct:503'
  const rights = { mayCommand: true, owner, byOwner: owner, byMember: owner }
  await house.app.storage.work.inbox.accept({ key, lane, agentId: 'main', message, ...rights })
  return key
}

const names = async (): Promise<string[]> =>
  ((await house.ask('schedules.list'))['schedules'] as Array<{ name: string }>).map(({ name }) => name)

test('a command that was accepted before its writer was removed does not run after a restart', async () => {
  await pair({ owner: true })
  const before = shownTo(bob).length
  const key = await acceptedBefore('/remind every 1 hours drink')
  await house.app.storage.people.remove(bobRef)
  await house.restart()
  await settled()
  expect(await names()).toEqual([])
  expect(await house.app.storage.work.inbox.state(key)).toBe('refused')
  expect(shownTo(bob).slice(before)).toEqual([])
})

test('a recovered command of the owner runs with the rights that the person has now', async () => {
  await pair({ owner: true })
  await acceptedBefore('/remind every 1 hours drink')
  await house.restart()
  await settled()
  expect(await names()).toEqual(['drink'])
})

test('a recovered command of an owner who is a guest now is refused', async () => {
  await pair({ owner: true })
  const before = shownTo(bob).length
  await acceptedBefore('/remind every 1 hours drink')
  await house.ask('config.set', { key: 'channels.telegram.allowFrom', value: '["503"]' })
  await house.app.storage.people.remove(bobRef)
  await house.restart()
  await settled()
  expect(await names()).toEqual([])
  expect(shownTo(bob).slice(before)).toEqual(['Only the owner may use /remind, in a private chat.'])
})

/** What is made for the chat of an owner: by a program, by mail, by a reminder of the owner. */
const forOwners: Array<[what: string, make: () => Promise<unknown>]> = [
  ['a message of a program', async () => void perform(house.app, ...sends[0]!, bound[0]![1]).catch(() => {})],
  [
    'mail to the chat',
    async () => {
      house.app.mail().carrier.start()
      const agent: Caller = { ...bound[1]![1], sessionKey: 'agent:main:main' }
      const mail = { to: 'chat:agent:main:telegram:direct:503', text: 'The code is 4711.' }
      await house.app.storage
        .sessions('main')
        .update('agent:main:main', () => ({ sessionId: 'm', updatedAt: 1 }))
      await perform(house.app, 'mail.send', mail, agent)
    },
  ],
  [
    'a reminder',
    async () => {
      await perform(
        house.app,
        'schedules.add',
        { when: 'every 1 hours', text: 'The code is 4711.', do: 'message', name: 'code' },
        { via: 'chat', scopes: ['admin'], address: { channel: 'telegram', accountId: 'default', to: '503' } },
      )
      await house.ask('schedules.run', { schedule: 'code' })
    },
  ],
]

test.each(forOwners)(
  '%s that waits for an owner is not sent when the person is a guest now',
  async (_what, make) => {
    await pair({ owner: true })
    telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 3_600 })
    await make()
    await rowIn('retry', /4711/)
    const { people } = house.app.storage
    await people.remove(bobRef)
    const asked = await people.request(bobRef)
    expect(await house.ask('pairing.approve', { code: (asked as { code: string }).code })).toMatchObject({
      person: { owner: false },
    })
    house.conversations.converse.deliverer.retryNow()
    await rowIn('dead', /4711/)
  },
)
