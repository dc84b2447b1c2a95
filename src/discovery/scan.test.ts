import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCorpus } from '../../test/support/corpus.ts'
import type { Corpus } from '../../test/support/corpus.ts'
import { scanAll, scanWorkerFile, type ScanJob, type ScanOutcome } from './scan.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-pool-'))
let corpus: Corpus
let jobs: ScanJob[]
beforeAll(() => {
  // Enough for a second thread to be worth it.
  corpus = makeCorpus({ configDir: folder, files: 60, bytes: 20_000_000, largeFileBytes: 10_000_000 })
  jobs = corpus.files.map((path) => ({ path, bytes: corpus.bytes / corpus.files.length }))
})
afterAll(() => rmSync(folder, { recursive: true }))

async function scan(workerFile: URL | undefined): Promise<Map<string, ScanOutcome>> {
  const outcomes = new Map<string, ScanOutcome>()
  await scanAll(jobs, workerFile, (some) => {
    for (const outcome of some) {
      expect(outcomes.has(outcome.path)).toBe(false)
      outcomes.set(outcome.path, outcome)
    }
  })
  return outcomes
}

test('two threads find what one finds, each file once', async () => {
  expect(scanWorkerFile()).toBeDefined()
  const inTwo = await scan(scanWorkerFile())
  const inOne = await scan(undefined)
  expect(inTwo.size).toBe(corpus.files.length)
  expect([...inTwo.values()].sort(byPath)).toEqual([...inOne.values()].sort(byPath))
})

test.each(['throw new Error("no")', 'process.exit(3)', 'this is no program'])(
  'a thread that dies (%s) costs time and no file',
  async (program) => {
    const file = join(folder, 'broken.mjs')
    writeFileSync(file, program)
    expect((await scan(pathToFileURL(file))).size).toBe(corpus.files.length)
  },
)

function byPath(a: ScanOutcome, b: ScanOutcome): number {
  return a.path < b.path ? -1 : 1
}
