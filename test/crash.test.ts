// Messages on their way when the process is killed; test/full/crash.test.ts has the promised size.
import { expect, test } from 'vitest'
import { storm } from './support/crash-storm.ts'

test('kill -9 at random moments: nothing lost, nothing said twice unmarked, order kept', async () => {
  const report = await storm({ sessions: 8, each: 12, kills: 5 })
  expect(report).toMatchObject({ lost: [], unmarkedDuplicates: [], wrongSession: [], outOfOrder: [] })
}, 120_000)
