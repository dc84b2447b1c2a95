import { expect, test } from 'vitest'
import type { Approval, Card, CodingRow, NativeSession } from './data.ts'
import { optionOf, startedText } from './parts/candidates.tsx'
import { changedFiles } from './parts/changes.tsx'
import { summaryOf } from './parts/cards.tsx'
import { askedCalls, inRuns, unfinishedIn } from './parts/conversation.tsx'
import { rulesFor, wordsFor } from './parts/decision.tsx'
import { named } from './read-cards.ts'
import { pathOf, routeOf } from './route.ts'
import { countsOf, groupOf, listRows, rowsOf } from './rows.ts'

const now = Date.now()

function coding(id: string, more: Partial<CodingRow> = {}): CodingRow {
  const row = { id, name: id, workdir: '/code/shop', status: 'running', state: 'working', stateText: 'do it' }
  return { ...row, lastActivityAt: now, costUsd: 1, pendingMessages: [], ...more } as CodingRow
}

function native(sessionId: string, more: Partial<NativeSession> = {}): NativeSession {
  const session = { sessionId, title: sessionId, repoPath: '/code/shop', branch: 'main', state: 'stopped' }
  const lastModified = new Date(now - 1000).toISOString()
  return { ...session, lastModified, firstMessage: '', costUsd: 2, archived: false, ...more } as NativeSession
}

const asks = { for: 'approval', since: now - 60_000, about: 'npm publish', approvalId: 'q1' } as const
const rows = rowsOf(
  [
    coding('asks', {
      state: 'needs you',
      stateText: 'npm publish',
      needsYou: true,
      waiting: asks,
      claudeSessionId: 'c-asks',
    }),
    coding('done', { state: 'ready' }),
    coding('works', { nextClaudeSessionId: 'c-works' }),
    coding('broke', { state: 'failed', needsYou: true, stateText: 'overloaded' }),
    coding('seen', { state: 'failed', needsYou: false, lastActivityAt: 1 }),
    coding('cut', { state: 'stopped', claudeSessionId: 'c-cut' }),
  ],
  [
    native('c-asks'),
    native('c-cut', { archived: true }),
    native('works'),
    native('c-works', { state: 'working' }),
    native('old'),
    native('live', { state: 'working' }),
  ],
  [{ id: 'q1', codingId: 'asks' } as Approval],
)
test('the message after a start says what happened', () => {
  const names = new Map([['c1', 'Paint the form']])
  const said = (action: 'fresh' | 'resume' | 'fork' | 'queue'): string =>
    startedText(optionOf({ action, sessionId: 'c1' }), 'h1', names)
  expect([said('fresh'), said('resume'), said('fork'), said('queue')]).toEqual([
    'h1 was started',
    'h1 continues Paint the form',
    'h1 was started as a fork of Paint the form',
    'h1 waits in the queue',
  ])
})

test('a session is named with the title that a person gave to it', () => {
  const [row] = rowsOf([coding('h1', { title: 'The hanging one' })], [], [])
  expect(row!.name).toBe('h1 (The hanging one)')
})

const namesIn = (found: typeof rows): string[] => found.map(({ name }) => name)

test('each session is one row with one state, and the inbox has first what needs a person', () => {
  const inbox = listRows(rows, { list: 'inbox' }, {})
  expect(inbox.map((row) => [row.name, row.state, groupOf(row)])).toEqual([
    ['asks', 'needs you', 'Needs you'],
    ['broke', 'failed', 'Failed'],
    ['done', 'ready', 'Ready for review'],
    ['works', 'working', 'Working'],
    ['live', 'working', 'Working'],
    ['old', 'stopped', 'Recent'],
    ['seen', 'failed', 'Recent'],
  ])
  expect(inbox[0]).toMatchObject({ at: asks.since, approval: { id: 'q1' }, now: 'npm publish' })
})

test('a resumed session keeps the title and the cost of its conversation; a fork has its own', () => {
  const before = native('c1', { title: 'Round money once', costUsd: 0.16 })
  const resumed = coding('continue', { claudeSessionId: 'c1', resumedFrom: 'c1', costUsd: 0 })
  expect(rowsOf([resumed], [before], [])).toMatchObject([{ name: 'Round money once', costUsd: 0.16 }])
  const fork = coding('fork', { claudeSessionId: 'c2', resumedFrom: 'c1', costUsd: 0 })
  expect(rowsOf([fork], [before, native('c2')], [])).toMatchObject([
    { name: 'fork', costUsd: 0 },
    { name: 'Round money once' },
  ])
})

test('the count of all sessions is what their list shows, and what was not loaded', () => {
  expect(countsOf(rows, 0).all).toBe(listRows(rows, { list: 'all' }, {}).length)
  expect(countsOf(rows, 7).all).toBe(listRows(rows, { list: 'all' }, {}).length + 7)
  expect(countsOf([...rows, ...rowsOf([], [native('c-old', { archived: true })], [])], 0)).toEqual(
    countsOf(rows, 0),
  )
})

