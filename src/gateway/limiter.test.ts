import { expect, test } from 'vitest'
import { Limiter } from './limiter.ts'

function made(): { limiter: Limiter; pass: (ms: number) => void } {
  let now = 0
  const clock = { now: () => now, monotonic: () => now, after: () => () => {} }
  return { limiter: new Limiter(clock), pass: (ms) => (now += ms) }
}

test('ten failures within a minute lock a key for five minutes', () => {
  const { limiter, pass } = made()
  for (let i = 0; i < 9; i++) limiter.fail('a', 10)
  expect(limiter.lockedFor('a')).toBe(0)
  limiter.fail('a', 10)
  expect(limiter.lockedFor('a')).toBe(300)
  expect(limiter.lockedFor('b')).toBe(0)
  pass(299_000)
  expect(limiter.lockedFor('a')).toBe(1)
  pass(1000)
  expect(limiter.lockedFor('a')).toBe(0)
})

test('failures that are spread out do not lock', () => {
  const { limiter, pass } = made()
  for (let i = 0; i < 50; i++) {
    limiter.fail('a', 10)
    pass(10_000)
  }
  expect(limiter.lockedFor('a')).toBe(0)
})

test('a flood of other keys does not open a locked one, and does not grow the table without end', () => {
  const { limiter } = made()
  for (let i = 0; i < 10; i++) limiter.fail('locked', 10)
  for (let i = 0; i < 30_000; i++) limiter.fail(`key ${i}`, 10)
  expect(limiter.lockedFor('locked')).toBe(300)
})
