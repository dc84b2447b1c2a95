// Hostile files at their real size: memory stays bounded and the rest is read.
import { execFileSync } from 'node:child_process'
import { closeSync, mkdirSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-full-discovery-'))
afterAll(() => rmSync(folder, { recursive: true }))

const header = new URL('../../src/library/parse-header.ts', import.meta.url).href

/** Reads one file in a process of its own: what it says, and the most memory that it took. */
function read(file: string): { header: Record<string, unknown>; peakMb: number } {
  const program = `import { parseJsonlHeader } from '${header}'
    const header = await parseJsonlHeader(${JSON.stringify(file)})
    console.log(JSON.stringify({ header, peakMb: process.resourceUsage().maxRSS / 1024 }))`
  return JSON.parse(
    execFileSync(process.execPath, ['--input-type=module', '-e', program], { encoding: 'utf8' }),
  )
}

function write(name: string, pieces: Iterable<Buffer | string>): string {
  mkdirSync(folder, { recursive: true })
  const file = join(folder, name)
  const fd = openSync(file, 'w')
  for (const piece of pieces) writeSync(fd, Buffer.from(piece))
  closeSync(fd)
  return file
}

const prompt = '{"type":"user","uuid":"b","cwd":"/a","message":{"role":"user","content":"after it"}}\n'

function* longLine(bytes: number, end: string): Generator<Buffer | string> {
  const piece = Buffer.alloc(1 << 20, 'x')
  yield '{"type":"user","uuid":"a","message":{"role":"user","content":"'
  for (let written = 0; written < bytes; written += piece.length) yield piece
  yield end
}

test('a line of 600 MB is passed over within 200 MB, and the next line is read', () => {
  const file = write('long.jsonl', [...longLine(600_000_000, '"}}\n'), prompt])
  const { header: found, peakMb } = read(file)
  expect(found).toMatchObject({ lineCount: 2, messageCount: 2, firstPrompt: 'after it' })
  expect(peakMb).toBeLessThan(200)
})

test('so is one that never ends', () => {
  const file = write('endless.jsonl', [prompt, ...longLine(600_000_000, '')])
  const { header: found, peakMb } = read(file)
  expect(found).toMatchObject({ firstPrompt: 'after it' })
  expect(peakMb).toBeLessThan(200)
})

test('ten million empty lines are no lines', () => {
  const file = write('empty.jsonl', [Buffer.alloc(10_000_000, '\n'), prompt])
  const { header: found, peakMb } = read(file)
  expect(found).toMatchObject({ lineCount: 1, firstPrompt: 'after it' })
  expect(peakMb).toBeLessThan(200)
})
