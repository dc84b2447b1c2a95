import { expect, test } from 'vitest'
import { orderedId } from './turn.ts'

test('ids are UUIDs of version 7: later ones sort after earlier ones, and no two are the same', () => {
  const ids = [0, 1, 1_000, 1_794_813_462_282, 1_794_813_462_283.9].map(orderedId)
  for (const id of ids)
    expect(id).toMatch(/^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/)
  expect([...ids].sort()).toEqual(ids)
  expect(new Set(Array.from({ length: 10_000 }, () => orderedId(5))).size).toBe(10_000)
})
