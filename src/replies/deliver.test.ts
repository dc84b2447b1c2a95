import { afterEach, expect, test, vi } from 'vitest'
import { MemoryChannel } from '../../test/support/memory-channel.ts'
import type { MemoryChannelOptions } from '../../test/support/memory-channel.ts'
import { aDelivery } from '../../test/support/work-store-contract.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'
import { makeEvents } from '../domain/events.ts'
import { silentLog } from '../domain/log.ts'
import type { Database } from '../store/sqlite/database.ts'
import { openStateDatabase } from '../store/sqlite/state-database.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import { sqliteWork } from '../store/sqlite/work.ts'
import type { WorkStore } from '../store/work-store.ts'
import { Deliverer } from './deliver.ts'

const opened: Database[] = []
afterEach(async () => {
  for (const db of opened.splice(0)) await db.close()
})

/** A clock that jumps to whatever is waited for. */
function jumpingClock(): Clock {
  let now = 1_000
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, fn) {
      // A timeout of a minute is not waited for: nothing in these tests takes so long.
      if (ms >= 60_000) return () => {}
      const at = now + ms
      const timer = setImmediate(() => {
        now = Math.max(now, at)
        fn()
      })
      return () => clearImmediate(timer)
    },
  }
}

function bench(channelOptions: MemoryChannelOptions = {}, work?: WorkStore) {
  const channel = new MemoryChannel({ name: 'telegram', ...channelOptions })
  const clock = jumpingClock()
  if (!work) {
    const db = openStateDatabase(':memory:')
    opened.push(db)
    work = sqliteWork(db, clock)
  }
  const dead: string[] = []
  const uncertain: boolean[] = []
  const mirrored: string[] = []
  const deliverer = new Deliverer({
    outbox: work.outbox,
    clock,
    log: silentLog,
    events: makeEvents(() => {}),
    channelFor: () => channel,
    mirror: async (delivery) => void mirrored.push(delivery.id),
    onDead: async (delivery, { reason, isUncertain }) => {
      expect(await work.outbox.get(delivery.id)).not.toMatchObject({ state: 'dead' })
      dead.push(`${delivery.id}: ${reason}`)
      uncertain.push(isUncertain)
    },
    // No whole number of milliseconds comes of it by itself.
    random: () => 0.123_456,
  })
  return { channel, work, deliverer, dead, uncertain, mirrored, clock }
}

test('a platform that is down holds up its own chat, not the other chats of the same session', async () => {
  let isDown = true
  const { channel, deliverer } = bench({
    answer: async ({ channel: platform }) =>
      isDown && platform === 'telegram'
        ? { outcome: { kind: 'retry', reason: 'down', retryAfterMs: 50_000 }, taken: false }
        : undefined,
  })
  const onDiscord = { address: { channel: 'discord', to: 'user:7', accountId: 'default' } }
  await deliverer.deliver([
    aDelivery(1),
    aDelivery(2, onDiscord),
    aDelivery(3),
    aDelivery(4, onDiscord),
    aDelivery(5),
  ])
  await channel.untilSent(2)
  expect(channel.texts).toEqual(['reply 2', 'reply 4'])
  expect(deliverer.isFree(aDelivery(6))).toBe(false)
  await vi.waitFor(() => expect(deliverer.isFree(aDelivery(6, onDiscord))).toBe(true))
  isDown = false
  await channel.untilSent(5)
  expect(channel.texts.slice(2)).toEqual(['reply 1', 'reply 3', 'reply 5'])
  await deliverer.stop()
})

test('replies of a lane are sent in order, and each is marked before it is sent', async () => {
  const states: string[] = []
  const { channel, work, deliverer } = bench({
    answer: async (_, __, options) => {
      const row = await work.outbox.get(options.idempotencyKey.replace('reply:', 'd'))
      states.push(row!.state)
      return undefined
    },
  })
  await deliverer.deliver([1, 2, 3].map((n) => aDelivery(n)))
  await deliverer.idle()
  expect(channel.texts).toEqual(['reply 1', 'reply 2', 'reply 3'])
  expect(states).toEqual(['attempting', 'attempting', 'attempting'])
  expect(await work.outbox.open()).toEqual([])
})

test('a lane that must wait does not hold up another', async () => {
  const { channel, deliverer } = bench({
    answer: async (address) =>
      address.to === 'slow'
        ? { outcome: { kind: 'retry', reason: '429', retryAfterMs: 59_000 }, taken: false }
        : undefined,
  })
  const slow = { lane: 'slow', address: { channel: 'telegram', to: 'slow', accountId: 'default' } }
  await deliverer.deliver([aDelivery(1, slow), aDelivery(2, { lane: 'other' })])
  await channel.untilSent(1)
  expect(channel.texts).toEqual(['reply 2'])
  await deliverer.stop()
})

