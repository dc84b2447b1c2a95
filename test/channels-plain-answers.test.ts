// A plain "yes" in the owner's chat answers a question only if the question is the last message of the chat and was there before the
// "yes" was written: with rate limits of the platform, over a restart, and on two machines.
import { execFileSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import type { Clock } from '../src/domain/clock.ts'
import { allSent, openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { startPostgres } from './support/postgres.ts'
import { personMessage, TelegramApi } from './support/telegram-api.ts'

const waiting = { timeout: 40_000, interval: 20 }
const owner = { id: 501, name: 'Ada' }
const onePixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
let telegram: TelegramApi
let house: ChannelHouse

const channels = (): Record<string, unknown> => ({
  ownerAllowFrom: ['telegram:501'],
  telegram: { apiRoot: telegram.root, botToken: telegram.token, pollSeconds: 2 },
})
const write = (text: string, more = {}): void => {
  telegram.emit({ message: personMessage(telegram, owner, { id: 501 }, text, more) })
}
/** Telegram counts in seconds; people read before they answer. */
const inTwoSeconds = (): { date: number } => ({ date: Math.floor(Date.now() / 1_000) + 2 })
const texts = (): string[] => telegram.shown.map((one) => one.text)
const shown = (words: RegExp) =>
  vi.waitFor(() => {
    const found = telegram.shown.find((one) => words.test(one.text))
    expect(found, texts().join('\n')).toBeDefined()
    return found!
  }, waiting)
const allTaken = () => vi.waitFor(() => expect(telegram.pending).toEqual([]), waiting)
const pending = async (): Promise<Array<{ id: string; shown: string }>> =>
  ((await house.ask('approvals.list')) as { approvals: Array<{ id: string; shown: string }> }).approvals
describe('with one machine', () => {
  beforeEach(async () => {
    telegram = await TelegramApi.listen()
    house = await openChannelHouse({ channels: channels() })
    execFileSync('git', ['init', '-q', house.home.project])
    house.api.script('paint the shed', [
      { hold: 'paint', tools: [{ name: 'Bash', input: { command: 'touch painted' } }] },
      { text: 'It is painted.' },
    ])
    house.api.script('what about the garden', [{ text: 'Shall I water the plants?' }])
  })
  afterEach(async () => {
    await house.close()
    await telegram.close()
  })

  const painted = (): boolean => existsSync(join(house.home.project, 'painted'))
  /** A coding session is about to ask, and the agent has asked something else. */
  const start = async (): Promise<void> => {
    write('/claude --name shed paint the shed')
    await house.api.requested((request) => request.prompt.includes('paint the shed'), 40_000)
    write('what about the garden?')
    await shown(/water the plants/)
  }
  /** The question is the last message of the chat: what else the launch sends was sent before. */
  const ask = async (): Promise<void> => {
    write('/claude --name shed paint the shed')
    await house.api.requested((request) => request.prompt.includes('paint the shed'), 40_000)
    await shown(/Launched: paint/)
    await allSent(house)
    house.api.release('paint')
  }
  const slowDown = (retryAfter: number, isOver: () => boolean): void => {
    telegram.randomFault = (method, params) =>
      method === 'sendMessage' && /touch painted/.test(String(params['text'])) && !isOver()
        ? { kind: 'too-many', retryAfter }
        : undefined
  }
  const isAsked = () => vi.waitFor(async () => expect(await pending()).toHaveLength(1), waiting)

  const isRefused = () =>
    vi.waitFor(async () => {
      const rows = await house.app.storage.work.outbox.list({ states: ['retry'] })
      expect(rows).toHaveLength(1)
    }, waiting)

  test('neither yes nor /approve answers a question that the platform has not accepted', async () => {
    await start()
    slowDown(600, () => false)
    house.api.release('paint')
    await isAsked()
    await isRefused()
    house.api.script('yes', [{ text: 'I water them.' }])
    write('yes', inTwoSeconds())
    // It is a message to the agent.
    await house.api.requested((request) => request.prompt.includes('yes'), 40_000)
    write('/approve', inTwoSeconds())
    await allTaken()
    expect(await pending()).toHaveLength(1)
    expect(painted()).toBe(false)
  })

  /** Telegram shows the question, and its answer to us comes when the returned function is called. */
  const confirmLate = (): (() => void) => {
    const { promise: until, resolve } = Promise.withResolvers<void>()
    telegram.randomFault = (method, params) =>
      method === 'sendMessage' && /touch painted/.test(String(params['text']))
        ? { kind: 'late', until }
        : undefined
    return resolve
  }

  test('a yes is faster than the confirmation of the platform that it has the question: it answers the question', async () => {
    const confirm = confirmLate()
    await ask()
    await shown(/touch painted/)
    write('yes', inTwoSeconds())
    // Time in which the yes would be taken for a message to the agent.
    await sleep(500)
    confirm()
    await vi.waitFor(() => expect(painted()).toBe(true), waiting)
  })

  test('if the platform does not confirm that it has the question, a yes gets the open questions, and no agent gets the yes', async () => {
    const confirm = confirmLate()
    await ask()
    await shown(/touch painted/)
    write('yes', inTwoSeconds())
    // Longer than a yes waits for the confirmation.
    await sleep(4_000)
    confirm()
    const [{ id } = { id: '' }] = await pending()
    await shown(new RegExp(`^Which one\\? ${id}`))
    await allSent(house)
    expect(painted()).toBe(false)
    expect(house.api.requests.some(({ prompt }) => prompt.includes('yes'))).toBe(false)
    write(`/approve ${id}`)
    await vi.waitFor(() => expect(painted()).toBe(true), waiting)
  })

  test('a notice that was sent in the same millisecond, and queued before the question, is not after it', async () => {
    await ask()
    await shown(/touch painted/)
    await allSent(house)
    const [{ id } = { id: '' }] = await pending()
    const rows = await house.app.storage.work.outbox.list()
    const question = rows.find(({ delivery }) => delivery.reply.approvalId === id)!
    const { lane } = question.delivery
    expect(rows.some(({ seq, delivery }) => delivery.lane === lane && seq < question.seq)).toBe(true)
    const database = new DatabaseSync(house.app.paths.database)
    database.prepare('UPDATE outbox SET updated_at = ? WHERE lane = ?').run(question.updatedAt, lane)
    database.close()
    write('yes', inTwoSeconds())
    await vi.waitFor(() => expect(painted()).toBe(true), waiting)
  })

  test('a yes that was written before the question was shown does not count; the id does', async () => {
    await start()
    let isOver = false
    slowDown(3, () => isOver)
    house.api.release('paint')
    await isAsked()
    await isRefused()
    isOver = true
    const early = personMessage(telegram, owner, { id: 501 }, 'yes')
    await shown(/touch painted/)
    expect(early.date * 1_000).toBeLessThan(Date.now() - 2_000)
    await allSent(house)
    house.api.script('yes', [{ text: 'I water them.' }])
    telegram.emit({ message: early })
    await shown(/I water them/)
    expect(await pending()).toHaveLength(1)
    const [{ id } = { id: '' }] = await pending()
    write(`/approve ${id}`)
    await vi.waitFor(() => expect(painted()).toBe(true), waiting)
  })

  test('what was sent before the restart counts', async () => {
    await ask()
    await shown(/touch painted/)
    await allSent(house)
    const water = { channel: 'telegram', target: '501', message: 'Shall I water the plants?' }
    await house.ask('message.send', water)
    await house.restart()
    write('yes', inTwoSeconds())
    await allTaken()
    expect(await pending()).toHaveLength(1)
  })

  test('in the second in which the question was shown a yes is unclear: the id is asked for', async () => {
    await ask()
    const question = await shown(/touch painted/)
    await allSent(house)
    const [{ id } = { id: '' }] = await pending()
    const address = { channel: 'telegram', accountId: 'default', to: '501' }
    const { sentAt } = (await house.app.storage.replyMap.find(address, String(question.id)))!
    write('yes', { date: sentAt / 1_000 })
    await shown(new RegExp(`Which one\\? ${id}`))
    await house.ask('approvals.answer', { id, decision: 'deny' })
    expect(painted()).toBe(false)
  })

  test('below what a stopped turn left in the chat a yes is unclear: the id is asked for', async () => {
    const text = 'Shall I water all the plants in the whole garden now? '.repeat(40)
    house.api.script('the hose', [{ hold: 'hose', chunkDelayMs: 250, text }])
    write('/claude --name shed paint the shed')
    await house.api.requested((request) => request.prompt.includes('paint the shed'), 40_000)
    write('get the hose')
    await house.api.requested((request) => request.prompt.includes('the hose'), 40_000)
    house.api.release('paint')
    await shown(/touch painted/)
    await allSent(house)
    house.api.release('hose')
    await shown(/water all/)
    await house.ask('turns.stop', { sessionKey: 'agent:main:telegram:direct:501' })
    await vi.waitFor(async () => expect(await house.app.storage.work.lanes.running()).toEqual([]), waiting)
    write('yes', inTwoSeconds())
    await shown(/Which one\?/)
    expect(painted()).toBe(false)
  })

  test('a yes below a picture is about the picture', async () => {
    await ask()
    await shown(/touch painted/)
    await allSent(house)
    const file_id = telegram.addFile('photos/p.png', Buffer.from(onePixel, 'base64'))
    const photo = [{ file_id, file_unique_id: 'u', width: 1, height: 1 }]
    write('', { caption: 'yes', photo, ...inTwoSeconds() })
    await house.api.requested((request) => request.prompt.includes('yes'), 40_000)
    expect(await pending()).toHaveLength(1)
    expect(painted()).toBe(false)
  })

  test('a yes after a question that was answered elsewhere does not answer the question before it', async () => {
    house.api.script('mow the lawn', [
      { hold: 'mow', tools: [{ name: 'Bash', input: { command: 'touch mown' } }] },
      { text: 'It is mown.' },
    ])
    const lawn = join(house.home.root, 'lawn')
    execFileSync('git', ['init', '-q', lawn])
    write(`/claude --name lawn --repo ${lawn} mow the lawn`)
    write('/claude --name shed paint the shed')
    await house.api.requested((request) => request.prompt.includes('mow the lawn'), 40_000)
    house.api.release('paint')
    await shown(/touch painted/)
    await allSent(house)
    house.api.release('mow')
    await shown(/touch mown/)
    await allSent(house)
    const mow = (await pending()).find(({ shown: what }) => what.includes('mown'))!
    await house.ask('approvals.answer', { id: mow.id, decision: 'deny' })
    write('yes', inTwoSeconds())
    await allTaken()
    expect(await pending()).toHaveLength(1)
    expect(painted()).toBe(false)
  })
})

// The first machine takes the turns, so its clock dates the questions.
describe.for([
  ['the same time', 0],
  ['a first clock that is ten minutes fast', 600_000],
] as const)('with two machines and %s', ([, fastMs]) => {
  let server: Awaited<ReturnType<typeof startPostgres>>
  let other: ChannelHouse
  beforeAll(async () => {
    server = await startPostgres()
    telegram = await TelegramApi.listen()
    if (!server) return
    const { url } = server
    const open = (name: string, clock?: Clock): Promise<ChannelHouse> =>
      openChannelHouse({
        clock,
        channels: channels(),
        config: { store: 'postgres', machine: { name } },
        variables: { ROCKPOOL_DATABASE_URL: url },
      })
    house = await open('aaa', { ...systemClock, now: () => systemClock.now() + fastMs })
    other = await open('bbb')
    for (const { api } of [house, other]) {
      const tools = [{ name: 'Bash', input: { command: 'touch made' } }]
      api.script('make a file now', [{ tools }, { text: 'It is done.' }])
      api.script('make a file later', [{ hold: 'later', tools }, { text: 'It is done.' }])
    }
  }, 120_000)
  beforeEach(() => {
    telegram.shown.length = 0
  })
  afterAll(async () => {
    await other?.close()
    if (server) await house.close()
    await telegram.close()
    await server?.stop()
  })

  const made = (): boolean => [house, other].some(({ home }) => existsSync(join(home.project, 'made')))
  const ask = async (): Promise<{ id: number; text: string }> => {
    write('make a file now')
    const question = await shown(/touch made/)
    await allSent(house)
    return question
  }

  test.for([0, 1])('a message that machine %i sent after the question is in between', async (index, ctx) => {
    if (!server) ctx.skip('PostgreSQL is not installed')
    const { id, text } = await ask()
    const message = 'Shall I water the plants?'
    await [house, other][index]!.ask('message.send', { channel: 'telegram', target: '501', message })
    await shown(/water the plants/)
    write('yes', inTwoSeconds())
    await allTaken()
    await allSent(house)
    expect(await pending()).toHaveLength(1)
    expect(made()).toBe(false)
    write('no', { reply_to_message: { message_id: id, from: telegram.bot, text } })
    await shown(/It is done/)
    await vi.waitFor(async () => expect(await house.app.storage.work.lanes.running()).toEqual([]), waiting)
  })

  test('without a message in between, yes answers', async (ctx) => {
    if (!server) ctx.skip('PostgreSQL is not installed')
    // The clocks of two machines may differ by five seconds: the message that began the turn must be older.
    write('make a file later')
    await new Promise((resolve) => setTimeout(resolve, 6_000))
    for (const { api } of [house, other]) api.release('later')
    await shown(/touch made/)
    await allSent(house)
    write('yes', inTwoSeconds())
    await shown(/It is done/)
    expect(made()).toBe(true)
  })
})
