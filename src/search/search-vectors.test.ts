import { expect, test } from 'vitest'
import { Database } from '../store/sqlite/database.ts'
import { packed, SearchVectors, vectorTable } from './search-vectors.ts'

test('the vectors of a source can be removed; the others stay where they belong', async () => {
  const db = Database.open(':memory:', [
    `CREATE TABLE passage (id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL, has_vector INTEGER NOT NULL DEFAULT 0) STRICT;
     ${vectorTable}`,
  ])
  const vectors = new SearchVectors(db)
  await db.write((q) => {
    for (let id = 1; id <= 1_500; id++) q.run('INSERT INTO passage VALUES (?, ?, 0)', id, id % 3)
  })
  const all = Array.from({ length: 1_500 }, (_, at) => ({
    id: at + 1,
    numbers: Uint8Array.of(at % 100, 1, 2, 3),
    signs: Int32Array.of(at),
  }))
  await vectors.add('model', all)
  await vectors.remove(new Set([0]))
  const left = [...vectors.from('model', 0)]
  expect(left.reduce((sum, { count }) => sum + count, 0)).toBe(1_000)
  for (const { passages, sources, signs, numbers } of left) {
    passages.forEach((id, at) => {
      expect([sources[at], signs[at], numbers[at * 4]]).toEqual([id % 3, id - 1, (id - 1) % 100])
    })
    expect(sources).not.toContain(0)
  }
  await vectors.remove(new Set([1, 2]))
  expect(vectors.isEmpty()).toBe(true)
  await db.close()
})

test('a vector is packed into four bits for each number, and one large number does not make the others nothing', () => {
  const numbersOf = (vector: number[]): number[] =>
    [...packed(Float32Array.from(vector))].flatMap((byte) => [(byte << 28) >> 28, (byte << 24) >> 28])
  expect(numbersOf([1, -0.5, 0.25])).toEqual([7, -3, 2, 0])
  expect(numbersOf([0, 0])).toEqual([0, 0])
  const small = Array.from({ length: 31 }, () => 1)
  expect(numbersOf([100, ...small]).slice(0, 3)).toEqual([7, 0, 0])
  expect(numbersOf([10, ...small]).slice(0, 3)).toEqual([7, 1, 1])
})
