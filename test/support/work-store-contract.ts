// The contract of every WorkStore, with any database. A store's own test calls this with a way to open
// one, and to open it again as after a crash.
import { expect, test } from 'vitest'
import type { Message } from '../../src/domain/message.ts'
import type { Delivery } from '../../src/domain/reply.ts'
import type { Input, WorkStore } from '../../src/store/work-store.ts'

export const anInput = (n: number | string, lane = 'agent:main:main', over: Partial<Input> = {}): Input => ({
  key: `telegram|default|7|${n}`,
  lane,
  agentId: 'main',
  message: aMessage(n),
  mayCommand: true,
  owner: false,
  ...over,
})

export const aMessage = (n: number | string, over: Partial<Message> = {}): Message => ({
  id: String(n),
  event: 'message',
  address: { channel: 'telegram', to: '7', accountId: 'default' },
  chatType: 'direct',
  sender: { id: '7' },
  text: `message ${n}`,
  sentAt: 1_000,
  mentioned: true,
  media: [],
  ...over,
})

export const aDelivery = (n: number | string, over: Partial<Delivery> = {}): Delivery => ({
  id: `d${n}`,
  lane: 'agent:main:main',
  address: { channel: 'telegram', to: '7', accountId: 'default' },
  reply: { text: `reply ${n}` },
  idempotencyKey: `reply:${n}`,
  createdAt: 1_000,
  ...over,
})