test('while the store fails a lane waits: nothing overtakes what is in it, and what was sent is not sent again', async () => {
  const { work: store } = bench()
  let failures = 0
  const work: WorkStore = {
    ...store,
    outbox: {
      ...store.outbox,
      change: async (id, change) => {
        const isTurnToFail = id === 'd1' && (change.state === 'sent' ? failures < 4 : failures < 2)
        if (isTurnToFail && ++failures > 0) throw new StoreUnavailable('It is away.')
        await store.outbox.change(id, change)
      },
    },
  }
  const { channel, deliverer } = bench({}, work)
  await deliverer.deliver([aDelivery(1)])
  await expect.poll(() => failures).toBeGreaterThan(0)
  await deliverer.deliver([aDelivery(2)])
  await channel.untilSent(2)
  await deliverer.stop()
  expect(channel.texts).toEqual(['reply 1', 'reply 2'])
  expect(channel.sent.map((sent) => sent.resent)).toEqual([false, false])
  expect(failures).toBe(4)
})

test('a reply that others have by now is left to them, whatever it waited for, and what follows it too', async () => {
  const { work: store } = bench()
  let isTheirs = false
  const work: WorkStore = {
    ...store,
    outbox: {
      ...store.outbox,
      change: async (id, change) => {
        if (isTheirs) throw new RockpoolError('lock-lost', 'It was given to another process.')
        await store.outbox.change(id, change)
      },
    },
  }
  let isDown = true
  const { channel, deliverer } = bench(
    {
      answer: async () =>
        isDown
          ? { outcome: { kind: 'retry', reason: 'down', retryAfterMs: 5_000 }, taken: false }
          : undefined,
    },
    work,
  )
  const rows = await deliverer.deliver([aDelivery(1), aDelivery(2)])
  await expect.poll(async () => (await store.outbox.get('d1'))?.state).toBe('retry')
  isTheirs = true
  await expect.poll(() => deliverer.isFree(aDelivery(3))).toBe(true)
  expect(channel.texts).toEqual([])
  // No other process took them, so this process owns them again.
  isTheirs = false
  isDown = false
  deliverer.add(rows.map((row) => ({ ...row, notBefore: 0 })))
  await channel.untilSent(2)
  await deliverer.stop()
  expect(channel.texts).toEqual(['reply 1', 'reply 2'])
})

test('taken for dead, nothing that waits is sent any more, and what is on its way is waited for', async () => {
  const { promise: onItsWay, resolve: arrive } = Promise.withResolvers<undefined>()
  const { channel, deliverer } = bench({ answer: () => onItsWay })
  const rows = await deliverer.deliver([aDelivery(1), aDelivery(2), aDelivery(3, { lane: 'other' })])
  let hasLetGo = false
  const lettingGo = deliverer.releaseAll().then(() => (hasLetGo = true))
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(hasLetGo).toBe(false)
  arrive(undefined)
  await lettingGo
  expect(channel.texts.toSorted()).toEqual(['reply 1', 'reply 3'])
  // Taken again.
  deliverer.add(rows)
  await channel.untilSent(3)
  await deliverer.stop()
  expect(channel.texts.toSorted()).toEqual(['reply 1', 'reply 2', 'reply 3'])
})

test('a platform that asks for patience gets the reply later, once, and what follows keeps its place', async () => {
  let tries = 0
  const { channel, deliverer } = bench({
    answer: async () =>
      ++tries <= 3 ? { outcome: { kind: 'retry', reason: 'connection refused' }, taken: false } : undefined,
  })
  await deliverer.deliver([aDelivery(1), aDelivery(2)])
  await channel.untilSent(2)
  expect(channel.texts).toEqual(['reply 1', 'reply 2'])
  expect(channel.sent.map((sent) => sent.resent)).toEqual([false, false])
})

test('when its arrival is unknown, a reply is sent once more, marked, and never a third time', async () => {
  const { channel, deliverer, dead, uncertain } = bench({
    answer: async () => ({ outcome: { kind: 'unknown', reason: 'timeout' }, taken: true }),
  })
  await deliverer.deliver([aDelivery(1)])
  await deliverer.idle()
  await expect.poll(() => dead).toHaveLength(1)
  expect(channel.sent.map((sent) => sent.resent)).toEqual([false, true])
  expect(dead[0]).toMatch(/d1: .*it is unknown/)
  expect(uncertain).toEqual([true])
})

test('a platform that knows our key is asked until it answers', async () => {
  let tries = 0
  const { channel, deliverer, dead } = bench({
    abilities: { idempotentSend: true },
    answer: async () =>
      ++tries <= 4 ? { outcome: { kind: 'unknown', reason: 'timeout' }, taken: false } : undefined,
  })
  await deliverer.deliver([aDelivery(1)])
  await channel.untilSent(1)
  expect(tries).toBe(5)
  expect(dead).toEqual([])
})

