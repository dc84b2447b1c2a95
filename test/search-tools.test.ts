// Tool texts for which the search index has no room are found in the transcripts, as the index would find them.
import { mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import { openSearch } from '../src/compose/open-search.ts'
import type { SearchPart } from '../src/domain/search.ts'
import type { App } from '../src/operations/app.ts'
import { perform } from '../src/operations/all.ts'
import type { Caller } from '../src/operations/operation.ts'
import type { SearchOutput } from '../src/operations/search/search-sessions.ts'
import { readEnvironment } from '../src/store/config-file.ts'

let home: string
let app: App
let opened: App
let search: SearchPart
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent = (agentId: string): Caller => ({ via: 'mcp', scopes: ['read', 'write'], agentId })
const day = 86_400_000
const start = Date.parse('2026-11-10T10:00:00.000Z')

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-search-tools-'))
  mkdirSync(join(home, 'state'), { recursive: true })
  const config = {
    memory: { meaning: { use: 'none' } },
    agents: { list: [{ id: 'main', default: true }, { id: 'support' }] },
  }
  writeFileSync(join(home, 'state', 'rockpool.json'), JSON.stringify(config))
  opened = await openApp(readEnvironment({ HOME: home, ROCKPOOL_STATE_DIR: join(home, 'state') }), {
    version: '0.0.0-test',
  })
  // An index without room for a single tool text.
  search = openSearch(opened, undefined, { share: 0, leastBytes: 0 })
  app = { ...opened, search: () => search }
})
afterEach(async () => {
  await search.close()
  await opened.close()
  rmSync(home, { recursive: true })
})

const idOf = (n: number): string => `${String(n).padStart(8, '0')}-2222-4333-8444-555555555555`

type Part = string | { call: string; input: object } | { result: string } | { raw: string }

/** A session of Claude Code, last changed on the given day. */
function session(n: number, parts: Part[], repo = 'boats'): string {
  const folder = join(home, '.claude', 'projects', `-home-dev-${repo}`)
  mkdirSync(folder, { recursive: true })
  const path = join(folder, `${idOf(n)}.jsonl`)
  const lines = parts.map((part, i) => lineOf(n, part, start + n * day + i * 1_000, repo))
  writeFileSync(path, lines.map((line) => `${line}\n`).join(''))
  const changed = new Date(start + n * day + 3_600_000)
  utimesSync(path, changed, changed)
  return path
}

function lineOf(n: number, part: Part, at: number, repo: string): string {
  if (typeof part !== 'string' && 'raw' in part) return part.raw
  const about = { cwd: `/home/dev/${repo}`, sessionId: idOf(n), version: '2.1.325', gitBranch: 'main' }
  const role = typeof part !== 'string' && 'call' in part ? 'assistant' : 'user'
  const message = { role, content: contentOf(part) }
  const timestamp = new Date(at).toISOString()
  return JSON.stringify({ type: role, message, uuid: crypto.randomUUID(), timestamp, ...about })
}

function contentOf(part: Exclude<Part, { raw: string }>): unknown {
  if (typeof part === 'string') return part
  if ('call' in part) return [{ type: 'tool_use', id: 't', name: part.call, input: part.input }]
  return [{ type: 'tool_result', tool_use_id: 't', content: part.result }]
}

async function find(
  query: string,
  more: Record<string, unknown> = {},
  caller = operator,
): Promise<SearchOutput> {
  return (await perform(app, 'sessions.search', { query, ...more }, caller)) as SearchOutput
}

async function placesOf(query: string, more: Record<string, unknown> = {}): Promise<string[]> {
  const { hits } = await find(query, more)
  return hits.map(({ sessionId, line }) => `${Number(sessionId.slice(0, 8))}:${line}`)
}

