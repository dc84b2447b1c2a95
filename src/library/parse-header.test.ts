import { mkdtempSync, readFileSync, rmSync, writeFileSync, appendFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { originMarkerOf } from '../discovery/transcript-facts.ts'
import { parseJsonlHeader } from './parse-header.ts'
import { TranscriptScanner } from '../discovery/transcript-scanner.ts'
import { EditTable } from '../discovery/edit-table.ts'
import { UsageTable } from '../discovery/usage-table.ts'

interface Truth {
  file: string
  lines: number
  userAssistant: number
  firstUserLine: number
  firstUser?: string
  marker?: string
  branches: string[]
  compactions: number
  tokens: { input: number; output: number; cacheRead: number; cacheCreate: number }
  costStateUSD?: number
  slug?: string
  version?: string
  entrypoint?: string
  torn?: boolean
}

const fixtures = join(import.meta.dirname, '../../test/fixtures/claude-code')
const truth: Truth[] = JSON.parse(readFileSync(join(fixtures, 'truth.json'), 'utf8'))
const folder = mkdtempSync(join(tmpdir(), 'rockpool-header-'))
afterAll(() => rmSync(folder, { recursive: true }))

function write(name: string, content: string | Buffer): string {
  const file = join(folder, name)
  writeFileSync(file, content)
  return file
}

const reply = (id: string, output: number, more: Record<string, unknown> = {}): string =>
  JSON.stringify({
    type: 'assistant',
    timestamp: '2026-11-15T19:50:00.000Z',
    requestId: `req_${id}`,
    message: {
      id,
      role: 'assistant',
      model: 'claude-sonnet-4-5-20250929',
      content: [],
      usage: { input_tokens: 1, output_tokens: output },
    },
    ...more,
  })

test.each(truth)(
  '$file gives the values of truth.json: compactions and tokens as they are (3.9 no. 7, 8)',
  async (expected) => {
    const header = await parseJsonlHeader(join(fixtures, expected.file))
    expect({
      lines: header.lineCount,
      userAssistant: header.messageCount,
      firstUserLine: header.firstUserLine,
      firstUser: header.firstUserMessage?.slice(0, 90),
      marker: header.originMarker,
      branches: header.branches,
      compactions: header.compactionCount,
      tokens: {
        input: header.totalInputTokens,
        output: header.totalOutputTokens,
        cacheRead: header.cacheReadTokens,
        cacheCreate: header.cacheCreationTokens,
      },
      costStateUSD: header.reportedCostUsd,
      slug: header.slug,
      version: header.version,
      entrypoint: header.entrypoint,
      torn: header.torn || undefined,
    }).toEqual({
      lines: expected.lines,
      userAssistant: expected.userAssistant,
      firstUserLine: expected.firstUserLine,
      firstUser: expected.firstUser,
      marker: expected.marker,
      branches: expected.branches,
      compactions: expected.compactions,
      tokens: expected.tokens,
      costStateUSD: expected.costStateUSD,
      slug: expected.slug,
      version: expected.version,
      entrypoint: expected.entrypoint,
      torn: expected.torn,
    })
  },
)

test.each(truth.filter((t) => t.lines > 3))('$file read in two halves gives the same', ({ file }) => {
  const bytes = readFileSync(join(fixtures, file))
  const whole = new TranscriptScanner().scan(join(fixtures, file))
  const grown = write('grown.jsonl', bytes.subarray(0, Math.floor(bytes.length / 2)))
  const scanner = new TranscriptScanner()
  const half = scanner.scan(grown)
  appendFileSync(grown, bytes.subarray(Math.floor(bytes.length / 2)))
  // As the index keeps it: facts as text, usage as bytes.
  const facts = JSON.parse(JSON.stringify(half.facts))
  const second = scanner.scan(grown, {
    facts,
    usage: new UsageTable(half.usage.pack()),
    edits: new EditTable(half.edits.pack()),
    mark: half.mark,
  })
  expect(second.facts).toEqual({ ...whole.facts, costUsd: expect.closeTo(whole.facts.costUsd, 9) })
  expect(second.edits.edits).toEqual(whole.edits.edits)
  expect(second.tornTail).toBe(whole.tornTail)
})

test('the first prompt is no command and the first message of a cleared session is what was asked', async () => {
  const header = await parseJsonlHeader(
    join(fixtures, 'projects/-home-dev-projects-demo/d3031e59-cad6-4d4a-872a-9f81f563a249.jsonl'),
  )
  expect(header.firstPrompt).toBe('Thanks, anything else?')
})

test('of repeated lines of a message the one with most output counts, wherever it stands', async () => {
  const file = write('repeat.jsonl', [reply('a', 5), reply('a', 50), reply('a', 7), reply('b', 1)].join('\n'))
  const header = await parseJsonlHeader(file)
  expect(header.totalOutputTokens).toBe(51)
  expect(header.totalInputTokens).toBe(2)
})

test('usage inside a tool call is not counted, nor what a message quotes', async () => {
  const usage = { input_tokens: 900, output_tokens: 900 }
  const message = {
    id: 'x',
    role: 'assistant',
    model: 'm',
    content: [
      { type: 'tool_use', input: { usage, message: { usage } } },
      { type: 'text', text: '"usage":{"input_tokens":5}' },
    ],
    usage: { input_tokens: 1, output_tokens: 2 },
  }
  const file = write('nested.jsonl', `${reply('q', 0, { message })}\n`)
  const header = await parseJsonlHeader(file)
  expect([header.totalInputTokens, header.totalOutputTokens]).toEqual([1, 2])
})

test('odd files are read as far as they can be', async () => {
  const line = reply('a', 5)
  const crlf = await parseJsonlHeader(write('crlf.jsonl', `\uFEFF${line}\r\n${reply('b', 5)}\r\n`))
  expect([crlf.lineCount, crlf.totalOutputTokens]).toEqual([2, 10])
  const nul = await parseJsonlHeader(write('nul.jsonl', `\0\0\0\n${line}\n\n\n   \n${line}`))
  expect([nul.lineCount, nul.totalOutputTokens]).toEqual([2, 5])
  const separator = reply('c', 3, { cwd: '/a\u2028b' })
  const u2028 = await parseJsonlHeader(write('u2028.jsonl', separator))
  expect([u2028.lineCount, u2028.totalOutputTokens]).toEqual([1, 3])
  const utf16 = await parseJsonlHeader(write('utf16.jsonl', Buffer.from(`${line}\n${line}\n`, 'utf16le')))
  expect(utf16.totalOutputTokens).toBe(0)
  const empty = await parseJsonlHeader(write('empty.jsonl', ''))
  expect(empty.lineCount).toBe(0)
})

test('a line longer than the limit is counted and passed over in bounded memory, the rest is read', async () => {
  const long = `{"type":"user","message":{"role":"user","content":"${'x'.repeat(20 << 20)}"}}`
  const file = write('long.jsonl', `${reply('a', 5)}\n${long}\n${reply('b', 5)}\n`)
  const scanner = new TranscriptScanner()
  const before = process.memoryUsage().arrayBuffers
  const { facts } = scanner.scan(file)
  expect([facts.lineCount, facts.messageCount, facts.outputTokens]).toEqual([3, 3, 10])
  // Half of what it would take to hold the line: buffers grow by four.
  expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(40 << 20)
  expect(scanner.scan(file).facts.lineCount).toBe(3)
})

test('many empty lines cost nothing', async () => {
  const file = write('empties.jsonl', Buffer.concat([Buffer.alloc(1 << 20, 10), Buffer.from(reply('a', 5))]))
  expect((await parseJsonlHeader(file)).totalOutputTokens).toBe(5)
})

test('a marker in a message is found, and no more than a hint', () => {
  expect(originMarkerOf('[openclaw:agent=admin] hi')).toBe('admin')
  expect(originMarkerOf('hi')).toBeUndefined()
})
