// Indexing that is killed; test/full/index-crash.test.ts kills it often enough to be sure.
import { expect, test } from 'vitest'
import { killWhileIndexing } from './support/index-crash.ts'

test('a process that is killed while it indexes leaves nothing out and nothing twice', async () => {
  const { lines, killed, counts } = await killWhileIndexing(5)
  expect(killed).toBeGreaterThan(0)
  expect(counts).toEqual({ passages: lines, different: lines, words: lines, pieces: lines })
}, 60_000)
