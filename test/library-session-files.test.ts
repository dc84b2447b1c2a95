// The library's reading of transcripts for somebody else's index.
import { appendFileSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { sessionFileEntry, syncSessionFiles } from '../src/index.ts'

let root: string
let file: string

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'rockpool-session-files-'))
  vi.stubEnv('ROCKPOOL_STATE_DIR', root)
  const dir = join(root, 'agents', 'main', 'sessions')
  mkdirSync(dir, { recursive: true })
  file = join(dir, 'abc.jsonl')
  writeFileSync(
    file,
    `${JSON.stringify({ type: 'session', version: 3, id: 'abc', timestamp: '', cwd: '/' })}\n${line('user', 'Hello\nthere')}`,
  )
})
afterEach(() => {
  vi.unstubAllEnvs()
  rmSync(root, { recursive: true })
})

function line(role: string, text: string): string {
  const message = { role, content: [{ type: 'text', text }] }
  return `${JSON.stringify({ type: 'message', id: '00000001', parentId: null, timestamp: '', message })}\n`
}

test('a transcript becomes text with who said it, its secrets taken out, and the lines it comes from', async () => {
  appendFileSync(
    file,
    line('toolResult', 'left out') + line('assistant', `My key is sk-ant-api03-${'x1'.repeat(20)}`),
  )
  const entry = await sessionFileEntry(file)
  expect(entry).toMatchObject({ path: 'sessions/abc.jsonl', absPath: file, lineMap: [2, 4] })
  expect(entry!.content).toMatch(/^User: Hello there\nAssistant: My key is \[redacted:anthropic-key:/)
  expect(await sessionFileEntry(join(root, 'none.jsonl'))).toBeNull()
})

test('syncing hands over what changed and what is gone, and nothing else', async () => {
  const known = new Map<string, string>()
  const index = (entry: { path: string; hash: string }): void => void known.set(entry.path, entry.hash)
  expect(await syncSessionFiles({ known, index })).toEqual({ indexed: 1, unchanged: 0, removed: 0 })
  expect(await syncSessionFiles({ known, index })).toEqual({ indexed: 0, unchanged: 1, removed: 0 })
  appendFileSync(file, line('assistant', 'more'))
  expect(await syncSessionFiles({ known, index })).toEqual({ indexed: 1, unchanged: 0, removed: 0 })
  rmSync(file)
  expect(await syncSessionFiles({ known, index })).toEqual({ indexed: 0, unchanged: 0, removed: 1 })
})
