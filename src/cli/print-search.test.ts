import { expect, test } from 'vitest'
import type { SearchOutput } from '../operations/search/search-sessions.ts'
import { cellWidth, type Page } from './print.ts'
import { findPrinter } from './printers.ts'

const printSearch = await findPrinter('sessions.search')

const now = Date.parse('2026-11-16T10:00:00Z')
const page: Page = { width: 200, color: false, now }
const id = '3f2a0000-0000-4000-8000-000000000001'
const hit: SearchOutput['hits'][number] = {
  sessionId: id,
  source: 'native',
  repoPath: '/home/dev/shop',
  branch: 'feature/login',
  role: 'assistant',
  line: 12,
  messageId: 'aaaaaaaa-0000-4000-8000-000000000002',
  snippet: 'before it\nthe login form is red\nafter it',
  matches: [[14, 19]],
  score: 1,
  at: now - 2 * 86_400_000,
  by: ['words'],
  path: '/x.jsonl',
  title: 'Paint the form',
  costUsd: 0.5,
}

test('each session is one line: id, age, repository, title and passage; reasons and commands come on request', () => {
  const second = { ...hit, line: 40, snippet: 'login again', role: 'user' as const, by: ['meaning' as const] }
  const note = {
    ...hit,
    source: 'memory' as const,
    sessionId: 'MEMORY.md',
    title: undefined,
    path: '/w/MEMORY.md',
  }
  const output = {
    tookMs: 3,
    total: 7,
    hits: [{ ...hit, why: ['login: 100 %'] }, note, second],
    notes: ['By word only.'],
  }
  expect(printSearch(output, page).split('\n')).toEqual([
    '3f2a0000  2 d ago    shop  Paint the form (+1)  before it the login form is red after it',
    'note      2 d ago    shop  MEMORY.md            before it the login form is red after it',
    '3 of 7 places in one session and one note, 3 ms',
    'By word only.',
  ])
  const asked = { ...page, input: { commands: true, explain: true } }
  expect(printSearch(output, asked).split('\n').slice(1, 6)).toEqual([
    '    score 1.00',
    '    login: 100 %',
    `    rockpool cc read 3f2a0000 --around ${hit.messageId}`,
    '    rockpool cc resume 3f2a0000 "…"',
    `    rockpool cc fork 3f2a0000 "…" --at-message ${hit.messageId}`,
  ])
})

test('a long age moves no column, and breaks no line of a narrow terminal', () => {
  const other = { ...hit, sessionId: '4f2a0000', at: now - 10 * 60_000 }
  const output = { tookMs: 3, total: 2, hits: [hit, other], notes: [] }
  const [first, second] = printSearch(output, { ...page, width: 60 }).split('\n')
  expect(second).toContain('10 min ago  shop  Paint')
  expect(first!.indexOf('shop')).toBe(second!.indexOf('shop'))
  expect(Math.max(cellWidth(first!), cellWidth(second!))).toBeLessThanOrEqual(60)
})

test('what a transcript names controls no terminal, and is one word of a command', () => {
  const hostile = { ...hit, sessionId: '\x1b]52;c;x', messageId: 'a; touch b\n$(id)' }
  const printed = printSearch(
    { tookMs: 3, total: 1, hits: [hostile], notes: [] },
    { ...page, input: { commands: true } },
  )
  expect(printed).not.toMatch(/[\x00-\x09\x0b-\x1f]/)
  expect(printed.split('\n')).toContain("    rockpool cc read '\\x1b]52;c;x' --around 'a; touch b $(id)'")
})

test('a near word is suggested below what was found, and where nothing was', () => {
  const output = { tookMs: 3, total: 0, hits: [], notes: ['Still reading.'], suggestion: 'flaky test' }
  const asked = ['Did you mean "flaky test"?', 'Still reading.']
  expect(printSearch(output, page).split('\n')).toEqual(['Nothing found.', ...asked])
  expect(
    printSearch({ ...output, total: 1, hits: [hit] }, page)
      .split('\n')
      .slice(-2),
  ).toEqual(asked)
})

