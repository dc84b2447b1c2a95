// A person who is no longer the owner, or may no longer write: what was begun for that person has no more rights than the person,
// and nothing of the owner's reaches the chat.
import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { perform } from '../src/operations/all.ts'
import type { Caller } from '../src/operations/operation.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const bob = { id: 503, name: 'Bob' }
const bobsSession = 'agent:main:telegram:direct:503'
let telegram: TelegramApi
let house: ChannelHouse

beforeEach(async () => {
  telegram = await TelegramApi.listen()
  house = await openChannelHouse({
    channels: { telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 } },
    config: { messages: { queue: { mode: 'followup' } } },
  })
  execFileSync('git', ['init', '-q', house.home.project])
})
afterEach(async () => {
  await house.close()
  await telegram.close()
})

const shownTo = ({ id }: { id: number }): string[] =>
  telegram.shown.filter(({ chat }) => chat === id).map(({ text }) => text)

/** Writes something and resolves to the first answer. */
async function say(text: string, from = bob): Promise<string> {
  const before = shownTo(from).length
  write(text, from)
  await vi.waitFor(() => expect(shownTo(from).length).toBeGreaterThan(before), waiting)
  return shownTo(from)[before]!
}

function write(text: string, from = bob): void {
  telegram.emit({ message: personMessage(telegram, from, { id: from.id }, text) })
}

/** The person asks for a code, and the operator approves it. */
async function pair(from = bob, options = {}): Promise<Record<string, unknown>> {
  const [, code] = /pairing code is (\w+)/.exec(await say('hello', from)) ?? []
  return house.ask('pairing.approve', { code, ...options })
}

/** The tools that the turn of this prompt had. */
async function toolsFor(prompt: string): Promise<string[]> {
  const asked = () => house.api.requests.find((one) => one.kind === 'messages' && one.prompt.includes(prompt))
  await vi.waitFor(() => expect(asked()).toBeDefined(), waiting)
  return asked()!.body.tools?.map(({ name }) => name) ?? []
}

test('a scheduled turn in a session without a route has the rights of the person that the key names', async () => {
  await house.ask('schedules.add', {
    when: 'every 1 hours',
    text: 'what is new?',
    name: 'news',
    sessionKey: bobsSession,
  })
  await house.ask('schedules.run', { schedule: 'news' })
  const tools = await toolsFor('what is new?')
  expect(tools).toContain('Read')
  expect(tools).not.toContain('Bash')
  expect(tools.some((name) => name.endsWith('claude_launch'))).toBe(false)
})

test('a pairing makes nobody the owner while another policy decides who may write', async () => {
  expect(await pair()).toMatchObject({ person: { owner: true } })
  expect(await say('/send on')).toBe('Sending: allow.')
  await house.ask('config.set', { key: 'channels.telegram.dmPolicy', value: 'allowlist' })
  await house.ask('config.set', { key: 'channels.telegram.allowFrom', value: '["503"]' })
  await house.restart()
  expect(await say('/send on')).toBe('Only the owner may use /send.')
  write('what do you have?')
  expect(await toolsFor('what do you have?')).not.toContain('Bash')
})

const bobRef = { channel: 'telegram', accountId: 'default', senderId: '503' }

/** `pairing remove` stops things at once; after a change by another process, each part asks for the rights when it acts. */
const removals: Array<[how: string, remove: () => Promise<unknown>]> = [
  ['with pairing remove', () => house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })],
  ['by another process', () => house.app.storage.people.remove(bobRef)],
]

test.each(removals)('an owner who is removed %s gets nothing of a coding session', async (_how, remove) => {
  house.api.script('paint the shed', [{ text: 'Which colour shall it be?' }])
  house.api.script('blue, for the secret party', [
    { text: 'I paint it.', tools: [{ name: 'Bash', input: { command: 'touch secret-shed' } }] },
    { text: 'It is blue now.' },
  ])
  await pair()
  await say('/claude --name bobs paint the shed')
  await vi.waitFor(() => expect(shownTo(bob).join('\n')).toMatch(/Which colour shall it be\?/), waiting)
  await say('/claude_fg bobs')
  await remove()

  const before = shownTo(bob).length
  await house.ask('coding.respond', { session: 'bobs', message: 'blue, for the secret party' })
  const pending = async (): Promise<Array<{ id: string }>> =>
    (await house.ask('approvals.list'))['approvals'] as Array<{ id: string }>
  await vi.waitFor(async () => expect(await pending()).toHaveLength(1), waiting)
  await house.ask('approvals.answer', { id: (await pending())[0]!.id, decision: 'allow' })
  const output = async () => JSON.stringify(await house.ask('coding.output', { session: 'bobs' }))
  await vi.waitFor(async () => expect(await output()).toMatch(/It is blue now\./), waiting)
  await house.app.coding().notifications.flush(house.app.storage.coding.resolve('bobs')[0]!.id)
  await house.conversations.converse.deliverer.lookForMore()
  await house.conversations.converse.idle()
  expect(shownTo(bob).slice(before)).toEqual([])
})

