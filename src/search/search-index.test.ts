import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterEach, beforeEach, expect, test } from 'vitest'
import type { SearchFilter, SearchHit, SearchSource } from '../domain/search.ts'
import { SearchIndex } from './search-index.ts'
import { indexSources, paragraphsOf } from './index-files.ts'
import { search } from './ranked-search.ts'

let folder: string
let index: SearchIndex
const redact = (text: string): string => text.replaceAll('hunter2', '[redacted]')

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-memory-'))
  index = SearchIndex.open(join(folder, 'search.sqlite'))
})
afterEach(async () => {
  await index.close()
  rmSync(folder, { recursive: true })
})

function native(
  name: string,
  lines: Array<[role: 'user' | 'assistant', text: string]>,
  extra = '',
): SearchSource {
  const path = join(folder, `${name}.jsonl`)
  writeFileSync(path, lines.map(([role, text]) => nativeLine(role, text)).join('') + extra)
  return { kind: 'native', path, sessionId: name, repoPath: `/repo/${name}` }
}

function nativeLine(role: 'user' | 'assistant', text: string): string {
  const content = role === 'user' ? text : [{ type: 'text', text }]
  return `${JSON.stringify({ type: role, message: { role, content }, timestamp: '2026-11-01T10:00:00Z' })}\n`
}

async function find(text: string, filter: SearchFilter = {}): Promise<SearchHit[]> {
  return (await search({ index, redact, now: () => Date.parse('2026-11-15') }, text, filter)).hits
}

test('finds words, phrases, prefixes, accents folded and parts of identifiers, with the line they are on', async () => {
  const source = native('one', [
    ['user', 'Where does parseJsonlHeader read the café menu?'],
    ['assistant', 'In the scanner module, before the lunch break.'],
  ])
  await indexSources(index, [source], { redact })
  expect(await find('cafe')).toMatchObject([{ sessionId: 'one', line: 1, role: 'user', source: 'native' }])
  expect(await find('"lunch break"')).toMatchObject([{ line: 2, role: 'assistant' }])
  expect(await find('"break lunch"')).toEqual([])
  expect(await find('scann*')).toHaveLength(1)
  expect(await find('jsonl header')).toHaveLength(1)
  expect(await find('AND OR NOT ( " *')).toEqual([])
})

test('a transcript that another program wrote, with spaces, is found as well', async () => {
  const source = native('one', [
    ['user', 'about herons'],
    ['assistant', 'herons wade'],
  ])
  const spaced = readFileSync(source.path, 'utf8').replaceAll('":', '" : ').replaceAll(',"', ', "')
  writeFileSync(source.path, spaced)
  await indexSources(index, [source], { redact })
  expect(await find('herons')).toHaveLength(2)
})

test('a second look reads only what was appended, and forgets files that are gone', async () => {
  const source = native('one', [['user', 'first thought']])
  await indexSources(index, [source], { redact })
  appendFileSync(source.path, nativeLine('assistant', 'second thought'))
  const progress = await indexSources(index, [source], { redact })
  expect(progress).toMatchObject({ passages: 1, bytesRead: nativeLine('assistant', 'second thought').length })
  expect(await find('thought')).toHaveLength(2)
  await indexSources(index, [], { redact })
  expect(index.counts()).toMatchObject({ sources: 0, passages: 0 })
})

test('a replaced file is read again', async () => {
  const source = native('one', [['user', 'the old text about herons']])
  await indexSources(index, [source], { redact })
  rmSync(source.path)
  native('one', [['user', 'about gulls']])
  await indexSources(index, [source], { redact })
  expect(await find('herons')).toEqual([])
  expect(await find('gulls')).toHaveLength(1)
  // In its own place, and longer than it was.
  native('one', [['user', 'about terns, of which there is more to say than of any other bird']])
  await indexSources(index, [source], { redact })
  expect(await find('gulls')).toEqual([])
  expect(await find('terns')).toHaveLength(1)
})

test('a torn last line is left until it is whole', async () => {
  const whole = nativeLine('user', 'late arrival')
  const source = native('one', [['user', 'hello']], whole.slice(0, 30))
  await indexSources(index, [source], { redact })
  appendFileSync(source.path, whole.slice(30))
  await indexSources(index, [source], { redact })
  expect(await find('arrival')).toMatchObject([{ line: 2 }])
})

