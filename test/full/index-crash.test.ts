// Indexing that is killed, often enough to be sure.
import { expect, test } from 'vitest'
import { killWhileIndexing } from '../support/index-crash.ts'

test('fifty kills while indexing leave nothing out and nothing twice', async () => {
  const { lines, killed, halfway, counts } = await killWhileIndexing(50)
  expect(killed).toBeGreaterThan(25)
  expect(halfway).toBeGreaterThan(5)
  expect(counts).toEqual({ passages: lines, different: lines, words: lines, pieces: lines })
}, 600_000)