test.each(removals)(
  'an owner who is removed %s gets no announcement of a coding session',
  async (_how, remove) => {
    const announce = {
      name: 'mcp__openclaw-bridge__openclaw_announce',
      input: { message: 'The party is on Friday.' },
    }
    house.api.script('paint the shed', [{ text: 'Which colour shall it be?' }])
    house.api.script('blue', [{ tools: [announce] }, { text: 'I have tried to tell.' }])
    await pair()
    await say('/claude --name bobs paint the shed')
    await vi.waitFor(() => expect(shownTo(bob).join('\n')).toMatch(/Which colour shall it be\?/), waiting)
    await remove()
    const before = shownTo(bob).length
    await house.ask('coding.respond', { session: 'bobs', message: 'blue' })
    const output = async () => JSON.stringify(await house.ask('coding.output', { session: 'bobs' }))
    await vi.waitFor(async () => expect(await output()).toMatch(/I have tried to tell\./), waiting)
    const answered = house.api.requests.find(({ text }) => text.includes('may no longer get its messages'))
    expect(answered?.text).toContain('announced')
    await house.conversations.converse.deliverer.lookForMore()
    await house.conversations.converse.idle()
    expect(shownTo(bob).slice(before)).toEqual([])
    // Nothing waits in the outbox for the case that the person gets rights again.
    const waitingRows = await house.app.storage.work.outbox.list()
    expect(waitingRows.some(({ delivery }) => delivery.reply.text?.includes('Friday'))).toBe(false)
  },
)

test('what waits in the outbox for a chat is not sent after the person was removed', async () => {
  await pair()
  const reply = { text: 'May I?', approvalId: '1' }
  const before = shownTo(bob).length
  await house.app.storage.people.remove(bobRef)
  await house.conversations.send({ ...bobRef, to: '503' }, reply, { key: 'approval:1' })
  await house.conversations.converse.idle()
  expect(shownTo(bob).slice(before)).toEqual([])
})

/** The delivery of this text, when it is in this state. */
async function rowIn(state: 'retry' | 'dead', text: RegExp): Promise<void> {
  const { outbox } = house.app.storage.work
  await vi.waitFor(async () => {
    const rows = await outbox.list()
    expect(rows.find(({ delivery }) => text.test(delivery.reply.text ?? ''))?.state).toBe(state)
  }, waiting)
}

const answers: Array<[question: string, answer: RegExp]> = [
  ['what is the code?', /The code is 4711\./],
  ['/claude_sessions', /sessions/i],
]
const removedWithAnswer = removals.flatMap(([how, remove]) =>
  answers.map(([question, answer]) => [question, how, answer, remove] as const),
)

test.each(removedWithAnswer)(
  'the answer to %s waits in the outbox and is not sent to an owner who is removed %s',
  async (question, _how, answer, remove) => {
    house.api.script('what is the code?', [{ text: 'The code is 4711.' }])
    await pair()
    await house.conversations.converse.idle()
    const before = shownTo(bob).length
    telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 2 })
    write(question)
    await rowIn('retry', answer)
    await remove()
    await rowIn('dead', answer)
    await house.conversations.converse.idle()
    expect(shownTo(bob).slice(before)).toEqual([])
  },
)

test('pairing remove ends waiting answers at once, before the platform accepts messages again', async () => {
  house.api.script('what is the code?', [{ text: 'The code is 4711.' }])
  await pair()
  await house.conversations.converse.idle()
  telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 3_600 })
  write('what is the code?')
  await rowIn('retry', /4711/)
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })
  await rowIn('dead', /4711/)
})

test('a removed owner does not learn how a message began whose arrival is unknown', async () => {
  house.api.script('what is the code?', [{ text: 'The code is 4711.' }])
  await pair()
  await house.conversations.converse.idle()
  const before = shownTo(bob).length
  telegram.fault('sendMessage', { kind: 'cut-before' }, 2)
  telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 2 })
  write('what is the code?')
  await rowIn('retry', /it began: The code is 4711/)
  await house.app.storage.people.remove(bobRef)
  await rowIn('dead', /it began: The code is 4711/)
  expect(shownTo(bob).slice(before)).toEqual([])
})

test('an answer that was made for the owner is not sent when the person is a guest now', async () => {
  house.api.script('what is the code?', [{ text: 'The code is 4711.' }])
  house.api.script('good morning', [{ text: 'Good morning, guest.' }])
  await pair()
  await house.conversations.converse.idle()
  const before = shownTo(bob).length
  telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 3_600 })
  write('what is the code?')
  await rowIn('retry', /4711/)
  await house.ask('config.set', { key: 'channels.telegram.allowFrom', value: '["503"]' })
  await house.app.storage.people.remove(bobRef)
  await house.restart()
  await rowIn('dead', /4711/)
  expect(await say('good morning')).toContain('Good morning, guest.')
  expect(shownTo(bob).slice(before).join('\n')).not.toContain('4711')
})

