import { expect, test } from 'vitest'
import { makeMovableClock } from '../../test/support/movable-clock.ts'
import { collectWhenIdle } from './idle-memory.ts'

test('collects once when idle with garbage, never while busy or when there is nothing to gain', async () => {
  const clock = makeMovableClock()
  const heap = { busy: 0, size: 20, collections: 0 }
  const stop = collectWhenIdle(clock, {
    busyMs: () => heap.busy,
    sizeMb: () => heap.size,
    collect() {
      heap.collections++
      heap.size = 28
    },
  })
  heap.size = 60
  heap.busy += 4_000
  await clock.advance(5_000)
  expect(heap.collections).toBe(0)
  await clock.advance(5_000)
  expect(heap.collections).toBe(1)
  heap.size = 35
  await clock.advance(60_000)
  expect(heap.collections).toBe(1)
  heap.size = 37
  await clock.advance(5_000)
  expect(heap.collections).toBe(2)
  stop()
  heap.size = 90
  await clock.advance(60_000)
  expect(heap.collections).toBe(2)
})
