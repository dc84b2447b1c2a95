import { expect, test } from 'vitest'
import { AtMost } from './at-most.ts'

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