test('a platform that knows our key only for some minutes gets one marked copy after those', async () => {
  const answer = async () => ({ outcome: { kind: 'unknown' as const, reason: 'timeout' }, taken: true })
  const { channel, deliverer, dead } = bench({
    abilities: { idempotentSend: true, idempotentForMs: 10_000 },
    answer,
  })
  await deliverer.deliver([aDelivery(1)])
  await expect.poll(() => dead).toHaveLength(1)
  const marks = channel.sent.map((sent) => sent.resent)
  expect(marks.length).toBeGreaterThan(3)
  expect(marks.indexOf(true)).toBe(marks.length - 1)
})

test('of a reply of several messages only what was not sent is sent after a crash', async () => {
  const first = bench({
    answer: async (_, __, { onPart }) => {
      await onPart?.('m1')
      await onPart?.('m2')
      return { outcome: { kind: 'unknown', reason: 'killed' }, taken: true }
    },
  })
  await first.deliverer.deliver([aDelivery(1)])
  await first.channel.untilSent(1)
  await first.deliverer.stop()
  const second = bench({}, first.work)
  await second.deliverer.start()
  await second.channel.untilSent(1)
  expect(second.channel.sent[0]).toMatchObject({ sentIds: ['m1', 'm2'], resent: true })
})

test('an answer whose preview may be there for good is marked, and is the last copy', async () => {
  const { channel, deliverer, uncertain } = bench({
    answer: async () => ({ outcome: { kind: 'unknown', reason: 'timeout' }, taken: true }),
  })
  await deliverer.deliver([aDelivery(1, { isSecondCopy: true })])
  await expect.poll(() => uncertain).toEqual([true])
  expect(channel.sent.map((sent) => sent.resent)).toEqual([true])
})

test('a reply that the platform refuses is dropped and reported, and the next one is sent', async () => {
  const { channel, work, deliverer, dead } = bench({
    answer: async (_, reply) =>
      reply.text === 'reply 1'
        ? { outcome: { kind: 'refused', reason: 'chat not found' }, taken: false }
        : undefined,
  })
  await deliverer.deliver([aDelivery(1), aDelivery(2)])
  await channel.untilSent(1)
  expect(dead).toEqual(['d1: chat not found'])
  expect(await work.outbox.get('d1')).toMatchObject({ state: 'dead', reason: 'chat not found' })
})

test("a platform's message that contains the bot's token is stored and shown without it", async () => {
  const token = `123456789:${'A'.repeat(35)}`
  const reason = `Not Found: https://platform.example/bot${token}/sendMessage`
  const { work, deliverer, dead } = bench({
    answer: async () => ({ outcome: { kind: 'refused', reason }, taken: false }),
  })
  await deliverer.deliver([aDelivery(1)])
  await expect.poll(() => dead).toHaveLength(1)
  // The listener may be called before the row is written.
  await expect.poll(async () => (await work.outbox.get('d1'))?.reason).toBeDefined()
  for (const told of [dead[0], (await work.outbox.get('d1'))?.reason]) {
    expect(told).toContain('Not Found: https://platform.example/bot[redacted:telegram-token')
    expect(told).not.toContain(token)
  }
})

test('after a crash in the middle of a send the reply is sent again and marked', async () => {
  const first = bench()
  await first.work.outbox.add([aDelivery(1), aDelivery(2)])
  await first.work.outbox.change('d1', { state: 'attempting', resent: false })
  const second = bench({}, first.work)
  await second.deliverer.start()
  await second.channel.untilSent(2)
  expect(second.channel.sent.map((sent) => [sent.reply.text, sent.resent])).toEqual([
    ['reply 1', true],
    ['reply 2', false],
  ])
})

test('a reply that was marked when it was queued is sent once, unmarked; after a crash it is uncertain', async () => {
  const { work, deliverer, channel } = bench()
  const [row] = await work.outbox.add([aDelivery(1)])
  await work.outbox.change('d1', { state: 'attempting', resent: false })
  deliverer.add([{ ...row!, state: 'attempting', attempts: 1, isMarked: true }])
  await deliverer.idle()
  expect(channel.sent.map((sent) => sent.resent)).toEqual([false])
  expect(await work.outbox.get('d1')).toMatchObject({ state: 'sent', attempts: 1 })
})

