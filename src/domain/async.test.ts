import { expect, test } from 'vitest'
import { AtMost, Condition, KeyedQueue, repeat, sleep, within } from './async.ts'
import { systemClock } from './clock.ts'

test('tasks of one key run one after another, also after a failure; other keys do not wait', async () => {
  const queue = new KeyedQueue()
  const order: string[] = []
  const gate = Promise.withResolvers<void>()
  const first = queue.run('a', async () => {
    await gate.promise
    order.push('a1')
    throw new Error('a1 failed')
  })
  const second = queue.run('a', () => order.push('a2'))
  await queue.run('b', () => order.push('b1'))
  expect(queue.isBusy('a')).toBe(true)
  gate.resolve()
  await expect(first).rejects.toThrow('a1 failed')
  await second
  expect(order).toEqual(['b1', 'a1', 'a2'])
  await queue.idle()
  expect(queue.isBusy('a')).toBe(false)
})

test('within gives the result in time, else what late() returns or throws', async () => {
  const never = new Promise<string>(() => {})
  expect(await within(systemClock, 60_000, Promise.resolve('done'), () => 'late')).toBe('done')
  expect(await within(systemClock, 1, never, () => 'late')).toBe('late')
  const tooLate = within(systemClock, 1, never, () => {
    throw new Error('no answer')
  })
  await expect(tooLate).rejects.toThrow('no answer')
})

test('repeat runs again after each run has ended, until it is stopped', async () => {
  const ticks = Promise.withResolvers<void>()
  let runs = 0
  let isRunning = false
  const stop = repeat(systemClock, 1, async () => {
    expect(isRunning).toBe(false)
    isRunning = true
    await sleep(systemClock, 2)
    isRunning = false
    if (++runs === 3) ticks.resolve()
  })
  const alive = setInterval(() => {}, 1000)
  await ticks.promise
  stop()
  clearInterval(alive)
  const stoppedAt = runs
  await new Promise((resolve) => setTimeout(resolve, 20))
  expect(runs).toBe(stoppedAt)
})

test('so many run at once, the others in their order, and too many are refused', async () => {
  const places = new AtMost(2, 3)
  const begun: number[] = []
  const ends: Array<() => void> = []
  const work = (n: number) => (): Promise<number> =>
    new Promise((resolve) => {
      begun.push(n)
      ends.push(() => resolve(n))
    })
  const all = [1, 2, 3, 4, 5].map((n) => places.run(work(n)))
  await expect(places.run(work(6))).rejects.toMatchObject({ code: 'busy' })
  expect(begun).toEqual([1, 2])
  for (let n = 0; n < 5; n++) {
    ends[n]!()
    expect(await all[n]).toBe(n + 1)
    await Promise.resolve()
    expect(begun.length).toBe(Math.min(5, n + 3))
  }
  expect(begun).toEqual([1, 2, 3, 4, 5])
  expect(places.isIdle).toBe(true)
})

test('work that fails gives its place to the next', async () => {
  const places = new AtMost(1, 1)
  const failing = places.run(async () => Promise.reject(new Error('no')))
  const next = places.run(async () => 'yes')
  await expect(failing).rejects.toThrow('no')
  expect(await next).toBe('yes')
})

test('a condition wakes every waiter at a change or when the signal fires, and reports a time-out', async () => {
  const condition = new Condition(systemClock)
  const stop = new AbortController()
  const waiting = [condition.wait(60_000), condition.wait(60_000, stop.signal)]
  condition.notifyAll()
  expect(await Promise.all(waiting)).toEqual([true, true])
  const stopped = condition.wait(60_000, stop.signal)
  stop.abort()
  expect(await stopped).toBe(true)
  expect(await condition.wait(1)).toBe(false)
})