test('a list is filtered by every word, sorted by a column in both directions, and shows archived rows on request', () => {
  expect(namesIn(listRows(rows, { list: 'all' }, { q: 'SHOP npm publish' }))).toEqual(['asks'])
  expect(namesIn(listRows(rows, { list: 'failed' }, {}))).toEqual(['broke', 'seen'])
  expect(namesIn(listRows(rows, { repo: '/code/shop' }, { sort: 'name' }))[0]).toBe('asks')
  expect(namesIn(listRows(rows, { repo: '/code/shop' }, { sort: '-name' }))[0]).toBe('works')
  expect(namesIn(listRows(rows, { list: 'all' }, {}, true))).toContain('cut')
  expect(namesIn(listRows(rows, { list: 'inbox' }, { sort: 'cost' }))[0]).toBe('asks')
})

test('an address names what is shown and how; an unknown one is said to be unknown', () => {
  for (const path of [
    '/',
    '/review',
    '/session/a/agent-b/c',
    '/project/%2Fa%2Fb/c.md',
    '/new',
    '/cost/model',
  ])
    expect(pathOf(routeOf(path))).toBe(path)
  for (const path of ['/nonsense/xyz', '/session', '/review/more']) expect(routeOf(path).view).toBe('unknown')
  expect(pathOf({ view: 'all' }, { q: 'a b', sort: '-cost' })).toBe('/all#q=a+b&sort=-cost')
})

const call = (n: number, name: string, input: Record<string, unknown> = {}): Card => ({
  kind: 'tool',
  at: n,
  uuid: `u${n}`,
  text: '',
  toolUseId: `t${n}`,
  tool: { name, input },
})
const result = (n: number, isError = false): Card => ({
  kind: 'result',
  at: n,
  text: '',
  toolUseId: `t${n}`,
  isError,
})

test('finished tool calls in a row are one line; one that runs, or that the address names, is not among them', () => {
  const cards = [call(1, 'Read'), call(2, 'Read'), call(3, 'Bash'), call(4, 'Bash')]
  const results = new Map([1, 2, 3].map((n) => [`t${n}` as string | undefined, result(n)]))
  const items = inRuns(named(cards), results, undefined)
  expect(items.map(({ key }) => key)).toEqual(['run u1', 'u4'])
  expect(summaryOf(cards.slice(0, 3))).toBe('2 reads, 1 command')
  expect(inRuns(named(cards), results, 'u2').map(({ key }) => key)).toEqual(['u1', 'u2', 'u3', 'u4'])
})

test('the changes of a session are by file, without the edits that failed', () => {
  const edit = (n: number, file_path: string): Card =>
    call(n, 'Edit', { file_path, old_string: 'a', new_string: 'b' })
  const cards = [
    edit(1, '/a'),
    edit(2, '/b'),
    result(2, true),
    edit(3, '/a'),
    call(4, 'Read', { file_path: '/c' }),
  ]
  expect(changedFiles(cards).map(({ path, inputs }) => [path, inputs.length])).toEqual([['/a', 2]])
})

test('a tool call without a result runs only while its session works', () => {
  expect(unfinishedIn('working', false)).toBe('runs')
  expect(unfinishedIn('needs you', true)).toBe('waits for you')
  for (const state of ['needs you', 'stopped', 'failed', 'ready', 'idle'] as const)
    expect(unfinishedIn(state, false)).toBe('has no result')
})

test('only the tool call that an open request names waits for a person', () => {
  const input = { command: 'npm publish' }
  const ls = { command: 'ls' }
  const cards = named([
    call(1, 'Bash', input),
    call(2, 'Bash', input),
    call(3, 'Bash', input),
    call(4, 'Bash', ls),
  ])
  const results = new Map([['t3' as string | undefined, result(3)]])
  const asked = (more: Partial<Approval>): string[] => [
    ...askedCalls(cards, results, [{ toolName: 'Bash', input, ...more } as Approval]),
  ]
  expect(asked({ toolUseId: 't1' })).toEqual(['u1'])
  expect(asked({ toolUseId: 'of a sub-agent' })).toEqual([])
  expect(asked({})).toEqual(['u2'])
  expect(asked({ input: ls })).toEqual(['u4'])
  expect(askedCalls(cards, results, []).size).toBe(0)
})

test('the field of a used-up budget takes an amount, not a note', () => {
  expect(wordsFor({ kind: 'budget' })).toEqual({
    field: 'Another amount in dollars (optional)',
    allow: 'Go on',
  })
  expect(wordsFor({ kind: 'tool' })).toEqual({ field: 'Note to Claude (optional)', allow: 'Allow once' })
})

test('the choices of a request are the rules that the gateway can add', () => {
  const labels = (rules: Approval['rules']): string[] => rulesFor({ rules }).map(([label]) => label)
  expect(labels(['exact'])).toEqual(['always exactly this, in this session'])
  expect(labels(['exact', 'edits'])).toContain('edits in this repository, always')
  expect(labels([])).toEqual([])
})