test('a reply that is found while it is being queued is neither taken for a crash nor sent twice', async () => {
  const { work, deliverer, channel } = bench()
  const [first, second] = await work.outbox.add([aDelivery(1), aDelivery(2, { lane: 'other' })])
  await work.outbox.change('d1', { state: 'attempting', resent: false })
  await deliverer.lookForMore()
  await channel.untilSent(1)
  await deliverer.idle()
  // Only now are they reported by the process that queued them.
  deliverer.add([{ ...first!, state: 'attempting', attempts: 1, isMarked: true }, second!])
  await deliverer.idle()
  expect(channel.sent.map((sent) => [sent.reply.text, sent.resent])).toEqual([
    ['reply 2', false],
    ['reply 1', false],
  ])
})

test('however many crashes there are in the middle of sends, the third copy never comes', async () => {
  const { work, deliverer, channel, dead } = bench()
  await work.outbox.add([aDelivery(1)])
  await work.outbox.change('d1', { state: 'attempting', resent: false })
  await work.outbox.change('d1', { state: 'attempting', resent: true })
  await deliverer.start()
  await deliverer.idle()
  expect(channel.sent).toEqual([])
  expect(dead).toHaveLength(1)
})

test('patience that the platform asks for is no copy: a marked reply waits as long as it must', async () => {
  let tries = 0
  const { channel, work, deliverer, dead } = bench({
    answer: async () =>
      ++tries <= 5 ? { outcome: { kind: 'retry', reason: '429' }, taken: false } : undefined,
  })
  await work.outbox.add([aDelivery(1)])
  await work.outbox.change('d1', { state: 'attempting', resent: false })
  await deliverer.start()
  await channel.untilSent(1)
  expect(channel.sent.map((sent) => sent.resent)).toEqual([true])
  expect(dead).toEqual([])
})

test('a preview is replaced by the reply; a preview that is gone does not lose it', async () => {
  const { channel, deliverer } = bench({ abilities: { edits: true } })
  await deliverer.deliver([aDelivery(1, { replacesMessageId: 'p1' })])
  await deliverer.idle()
  expect(channel.edits).toEqual([{ messageId: 'p1', text: 'reply 1' }])
  channel.edit = async () => ({ kind: 'refused', reason: 'message not found' })
  await deliverer.deliver([aDelivery(2, { replacesMessageId: 'p2' })])
  await channel.untilSent(1)
  expect(channel.texts).toEqual(['reply 2'])
})

test('what waited longer than its time is given up, not sent', async () => {
  const { channel, deliverer, dead } = bench()
  await deliverer.deliver([aDelivery(1, { expiresAt: 500 })])
  await deliverer.idle()
  expect(channel.sent).toEqual([])
  expect(dead).toEqual(['d1: It waited too long.'])
})

test('a message that is no reply is written into the transcript when it was sent', async () => {
  const { channel, deliverer, mirrored } = bench()
  await deliverer.deliver([aDelivery(1, { mirror: true, sessionKey: 'agent:main:main' }), aDelivery(2)])
  await channel.untilSent(2)
  await deliverer.idle()
  expect(mirrored).toEqual(['d1'])
})

test('stopping waits for the send on its way and leaves the rest in the outbox', async () => {
  const gate = Promise.withResolvers<void>()
  const { channel, work, deliverer } = bench({
    answer: async () => {
      await gate.promise
      return undefined
    },
  })
  await deliverer.deliver([aDelivery(1), aDelivery(2)])
  const stopped = deliverer.stop()
  gate.resolve()
  await stopped
  expect(channel.texts).toEqual(['reply 1'])
  expect((await work.outbox.open()).map((row) => row.delivery.id)).toEqual(['d2'])
})

test('output that streams is one message that grows, until something else is said or it is full', async () => {
  const { channel, deliverer } = bench({ abilities: { edits: true, maxTextLength: 30 } })
  const output = (n: number) => aDelivery(n, { continues: 'coding:a' })
  await deliverer.deliver([output(1), output(2), output(3), output(4)])
  await deliverer.idle()
  expect(channel.texts).toEqual(['reply 1', 'reply 4'])
  expect(channel.edits.map((edit) => edit.text)).toEqual(['reply 1\nreply 2', 'reply 1\nreply 2\nreply 3'])
  await deliverer.deliver([aDelivery(5), output(6)])
  await deliverer.idle()
  expect(channel.texts).toEqual(['reply 1', 'reply 4', 'reply 5', 'reply 6'])
})

test('a streamed message that is gone, or a platform without edits, gets messages of their own', async () => {
  const plain = bench({ abilities: { edits: false } })
  const output = (n: number) => aDelivery(n, { continues: 'coding:a' })
  await plain.deliverer.deliver([output(1), output(2)])
  await plain.channel.untilSent(2)
  const gone = bench({ abilities: { edits: true } })
  gone.channel.edit = async () => ({ kind: 'refused', reason: 'message not found' })
  await gone.deliverer.deliver([output(1), output(2)])
  await gone.channel.untilSent(2)
  expect(gone.channel.texts).toEqual(['reply 1', 'reply 2'])
})