test('an error message that only a tool printed is found, as any other hit is shown', async () => {
  const printed = 'npm ERR!\nENOSPC: no space left on device, write\nat Object.writeSync'
  session(1, ['please build it', { call: 'Bash', input: { command: 'make' } }, { result: printed }])
  session(2, ['no message has it', { result: 'all is well' }])
  for (const query of [
    'ENOSPC',
    'enospc device',
    '"no space left on device"',
    'nospc',
    'boats ENOSPC writes',
  ]) {
    const { hits, total, notes } = await find(query)
    expect([query, total, notes]).toEqual([query, 1, []])
    expect(hits).toMatchObject([
      { sessionId: idOf(1), role: 'tool', line: 3, source: 'native', branch: 'main' },
    ])
    expect(hits[0]!.snippet).toContain('ENOSPC: no space left')
    expect(hits[0]!.messageId).toBeDefined()
    expect(hits[0]!.matches.length).toBeGreaterThan(0)
  }
  expect((await find('ENOENT')).total).toBe(0)
  expect((await find('ENOSPC', { indexed: true })).total).toBe(0)
  expect((await find('"space no left"')).total).toBe(0)
})

test('--tool finds calls of the tool, and --role tool their inputs and results', async () => {
  session(1, [
    'run the gannet',
    { call: 'Bash', input: { command: 'gannet --fly' } },
    { call: 'Read', input: { file_path: '/gannet.ts' } },
    { result: 'It said: the gannet flies' },
  ])
  expect(await placesOf('gannet', { tool: 'Bash' })).toEqual(['1:2'])
  expect(await placesOf('gannet', { tool: 'read' })).toEqual(['1:3'])
  expect(await placesOf('gannet', { tool: 'Edit' })).toEqual([])
  expect((await placesOf('gannet', { role: 'tool' })).sort()).toEqual(['1:2', '1:3', '1:4'])
  expect(await placesOf('gannet', { role: 'user' })).toEqual(['1:1'])
  // Messages have the word: tools need not be asked.
  expect(await placesOf('gannet')).toEqual(['1:1'])
})

test('--file finds the sessions whose tools name the file, what was said there included', async () => {
  session(1, ['the puffin nests here', { call: 'Edit', input: { file_path: '/src/nest/a.ts' } }])
  session(2, ['the puffin nests there', { call: 'Edit', input: { file_path: '/src/nest/a.tsx' } }])
  session(3, ['a puffin in data.ts', { call: 'Edit', input: { file_path: '/src/nest/data.ts' } }])
  session(4, ['see a.ts for the puffin', { result: 'puffin of a tool' }])
  expect((await placesOf('puffin', { file: 'a.ts' })).sort()).toEqual(['1:1', '4:1', '4:2'])
  expect(await placesOf('puffin', { file: 'nest/a.tsx' })).toEqual(['2:1'])
  // A character that ends a text for SQLite.
  expect(await placesOf('puffin', { file: 'nest\0a.tsx' })).toEqual(['2:1'])
  expect(await placesOf('puffin', { tool: 'no\0tool' })).toEqual([])
  expect(await placesOf('pu[f]+in', { file: 'nest/a.ts', regex: true })).toEqual(['1:1'])
  // A message with the words comes first.
  expect((await placesOf('puffin', { file: 'a.ts' })).at(-1)).toBe('4:2')
})

test('a regular expression is tried on them, the newest first', async () => {
  for (const n of [1, 2, 3])
    session(n, ['hello', { call: 'Bash', input: { command: `x${n}` } }, { result: `exit code ${n}37` }])
  expect(await placesOf('exit code \\d37')).toEqual([])
  expect(await placesOf('exit code \\d37', { regex: true })).toEqual(['3:3', '2:3', '1:3'])
  expect(await placesOf('exit code \\d37', { regex: true, limit: 2 })).toEqual(['3:3', '2:3'])
  expect(await placesOf('x', { regex: true, tool: 'Bash' })).toEqual(['3:2', '2:2', '1:2'])
  expect(await placesOf('\\d37', { regex: true, until: '2026-11-13' })).toEqual(['2:3', '1:3'])
})

test('filters for repositories and times apply', async () => {
  session(1, ['hello', { result: 'the bittern booms' }], 'boats')
  session(2, ['hello', { result: 'the bittern booms again' }], 'ships')
  expect((await placesOf('bittern')).sort()).toEqual(['1:2', '2:2'])
  expect(await placesOf('bittern', { repo: '/home/dev/ships' })).toEqual(['2:2'])
  expect(await placesOf('bittern', { since: '2026-11-12' })).toEqual(['2:2'])
  expect(await placesOf('bittern', { until: '2026-11-12' })).toEqual(['1:2'])
  expect(await placesOf('bittern', { source: 'rockpool' })).toEqual([])
})