test('the operator can write to a person without access, and a stranger gets the code that waited', async () => {
  await pair()
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })
  const message = { channel: 'telegram', target: '503', message: 'You may ask for access again.' }
  expect(await house.ask('message.send', message)).toMatchObject({ state: 'sent' })
  house.app.mail().carrier.start()
  await house.ask('mail.send', { to: 'person:telegram|503', text: 'A letter for you.' })
  await vi.waitFor(() => expect(shownTo(bob).at(-1)).toContain('A letter for you.'), waiting)
  telegram.fault('sendMessage', { kind: 'too-many', retryAfter: 1 })
  expect(await say('hello again')).toContain('pairing code')
})

test('mail to the owner is not sent to the chat of a removed person; it waits in the inbox', async () => {
  await house.ask('config.set', { key: 'coding.fallbackChannel', value: 'telegram|503' })
  await house.restart()
  await pair()
  const { carrier } = house.app.mail()
  carrier.start()
  const agent: Caller = {
    via: 'mcp',
    scopes: ['read', 'write'],
    agentId: 'main',
    author: 'owner',
    sessionKey: 'agent:main:main',
  }
  await house.app.storage.sessions('main').update('agent:main:main', () => ({ sessionId: 'm', updatedAt: 1 }))
  await perform(house.app, 'mail.send', { to: 'owner', text: 'The first letter.' }, agent)
  await vi.waitFor(() => expect(shownTo(bob).at(-1)).toContain('The first letter.'), waiting)
  await house.app.storage.people.remove(bobRef)
  const before = shownTo(bob).length
  const { id } = (await perform(
    house.app,
    'mail.send',
    { to: 'owner', text: 'The code is 4711.' },
    agent,
  )) as {
    id: string
  }
  await carrier.stop()
  carrier.start()
  await carrier.stop()
  await house.conversations.converse.deliverer.lookForMore()
  await house.conversations.converse.idle()
  expect(shownTo(bob).slice(before)).toEqual([])
  expect(await house.app.storage.work.outbox.get(`mail-${id}`)).toBeUndefined()
  expect(JSON.stringify(await house.ask('mail.inbox'))).toContain('The code is 4711.')
})

test('pairing remove pauses the schedules and reminders of the chat and ends its streams, and says so', async () => {
  house.api.script('paint the shed', [{ text: 'Which colour shall it be?' }])
  await pair()
  await say('/schedule every 1 hours what is new?')
  await say('/remind every 1 hours drink')
  await say('/claude --name bobs paint the shed')
  await say('/claude_fg bobs')
  expect(await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })).toMatchObject({
    ended: { schedules: expect.arrayContaining(['drink', 'what-is-new']), streams: ['bobs'] },
  })
  const { schedules } = (await house.ask('schedules.list')) as { schedules: Array<{ paused?: string }> }
  for (const { paused } of schedules) expect(paused).toContain('removed telegram:503')
})

test('what was added in a chat does not run while the chat is not the owner’s, and the operator can take it over', async () => {
  await pair()
  await say('/remind every 1 hours drink')
  // Another process, or a change of the configuration: nothing was stopped with it.
  await house.app.storage.people.remove(bobRef)
  const before = shownTo(bob).length
  await house.ask('schedules.run', { schedule: 'drink' })
  expect(await house.ask('schedules.show', { schedule: 'drink' })).toMatchObject({
    paused: "The chat in which it was added, telegram|503, is no longer the owner's.",
    runs: [expect.objectContaining({ state: 'skipped' })],
  })
  await house.conversations.converse.idle()
  expect(shownTo(bob).slice(before)).toEqual([])
  await house.ask('schedules.resume', { schedule: 'drink' })
  await house.ask('schedules.run', { schedule: 'drink' })
  await vi.waitFor(() => expect(shownTo(bob).slice(before)).toEqual(['drink']), waiting)
})

/** A turn that has asked the model, and uses a tool when `go-on` is released. */
async function turnBeforeTool(): Promise<void> {
  const path = join(house.home.root, 'private.txt')
  writeFileSync(path, 'The code is 4711.')
  house.api.script('read it', [
    { hold: 'go-on', tools: [{ name: 'Read', input: { file_path: path } }] },
    { text: 'It says 4711.' },
  ])
  write('read it')
  await toolsFor('read it')
}

