import { expect, test } from 'vitest'
import { Database } from '../store/sqlite/database.ts'
import { SearchVectors, vectorTable } from './search-vectors.ts'

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
    numbers: Int8Array.of(at % 100, 1, 2, 3),
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
