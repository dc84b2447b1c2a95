import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeCorpus } from '../../test/support/corpus.ts'
import type { Corpus } from '../../test/support/corpus.ts'
import { scanAll, scanWorkerFile, type ScanJob, type ScanOutcome } from './scan.ts'
import { TranscriptScanner } from './transcript-scanner.ts'

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

test('a file that a command writes is in the folder of its record, which comes after what the scan needs of a reply', () => {
  const content = [
    { type: 'tool_use', id: 'call', name: 'Bash', input: { command: 'cat > a.ts <<E\nconst one = 1\nE' } },
  ]
  const usage = { input_tokens: 1, output_tokens: 2 }
  const message = { id: 'm', role: 'assistant', model: 'claude-opus-4-5', content, usage }
  const time = { timestamp: '2026-11-01T00:00:00.000Z', cwd: '/repo' }
  const lines = [
    { isSidechain: false, message: { role: 'user', content: 'write it' }, type: 'user', ...time, cwd: '/' },
    { isSidechain: false, message, requestId: 'r', type: 'assistant', uuid: 'u', ...time },
    { message: { role: 'user', content: [{ tool_use_id: 'call', type: 'tool_result' }] }, type: 'user' },
  ]
  const path = join(folder, 'command.jsonl')
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''))
  const { edits, facts } = new TranscriptScanner().scan(path)
  expect(edits.edits).toMatchObject([{ file: '/repo/a.ts', kind: 'shell' }])
  expect(facts).toMatchObject({ outputTokens: 2, replyCount: 1 })
})

function byPath(a: ScanOutcome, b: ScanOutcome): number {
  return a.path < b.path ? -1 : 1
}