test('a tool asks for the rights when it is used: a turn of a person who lost them is stopped and says nothing', async () => {
  await pair()
  const before = shownTo(bob).length
  await turnBeforeTool()
  await house.app.storage.people.remove(bobRef)
  house.api.release('go-on')
  await house.conversations.converse.idle()
  expect(house.api.requests.some(({ text }) => text.includes('4711'))).toBe(false)
  expect(shownTo(bob).slice(before)).toEqual([])
  expect(await house.app.storage.work.lanes.history({ lane: bobsSession })).toMatchObject([
    { end: 'interrupted' },
  ])
})

test('the removal of a person stops the running turn and refuses waiting messages', async () => {
  await pair()
  const before = shownTo(bob).length
  await turnBeforeTool()
  write('and another thing')
  const { inbox } = house.app.storage.work
  await vi.waitFor(async () => expect(await inbox.waiting(bobsSession)).toHaveLength(1), waiting)
  const [{ key } = { key: '' }] = await inbox.waiting(bobsSession)
  expect(await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })).toMatchObject({
    ended: { turns: 1, messages: 1 },
  })
  house.api.release('go-on')
  await house.conversations.converse.idle()
  expect(await inbox.state(key)).toBe('refused')
  expect(shownTo(bob).slice(before)).toEqual([])
})

test('a message that waited gets no turn when its writer may no longer write, whoever removed them', async () => {
  await pair()
  house.api.script('first', [{ hold: 'go-on', text: 'The first answer.' }])
  write('first')
  await toolsFor('first')
  write('second')
  const { inbox } = house.app.storage.work
  await vi.waitFor(async () => expect(await inbox.waiting(bobsSession)).toHaveLength(1), waiting)
  const [{ key } = { key: '' }] = await inbox.waiting(bobsSession)
  await house.app.storage.people.remove(bobRef)
  const before = shownTo(bob).length
  house.api.release('go-on')
  await house.conversations.converse.idle()
  expect(await inbox.state(key)).toBe('refused')
  expect(shownTo(bob).slice(before)).toEqual([])
  expect(house.api.requests.some(({ prompt }) => prompt.includes('second'))).toBe(false)
})

test('a schedule that is the first thing in a chat answers there, with the rights of the owner', async () => {
  house.api.script('ping me now', [{ text: 'Here is your ping.' }])
  await pair()
  await say('/schedule every 1 hours ping me now')
  await house.ask('schedules.run', { schedule: 'ping-me-now' })
  expect(await toolsFor('ping me now')).toContain('Bash')
  await vi.waitFor(() => expect(shownTo(bob).at(-1)).toContain('Here is your ping.'), waiting)
})

test('after the owner was removed the next person does not become the owner unless the operator says so', async () => {
  expect(await house.ask('pairing.list')).toMatchObject({ firstOwns: true })
  expect(await pair()).toMatchObject({ person: { owner: true } })
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })
  await house.restart()
  expect(await house.ask('pairing.list')).toMatchObject({ firstOwns: false })
  expect(await pair({ id: 504, name: 'Eve' })).toMatchObject({ person: { owner: false } })
  expect(await pair({ id: 505, name: 'Ada' }, { owner: true })).toMatchObject({ person: { owner: true } })
})

test('a pairing code is in no transcript', async () => {
  await pair()
  house.api.script('good morning', [{ text: 'Good morning, Bob.' }])
  await say('good morning')
  await house.ask('pairing.remove', { channel: 'telegram', senderId: '503' })
  expect(await say('hello again')).toContain('pairing code')
  await house.conversations.converse.idle()
  const shown = JSON.stringify(await house.ask('sessions.history', { key: bobsSession }))
  expect(shown).toContain('Good morning, Bob.')
  expect(shown).not.toContain('pairing code')
})

test('a coding session that the agent launched for a person does not tell that person anything after the removal', async () => {
  const launch = { name: 'bobs', prompt: 'paint the shed', workdir: house.home.project }
  house.api.script('start it', [
    { tools: [{ name: 'mcp__rockpool__claude_launch', input: launch }] },
    { text: 'It runs.' },
  ])
  house.api.script('paint the shed', [{ hold: 'go-on', text: 'The secret shed is blue.' }])
  await pair()
  await say('start it')
  await toolsFor('paint the shed')
  await house.conversations.converse.idle()
  await house.app.storage.people.remove(bobRef)
  const before = shownTo(bob).length
  house.api.release('go-on')
  const output = async () => JSON.stringify(await house.ask('coding.output', { session: 'bobs' }))
  await vi.waitFor(async () => expect(await output()).toMatch(/The secret shed is blue\./), waiting)
  await house.app.coding().notifications.onSessionComplete(house.app.storage.coding.resolve('bobs')[0]!)
  await house.conversations.converse.deliverer.lookForMore()
  await house.conversations.converse.idle()
  expect(shownTo(bob).slice(before)).toEqual([])
  expect(await house.app.storage.work.lanes.history({ lane: bobsSession })).toHaveLength(1)
})