export function workStoreContract(
  open: () => Promise<{ work: WorkStore; reopen: () => Promise<WorkStore>; at: (now: number) => void }>,
): void {
  const turn = (id: string, inputs: number[], lane = 'agent:main:main') => ({
    id,
    lane,
    agentId: 'main',
    kind: 'message' as const,
    owner: 'me',
    inputs,
  })

  test('a message is accepted once, and survives', async () => {
    const { work, reopen } = await open()
    const first = await work.inbox.accept(anInput(1))
    expect(first).toMatchObject({ lostTurns: 0, message: { text: 'message 1' } })
    expect(await work.inbox.accept(anInput(1))).toBeUndefined()
    expect(await work.inbox.knows(anInput(1).key)).toBe(true)
    expect(await work.inbox.state(anInput(1).key)).toBe('waiting')
    expect(await work.inbox.state(anInput(1).key, 'main')).toBe('waiting')
    expect(await work.inbox.state(anInput(1).key, 'other')).toBeUndefined()
    const again = await reopen()
    expect((await again.inbox.waiting()).map((input) => input.message.text)).toEqual(['message 1'])
  })

  test('waiting inputs keep their order, and each lane has its own', async () => {
    const { work } = await open()
    for (const n of [1, 2, 3]) await work.inbox.accept(anInput(n, n === 2 ? 'b' : 'a'))
    expect((await work.inbox.waiting('a')).map((input) => input.message.id)).toEqual(['1', '3'])
    expect((await work.inbox.waiting()).map((input) => input.message.id)).toEqual(['1', '2', '3'])
  })

  test('an input of an earlier version, with its options under `wish`, keeps them', async () => {
    const { work } = await open()
    const older = { wish: { deliver: true, thinking: 'low' } } as Partial<Input>
    await work.inbox.accept(anInput(1, 'a', older))
    expect(await work.inbox.waiting()).toMatchObject([{ turnOptions: { deliver: true, thinking: 'low' } }])
    expect(await work.inbox.replace(anInput(1).key, aMessage(1, { text: 'edited' }))).toBe(true)
    expect(await work.inbox.waiting()).toMatchObject([{ turnOptions: { thinking: 'low' } }])
  })

  test('an edit reaches a message that waits, and comes too late for one that was taken', async () => {
    const { work } = await open()
    const { id } = (await work.inbox.accept(anInput(1)))!
    expect(await work.inbox.replace(anInput(1).key, aMessage(1, { text: 'edited' }))).toBe(true)
    expect((await work.inbox.waiting())[0]!.message.text).toBe('edited')
    await work.lanes.begin(turn('t1', [id]))
    expect(await work.inbox.replace(anInput(1).key, aMessage(1))).toBe(false)
  })

  test('one turn at a time in a lane; another lane does not wait', async () => {
    const { work } = await open()
    const a = (await work.inbox.accept(anInput(1)))!
    const b = (await work.inbox.accept(anInput(2)))!
    const other = (await work.inbox.accept(anInput(3, 'other')))!
    expect(await work.lanes.begin(turn('t1', [a.id]))).toBe(true)
    expect(await work.lanes.begin(turn('t2', [b.id]))).toBe(false)
    expect(await work.lanes.begin(turn('t3', [other.id], 'other'))).toBe(true)
    await work.lanes.finish('t1', { end: { kind: 'completed' }, deliveries: [] })
    expect(await work.lanes.begin(turn('t4', [a.id]))).toBe(false)
    expect(await work.lanes.begin(turn('t2', [b.id]))).toBe(true)
  })

  test('a finished turn has answered its inputs and queued its replies, as one step', async () => {
    const { work, reopen } = await open()
    const a = (await work.inbox.accept(anInput(1)))!
    const steered = (await work.inbox.accept(anInput(2)))!
    await work.lanes.begin(turn('t1', [a.id]))
    expect(await work.lanes.join('t1', [steered.id])).toBe(true)
    await work.lanes.finish('t1', {
      end: { kind: 'completed' },
      usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
      costUsd: 0.5,
      model: 'm',
      sessionId: 's',
      deliveries: [aDelivery(1)],
    })
    expect(await work.lanes.join('t1', [])).toBe(false)
    const again = await reopen()
    expect(await again.inbox.waiting()).toEqual([])
    expect(await again.lanes.running()).toEqual([])
    expect((await again.outbox.open()).map((row) => row.delivery.id)).toEqual(['d1'])
    expect(await again.lanes.history()).toMatchObject([
      { id: 't1', end: 'completed', costUsd: 0.5, model: 'm', usage: { cacheWrite: 4 } },
    ])
    expect(await again.lanes.history({ inputKey: a.key })).toMatchObject([{ id: 't1' }])
    expect(await again.lanes.history({ inputKey: 'another' })).toEqual([])
  })

  test('a reply that is sent at once is marked in the step that queues it', async () => {
    const { work, reopen } = await open()
    const a = (await work.inbox.accept(anInput(1)))!
    await work.lanes.begin(turn('t1', [a.id]))
    const rows = await work.lanes.finish('t1', {
      end: { kind: 'completed' },
      deliveries: [aDelivery(1), aDelivery(2)],
      sendsFirst: true,
    })
    expect(rows.map((row) => row.isMarked)).toEqual([true, undefined])
    const again = await reopen()
    expect((await again.outbox.open()).map((row) => [row.state, row.attempts, row.isMarked])).toEqual([
      ['attempting', 1, undefined],
      ['queued', 0, undefined],
    ])
  })

  test('a turn that was lost gives its inputs back, with one lost turn more', async () => {
    const { work, reopen } = await open()
    const a = (await work.inbox.accept(anInput(1)))!
    await work.lanes.begin(turn('t1', [a.id]))
    const again = await reopen()
    const [running] = await again.lanes.running()
    expect(running).toMatchObject({ id: 't1', owner: 'me', inputs: [{ id: a.id, lostTurns: 0 }] })
    await again.lanes.release('t1')
    expect(await again.inbox.waiting()).toMatchObject([{ id: a.id, lostTurns: 1 }])
    expect(await again.lanes.begin(turn('t2', [a.id]))).toBe(true)
  })

  test('how often the agent was asked is kept with a message, over lost turns', async () => {
    const { work, reopen } = await open()
    const a = (await work.inbox.accept(anInput(1)))!
    await work.lanes.begin(turn('t1', [a.id]))
    await work.lanes.asked('t1')
    expect(await work.lanes.running()).toMatchObject([{ inputs: [{ id: a.id, asked: 1 }] }])
    await work.lanes.release('t1')
    const again = await reopen()
    await again.lanes.begin(turn('t2', [a.id]))
    // The turn is over: that it began is no news.
    await again.lanes.asked('t1')
    expect(await again.lanes.running()).toMatchObject([{ inputs: [{ id: a.id, asked: 1, lostTurns: 1 }] }])
  })

  test('the same thing is queued once', async () => {
    const { work } = await open()
    expect(await work.outbox.add([aDelivery(1), aDelivery(2)])).toHaveLength(2)
    expect(await work.outbox.add([aDelivery(3, { idempotencyKey: 'reply:1' })])).toEqual([])
    expect((await work.outbox.open()).map((row) => row.delivery.id)).toEqual(['d1', 'd2'])
    const [first] = await work.outbox.open()
    expect((await work.outbox.open(first!.seq)).map((row) => row.delivery.id)).toEqual(['d2'])
  })

  test('what is known about a delivery survives', async () => {
    const { work, reopen } = await open()
    await work.outbox.add([1, 2, 3, 4].map((n) => aDelivery(n)))
    await work.outbox.change('d1', { state: 'attempting', resent: false })
    await work.outbox.change('d2', { state: 'retry', notBefore: 99, reason: 'slow down' })
    await work.outbox.change('d3', { state: 'attempting', messageIds: ['77'] })
    expect(await work.outbox.get('d3')).toMatchObject({ state: 'attempting', messageIds: ['77'] })
    await work.outbox.change('d3', { state: 'sent', messageIds: ['77'] })
    await work.outbox.change('d4', { state: 'dead', reason: 'no such chat' })
    const again = await reopen()
    expect(await again.outbox.open()).toMatchObject([
      { state: 'attempting', attempts: 1, resent: false },
      { state: 'retry', notBefore: 99, reason: 'slow down' },
    ])
    expect(await again.outbox.get('d3')).toMatchObject({ state: 'sent', messageIds: ['77'] })
    expect(await again.outbox.list({ states: ['dead'] })).toMatchObject([{ reason: 'no such chat' }])
  })

  test('what people saw in a chat, or may have seen, is known: sent, on its way, or a part of it', async () => {
    const { work, reopen, at } = await open()
    await work.outbox.add([1, 2, 3, 4, 5, 6, 7].map((n) => aDelivery(n)))
    await work.outbox.add([
      aDelivery(8, { address: { channel: 'telegram', to: '8_', accountId: 'default' } }),
    ])
    const seen = async (since: number, to: string, from = work) =>
      (await from.outbox.shownSince(since, to)).map(({ delivery, isForeign }) => [delivery.id, isForeign])
    at(2_000)
    await work.outbox.change('d1', { state: 'sent', messageIds: ['1'] })
    at(3_000)
    await work.outbox.change('d2', { state: 'sent', messageIds: ['2'], at: 2_500 })
    await work.outbox.change('d3', { state: 'attempting', resent: false })
    await work.outbox.change('d4', { state: 'retry', notBefore: 99, reason: 'slow down' })
    await work.outbox.change('d5', { state: 'attempting', messageIds: ['5'] })
    await work.outbox.change('d5', { state: 'retry', notBefore: 99, reason: 'slow down' })
    await work.outbox.change('d6', { state: 'dead', reason: 'no such chat' })
    await work.outbox.change('d8', { state: 'sent', messageIds: ['8'] })
    expect(await work.outbox.get('d2')).toMatchObject({ updatedAt: 2_500 })
    const late = ['d3', 'd5', 'd6'].map((id) => [id, false])
    expect(await seen(2_000, '7')).toEqual([['d1', false], ['d2', false], ...late])
    expect(await seen(2_600, '7')).toEqual(late)
    expect(await seen(0, '_')).toEqual([['d8', false]])
    expect((await seen(2_600, '7', await reopen())).map(([id]) => id)).toEqual(['d3', 'd5', 'd6'])
  })

  test('when a chat was last written to us is known after its messages were answered', async () => {
    const { work, reopen, at } = await open()
    const accept = async (n: number, key: string, now: number): Promise<void> => {
      at(now)
      const { id } = (await work.inbox.accept({ ...anInput(n), key }))!
      await work.inbox.end([id], 'command')
    }
    await accept(1, 'telegram|default|7|1', 1_000)
    await accept(2, 'telegram|default|77|2', 2_000)
    const again = await reopen()
    expect(await again.inbox.lastAcceptedAt({ keyStart: 'telegram|default|7|' })).toBe(1_000)
    expect(await again.inbox.lastAcceptedAt({ keyStart: 'telegram|default|8|' })).toBeUndefined()
    expect(await again.inbox.lastAcceptedAt({ lane: anInput(1).lane })).toBe(2_000)
  })

  test('a group remembers its last messages, and the silent groups are forgotten first', async () => {
    const { work, reopen } = await open()
    const limits = { entries: 3, groups: 2 }
    for (let n = 1; n <= 5; n++)
      await work.overheard.add('g1', `k${n}`, { sender: 'A', body: String(n) }, limits)
    expect(await work.overheard.add('g1', 'k5', { sender: 'A', body: '5' }, limits)).toBe(false)
    expect((await work.overheard.list('g1')).map((entry) => entry.body)).toEqual(['3', '4', '5'])
    await work.overheard.add('g2', 'k6', { sender: 'A', body: '6' }, limits)
    await work.overheard.add('g1', 'k7', { sender: 'A', body: '7' }, limits)
    await work.overheard.add('g3', 'k8', { sender: 'A', body: '8' }, limits)
    const again = await reopen()
    expect(await again.overheard.list('g2')).toEqual([])
    expect((await again.overheard.list('g1')).map((entry) => entry.body)).toEqual(['4', '5', '7'])
    const heard = await again.overheard.list('g1')
    await again.lanes.begin(turn('t', []))
    await again.lanes.finish('t', {
      end: { kind: 'completed' },
      deliveries: [],
      received: { overheard: { group: 'g1', upTo: heard[1]!.id } },
    })
    expect((await again.overheard.list('g1')).map((entry) => entry.body)).toEqual(['7'])
  })

  test('system events wait for their session, are not repeated, and go with the turn that was told', async () => {
    const { work } = await open()
    for (const text of ['a', 'a', 'b', 'c', 'd']) await work.systemEvents.add('s', text, 3)
    const waiting = await work.systemEvents.waiting('s')
    expect(waiting.map((event) => event.text)).toEqual(['b', 'c', 'd'])
    expect(await work.systemEvents.waiting('other')).toEqual([])
    await work.lanes.begin(turn('t', []))
    const systemEvents = waiting.slice(0, 2).map((event) => event.id)
    await work.lanes.finish('t', { end: { kind: 'completed' }, deliveries: [], received: { systemEvents } })
    expect((await work.systemEvents.waiting('s')).map((event) => event.text)).toEqual(['d'])
    for (const text of ['at 1', 'else', 'at 2']) await work.systemEvents.add('s', text, 3, 'at ')
    expect((await work.systemEvents.waiting('s')).map((event) => event.text)).toEqual(['d', 'else', 'at 2'])
    await work.systemEvents.clear('s')
    expect(await work.systemEvents.waiting('s')).toEqual([])
  })

  test('what is over is forgotten after its time, what waits never', async () => {
    const { work, at } = await open()
    at(1_000)
    const a = (await work.inbox.accept(anInput(1)))!
    await work.inbox.accept(anInput(2))
    await work.inbox.end([a.id], 'command', [aDelivery(1)])
    await work.outbox.change('d1', { state: 'sent', messageIds: [] })
    expect(await work.inbox.forget(500)).toBe(0)
    expect(await work.inbox.forget(2_000)).toBe(1)
    expect(await work.outbox.forget(2_000)).toBe(1)
    expect(await work.inbox.knows(anInput(1).key)).toBe(false)
    expect(await work.inbox.waiting()).toHaveLength(1)
  })
}