test('an agent finds tool texts of its own sessions only', async () => {
  const result = (text: string): object => ({ role: 'toolResult', content: [{ type: 'text', text }] })
  for (const agentId of ['main', 'support']) {
    const sessionId = `chat-${agentId}`
    const key = `agent:${agentId}:main`
    await opened.storage.sessions(agentId).update(key, (entry) => ({ updatedAt: 1, ...entry, sessionId }))
    const records = [{ type: 'message' as const, message: result(`the dotterel of ${agentId}`) as never }]
    await opened.storage.transcripts(agentId).append({ sessionId }, records, { cwd: '/', key })
  }
  session(1, ['hello', { result: 'the dotterel of nobody' }])
  expect((await find('dotterel')).total).toBe(3)
  for (const more of [{}, { role: 'tool' }, { regex: true }]) {
    const { hits, total, notes } = await find('dotterel', more, agent('support'))
    expect({ total, notes }).toEqual({ total: 1, notes: [] })
    expect(hits).toMatchObject([{ sessionId: 'chat-support', role: 'tool' }])
  }
  const named = await find('hello', { file: 'dotterel' }, agent('support'))
  expect(named).toMatchObject({ total: 0, hits: [] })
})

test('a secret in a tool text is neither found nor shown', async () => {
  const secret = 'sk-ant-api03-abcdefghijklmnopqrstuvwxyz0123456789'
  session(1, ['hello', { result: `the whinchat has ${secret} in its nest` }])
  const { hits } = await find('whinchat')
  expect(hits).toHaveLength(1)
  expect(JSON.stringify(hits)).not.toContain('abcdefghij')
  for (const query of [secret, 'abcdefghijklmnopqrstuvwxyz0123456789', 'api03'])
    expect([query, (await find(query)).total]).toEqual([query, 0])
  expect((await find('api03-\\w+', { regex: true })).total).toBe(0)
  expect((await find('hello', { file: 'api03' })).total).toBe(0)
})

test('damaged lines, and files that disappear, are passed over', async () => {
  const gone = session(1, ['hello', { result: 'the wheatear of one' }])
  session(2, [
    'hello',
    { raw: '{"type":"user","tool_result":"the wheatear' },
    { result: 'the wheatear of two' },
  ])
  await search.refresh()
  rmSync(gone)
  const { hits, total } = await search.search({ text: 'wheatear', role: 'tool' })
  expect(total).toBe(1)
  expect(hits).toMatchObject([{ sessionId: idOf(2), line: 3 }])
})

test('words in other scripts, with accents as they were written, and in other forms are found', async () => {
  const printed = [
    'échec de la mouette',
    'ПРИВЕТ, чайка',
    'カモメが飛ぶ',
    'retrying the tern',
    'parseJsonlHeader fails',
  ]
  printed.forEach((text, i) => session(i + 1, ['hello', { result: text }]))
  const escaped = JSON.stringify({
    type: 'user',
    message: { role: 'user', content: contentOf({ result: 'Straße' }) },
  })
  session(9, ['hello', { raw: escaped.replace('ß', '\\u00df') }])
  for (const [query, place] of [
    ['ÉCHEC', '1:2'],
    ['échec de', '1:2'],
    ['MOUETTE', '1:2'],
    ['привет', '2:2'],
    ['カモメ', '3:2'],
    ['retries tern', '4:2'],
    ['retr*', '4:2'],
    ['JsonlHead', '5:2'],
    ['straße', '9:2'],
  ])
    expect([query, await placesOf(query!)]).toEqual([query, [place]])
})

test('while the gateway follows, they are found too', async () => {
  session(1, ['hello', { result: 'the garganey swims' }])
  const stop = await search.follow()
  await expect.poll(() => placesOf('garganey'), { timeout: 10_000 }).toEqual(['1:2'])
  await stop()
})
