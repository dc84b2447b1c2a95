import { expect, test } from 'vitest'
import { randomFrom } from '../../test/support/random.ts'
import { Database } from '../store/sqlite/database.ts'
import { PassageTimes } from './passage-times.ts'

test('passages are in the order of their times, also those that are added later', async () => {
  const db = Database.open(':memory:', [
    'CREATE TABLE passage (id INTEGER PRIMARY KEY AUTOINCREMENT, at INTEGER NOT NULL)',
  ])
  const random = randomFrom(3)
  const add = (count: number): void => {
    for (let i = 0; i < count; i++)
      db.queries.run('INSERT INTO passage (at) VALUES (?)', Math.floor(random() * 1_000))
  }
  const times = new PassageTimes(db.queries)
  const idsOf = (where: string): number[] =>
    db.queries
      .all<{ id: number }>(`SELECT id FROM passage WHERE ${where} ORDER BY at DESC, id DESC`)
      .map(({ id }) => id)
  expect([...times.newestFirst()]).toEqual([])
  for (const count of [1, 700, 0, 3, 2_000]) {
    add(count)
    expect([...times.newestFirst()]).toEqual(idsOf('true'))
    expect([...times.since(500)]).toEqual(idsOf('at >= 500'))
    expect(times.sorted([...times.newestFirst()].reverse())).toEqual(idsOf('true'))
  }
  await db.close()
})
