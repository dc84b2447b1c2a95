// Indexing that is killed, often enough to be sure.
import { expect, test } from 'vitest'
import { killWhileIndexing } from '../support/index-crash.ts'

test('fifty rounds of indexing, most of them killed, leave nothing out and nothing twice', async () => {
  const { lines, killed, halfway, counts } = await killWhileIndexing(50)
  expect(killed).toBeGreaterThan(10)
  expect(halfway).toBeGreaterThan(5)
  expect(counts).toEqual({ passages: lines, different: lines, words: lines, pieces: lines })
})
