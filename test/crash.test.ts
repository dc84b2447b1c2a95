// Messages on their way when the process is killed; test/full/crash.test.ts has the promised size.
import { expect, test } from 'vitest'
import { nothingWrong, storm } from './support/crash-storm.ts'

test('kill -9 at random moments: nothing lost, nothing sent twice unmarked, order kept, every question recorded', async () => {
  const report = await storm({ sessions: 8, each: 12, kills: 5 })
  expect(report).toMatchObject(nothingWrong)
}, 120_000)
