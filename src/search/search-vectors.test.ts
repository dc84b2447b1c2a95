import { expect, test } from 'vitest'
import { randomFrom } from '../../test/support/random.ts'
import { Database } from '../store/sqlite/database.ts'
import { highOf, lowOf, packed, SearchVectors, vectorTable } from './search-vectors.ts'

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
    numbers: Uint8Array.of(at % 100, 0x9f, 0x81, 0x70),
  }))
  await vectors.add('model', all)
  await vectors.remove(new Set([0]))
  const left = [...vectors.from('model', 0)]
  expect(left.reduce((sum, { count }) => sum + count, 0)).toBe(1_000)
  for (const { passages, sources, signs, numbers } of left) {
    passages.forEach((id, at) => {
      const first = (id - 1) % 100
      const isPositive = [first & 15, first >> 4].map((number) => number > 0 && number < 9)
      const signsOfFirst = Number(isPositive[0]) | (Number(isPositive[1]) << 1)
      expect([sources[at], signs[at], numbers[at * 4]]).toEqual([id % 3, 0b10_11_00_00 | signsOfFirst, first])
    })
    expect(sources).not.toContain(0)
  }
  await vectors.remove(new Set([1, 2]))
  expect(vectors.isEmpty()).toBe(true)
  await db.close()
})

test('ids far apart, in any order, are kept', async () => {
  const db = Database.open(':memory:', [
    `CREATE TABLE passage (id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL, has_vector INTEGER NOT NULL DEFAULT 0) STRICT;
     ${vectorTable}`,
  ])
  const ids = [4_000_000_000, 1, 127, 64, 63, 20_000, 4_294_967_295, 2]
  await db.write((q) => {
    for (const id of ids) q.run('INSERT INTO passage VALUES (?, ?, 0)', id, id - 1)
  })
  const vectors = new SearchVectors(db)
  for (const id of ids) await vectors.add('model', [{ id, numbers: Uint8Array.of(id % 256) }])
  const [batch] = [...vectors.from('model', 0)]
  expect([...batch!.passages]).toEqual(ids)
  expect([...batch!.sources]).toEqual(ids.map((id) => id - 1))
  expect([...batch!.numbers]).toEqual(ids.map((id) => id % 256))
  await db.close()
})

test('a vector is packed into four bits for each number, and one large number does not make the others nothing', () => {
  const numbersOf = (vector: number[]): number[] =>
    [...packed(Float32Array.from(vector))].flatMap((byte) => [lowOf(byte), highOf(byte)])
  expect(numbersOf([1, -0.5, 0.25])).toEqual([7, -3, 2, 0])
  expect(numbersOf([0, 0])).toEqual([0, 0])
  const small = Array.from({ length: 31 }, () => 1)
  expect(numbersOf([100, ...small]).slice(0, 3)).toEqual([7, 0, 0])
  expect(numbersOf([10, ...small]).slice(0, 3)).toEqual([7, 1, 1])
})

test('a packed vector has the signs of all numbers, also of those that are too small', async () => {
  const db = Database.open(':memory:', [
    `CREATE TABLE passage (id INTEGER PRIMARY KEY, source_id INTEGER NOT NULL, has_vector INTEGER NOT NULL DEFAULT 0) STRICT;
     INSERT INTO passage VALUES (7, 1, 0); ${vectorTable}`,
  ])
  const vectors = new SearchVectors(db)
  const random = randomFrom(5)
  const vector = Float32Array.from({ length: 128 }, () => (random() - 0.5) ** 3)
  await vectors.add('model', [{ id: 7, numbers: packed(vector) }])
  const [batch] = [...vectors.from('model', 0)]
  const signs = vector.map((_, k) => (batch!.signs[k >> 5]! >> (k & 31)) & 1)
  expect([...signs]).toEqual([...vector].map((value) => (value > 0 ? 1 : 0)))
  await db.close()
})