test('a match after many letters without a space is shown, and the hint never breaks within a line', () => {
  const snippet = '昨日の夜に本番環境のサーバーでメモリが足りなくなりました Remember the list'
  const at = snippet.indexOf('メモリ')
  const output = {
    tookMs: 3,
    total: 1,
    hits: [{ ...hit, snippet, matches: [[at, at + 3] as [number, number]] }],
    notes: [],
  }
  const lines = (width: number): string[] =>
    printSearch(output, { ...page, width, interactive: true }).split('\n')
  for (const width of [60, 80]) {
    expect(lines(width)[0]).toContain('メモリ')
    for (const line of lines(width)) expect(cellWidth(line)).toBeLessThanOrEqual(width)
  }
  expect(lines(60).slice(1)).toEqual(['1 place in one session, 3 ms', '--commands shows how to open them'])
  expect(lines(80).slice(1)).toEqual(['1 place in one session, 3 ms; --commands shows how to open them'])
})

test('a long passage is cut around its first match, and fits the page', () => {
  const snippet = `${'before '.repeat(60)}the login form ${'after '.repeat(60)}`
  const at = snippet.indexOf('login')
  const long = { ...hit, snippet, matches: [[at, at + 5] as [number, number]] }
  const title = 'A title of a session that is longer than forty characters'
  const repoPath = '/home/dev/a-repository-with-a-rather-long-name'
  for (const [width, cut] of [
    [160, /  …before .*the login form after .*…$/],
    [80, /  A title of a se…  …the login form a.*…$/],
  ] as const) {
    const output = { tookMs: 3, total: 1, hits: [{ ...long, title, repoPath }], notes: [] }
    const [line] = printSearch(output, { ...page, width }).split('\n')
    expect(line).toMatch(cut)
    expect(line!.length).toBeLessThanOrEqual(width)
  }
})

test('the columns are aligned, and no line is wider than a narrow page, also with letters that are two cells wide', () => {
  const wide = {
    ...hit,
    sessionId: 'b',
    title: '本番環境でメモリリークが発生しています',
    repoPath: '/a/gateway',
  }
  const snippet = '接続プールが閉じられていませんでした。新しい接続を作成するたびにメモリが増えます。'
  const hits = [hit, { ...hit, line: 2 }, { ...wide, snippet, matches: [[6, 8] as [number, number]] }]
  const linesAt = (width: number): string[] =>
    printSearch({ tookMs: 1, total: 3, hits, notes: [] }, { ...page, width }).split('\n')
  for (const width of [60, 72, 100])
    expect(linesAt(width).filter((line) => cellWidth(line) > width)).toEqual([])
  const [first, second] = linesAt(120) as [string, string]
  expect(cellWidth(first.split('before it')[0]!)).toBe(cellWidth(second.split('接続プール')[0]!))
})

test('a chat is opened by its key; what matched is marked; control characters are shown', () => {
  const chat = { ...hit, source: 'rockpool' as const, sessionKey: 'agent:main:main', messageId: '0000000a' }
  const output = {
    tookMs: 3,
    total: 1,
    hits: [{ ...chat, snippet: 'the red \u001b[2J form', matches: [[4, 7] as [number, number]] }],
    notes: [],
  }
  const input = { commands: true }
  const printed = printSearch(output, { ...page, color: true, input })
  expect(printed).toContain('rockpool history agent:main:main')
  expect(printed).toContain('the \u001b[33mred\u001b[39m')
  expect(printed).not.toContain('\u001b[2J')
  expect(printed).toContain('1 place in one session')
  const aside = { ...output, hits: [{ ...output.hits[0]!, sessionKey: undefined }] }
  expect(printSearch(aside, { ...page, input })).toContain(`  rockpool sessions restore ${id}\n`)
  expect(printSearch({ tookMs: 1, total: 0, hits: [], notes: [] }, page)).toBe('Nothing found.')
})

test('a name that was asked for is not written into the terminal as it is', () => {
  const notes = ['There is no agent "\u202emain" here.']
  expect(printSearch({ tookMs: 3, total: 0, hits: [], notes }, page)).toBe(
    'Nothing found.\nThere is no agent "\\u202emain" here.',
  )
})

test('whole words are marked, not parts of others, and the marker of a program is left out', () => {
  const snippet = '[openclaw:agent=main] migrate the rate table'
  const at = (word: string): [number, number] => [snippet.indexOf(word), snippet.indexOf(word) + 4]
  const matches = [[28, 32] as [number, number], at('rate table')]
  const output = { tookMs: 1, total: 1, hits: [{ ...hit, snippet, matches }], notes: [] }
  const printed = printSearch(output, { ...page, color: true })
  expect(printed).toContain('migrate the \u001b[33mrate\u001b[39m table')
  expect(printed).not.toContain('openclaw')
})