test('a secret is neither in the index nor in a snippet', async () => {
  await indexSources(index, [native('one', [['user', 'my password is hunter2, remember']])], { redact })
  expect(await find('hunter2')).toEqual([])
  expect((await find('password'))[0]?.snippet).toBe('my password is [redacted], remember')
})

test('an agent finds only its own, and filters narrow by repository, role and source', async () => {
  const mine = { ...native('mine', [['user', 'shared word']]), agentIds: ['main'] }
  const other = { ...native('other', [['assistant', 'a shared word']]), agentIds: ['support'] }
  await indexSources(index, [mine, other], { redact })
  expect(await find('shared')).toHaveLength(2)
  expect(await find('shared', { agentId: 'main' })).toMatchObject([{ sessionId: 'mine' }])
  expect(await find('shared', { repoPaths: ['/repo/other', '/repo/min'] })).toMatchObject([
    { sessionId: 'other' },
  ])
  expect(await find('shared', { role: 'assistant' })).toMatchObject([{ sessionId: 'other' }])
  expect(await find('shared', { source: 'memory' })).toEqual([])
})

test('memory files are found by paragraph with their line', async () => {
  const path = join(folder, 'MEMORY.md')
  writeFileSync(path, '# Notes\n\nThe boat is called Tern.\n\nThe harbour\nmaster is Ada.\n')
  await indexSources(index, [{ kind: 'memory', path, sessionId: 'MEMORY.md', agentIds: ['main'] }], {
    redact,
  })
  expect(await find('tern')).toMatchObject([{ line: 3, role: 'memory', snippet: 'The boat is called Tern.' }])
  expect(await find('master')).toMatchObject([{ line: 5, snippet: 'The harbour\nmaster is Ada.' }])
})

test('a private key with an empty line in it is one paragraph', () => {
  const key = '-----BEGIN RSA PRIVATE KEY-----\nDEK-Info: AES\n\nb3BlbnNz\n-----END RSA PRIVATE KEY-----'
  const paragraphs = paragraphsOf(Buffer.from(`before\n\n${key}\n\nafter\n`))
  expect(paragraphs.map(({ text, line }) => [line, text])).toEqual([
    [1, 'before'],
    [3, key],
    [9, 'after'],
  ])
})

test('two who read the same lines at once index them once', async () => {
  const source = native('one', [['user', 'the first line']])
  await indexSources(index, [source], { redact })
  appendFileSync(source.path, nativeLine('assistant', 'a later line'))
  const other = SearchIndex.open(join(folder, 'search.sqlite'))
  try {
    await Promise.all([index, other].map((each) => indexSources(each, [source], { redact })))
    expect(index.counts()).toMatchObject({ sources: 1, passages: 2 })
  } finally {
    await other.close()
  }
})

test("what was said in a chat is found there, not in Claude's copy of it", async () => {
  const chat = join(folder, 'chat.jsonl')
  const message = { role: 'assistant', content: [{ type: 'text', text: 'Low tide at six.' }] }
  const entry = { type: 'message', id: 'abcd1234', timestamp: '2026-11-01T10:00:00Z', message }
  writeFileSync(chat, `${JSON.stringify(entry)}\n`)
  const ours: SearchSource = { kind: 'rockpool', path: chat, sessionId: 'chat', sessionKey: 'agent:main:web' }
  const copy = native('copy', [['assistant', 'Low tide at six.']])
  for (const sources of [
    [ours, copy],
    [copy, ours],
  ])
    await indexSources(index, sources, { redact })
  expect(await find('tide')).toMatchObject([
    { source: 'rockpool', sessionKey: 'agent:main:web', messageId: 'abcd1234' },
  ])
})

test('an index of an earlier version is read again, into a small file', async () => {
  const words = Array.from({ length: 20_000 }, (_, i) => `word${i}`).join(' ')
  const source = native(
    'one',
    Array.from({ length: 20 }, (_, i) => ['user', `tern${i} ${words}`]),
  )
  await indexSources(index, [source], { redact })
  await index.close()
  const file = join(folder, 'search.sqlite')
  const large = statSync(file).size
  const db = new DatabaseSync(file)
  const { version } = db.prepare('SELECT user_version AS version FROM pragma_user_version()').get()!
  db.exec(`PRAGMA user_version = ${Number(version) - 1}`)
  db.close()
  await SearchIndex.open(file).close()
  expect(statSync(file).size).toBeLessThan(large / 2)
  index = SearchIndex.open(file)
  expect(index.isEmpty()).toBe(true)
  await indexSources(index, [source], { redact })
  expect(await find('tern7')).toHaveLength(1)
})
