import { expect, test } from 'vitest'
import type { Clock } from '../domain/clock.ts'
import { Pool } from './pool.ts'

class Item {
  readonly key: string
  busy = false
  closed = false
  constructor(key: string) {
    this.key = key
  }
  async close(): Promise<void> {
    this.closed = true
  }
}

function makeClock(): Clock & { pass(ms: number): void } {
  let now = 0
  let timers: Array<{ at: number; fn: () => void }> = []
  return {
    now: () => now,
    monotonic: () => now,
    after(ms, fn) {
      const timer = { at: now + ms, fn }
      timers.push(timer)
      return () => void (timers = timers.filter((other) => other !== timer))
    },
    pass(ms) {
      const until = now + ms
      for (;;) {
        const next = timers.filter((timer) => timer.at <= until).sort((a, b) => a.at - b.at)[0]
        if (!next) break
        timers = timers.filter((timer) => timer !== next)
        now = next.at
        next.fn()
      }
      now = until
    },
  }
}

const minute = 60_000
function setUp(maxLive = 2, maxStarts = 2) {
  const clock = makeClock()
  const pool = new Pool<Item>(clock, { maxLive, maxStarts, idleMs: 30 * minute })
  const start = (key: string, pinned = false): Promise<Item> =>
    pool.start(key, pinned, async () => new Item(key))
  return { clock, pool, start }
}

test('the conversation that was idle longest makes room', async () => {
  const { clock, pool, start } = setUp()
  const a = await start('a')
  clock.pass(minute)
  const b = await start('b')
  clock.pass(minute)
  pool.touch('a')
  clock.pass(minute)
  await start('c')
  expect([a.closed, b.closed]).toEqual([false, true])
  expect(pool.get('b')).toBeUndefined()
})

test('a process that takes a turn is never closed: the next start waits until a turn is over', async () => {
  const { clock, pool, start } = setUp()
  const [a, b] = [await start('a'), await start('b')]
  a.busy = b.busy = true
  clock.pass(minute)
  let started = false
  const c = start('c').then((item) => ((started = true), item))
  await Promise.resolve()
  expect(started).toBe(false)
  b.busy = false
  pool.touch('b')
  await c
  expect([a.closed, b.closed]).toEqual([false, true])
})

test('a conversation that was just opened is not idle yet', async () => {
  const { pool, start } = setUp(1)
  const a = await start('a')
  let started = false
  void start('b').then(() => (started = true))
  await new Promise((resolve) => setImmediate(resolve))
  expect([started, a.closed]).toEqual([false, false])
  pool.touch('a')
  await expect.poll(() => started).toBe(true)
})

test('a conversation that was opened for a turn that never starts makes room after a minute', async () => {
  const { clock, start } = setUp(1)
  const a = await start('a')
  let started = false
  void start('b').then(() => (started = true))
  await new Promise((resolve) => setImmediate(resolve))
  clock.pass(minute)
  await expect.poll(() => started).toBe(true)
  expect(a.closed).toBe(true)
})

test('half an hour without a turn closes a conversation, unless it is pinned', async () => {
  const { clock, pool, start } = setUp(5)
  const [idle, busy, pinned] = [await start('idle'), await start('busy'), await start('pinned', true)]
  busy.busy = true
  clock.pass(20 * minute)
  expect(idle.closed).toBe(false)
  clock.pass(12 * minute)
  expect([idle.closed, busy.closed, pinned.closed]).toEqual([true, false, false])
  expect(pool.all().map((item) => item.key)).toEqual(['busy', 'pinned'])
})

test('at most two start at a time', async () => {
  const { pool } = setUp(10)
  let starting = 0
  let most = 0
  const make = async (key: string): Promise<Item> => {
    most = Math.max(most, ++starting)
    await new Promise((resolve) => setTimeout(resolve, 5))
    starting--
    return new Item(key)
  }
  await Promise.all(['a', 'b', 'c', 'd', 'e'].map((key) => pool.start(key, false, () => make(key))))
  expect(most).toBe(2)
})

test('a start that fails leaves its place to the next', async () => {
  const { pool, start } = setUp(1, 1)
  await expect(pool.start('a', false, () => Promise.reject(new Error('no')))).rejects.toThrow('no')
  expect((await start('b')).key).toBe('b')
})
