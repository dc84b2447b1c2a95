import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import { searchOfHistory, writeWorkHistory } from '../../test/support/selection-history.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { FindInSessions } from '../domain/selection.ts'
import { evaluateSelection } from './evaluate.ts'
import type { ConversationRecord } from './conversation-records.ts'
import { conversationRecords } from './conversation-records.ts'

const folder = mkdtempSync(join(tmpdir(), 'rockpool-evaluate-'))
afterAll(() => rmSync(folder, { recursive: true }))

const minute = 60_000
const start = Date.UTC(2026, 10, 1)

type Line = [minutes: number, text: string, branch?: string]

/** A transcript as Claude Code writes it: a prompt and an answer each. */
function transcript(
  sessionId: string,
  lines: Line[],
  about: Partial<DiscoveredSession> = {},
): DiscoveredSession {
  const records = lines.flatMap(([minutes, text, branch = 'main']) => {
    const at = (plus: number) => new Date(start + minutes * minute + plus).toISOString()
    const rest = { isSidechain: false, sessionId, gitBranch: branch, cwd: '/repo' }
    return [
      { type: 'user', message: { role: 'user', content: text }, timestamp: at(0), ...rest },
      {
        type: 'assistant',
        message: { id: `m${minutes}`, content: [{ type: 'text', text: 'Done.' }] },
        timestamp: at(1_000),
        ...rest,
      },
    ]
  })
  const filePath = join(folder, `${sessionId}.jsonl`)
  writeFileSync(filePath, records.map((record) => `${JSON.stringify(record)}\n`).join(''))
  return discoveredSession({
    sessionId,
    filePath,
    firstMessage: lines[0]![1],
    messageCount: records.length,
    ...about,
  })
}

function evaluate(sessions: DiscoveredSession[], find?: FindInSessions) {
  const discovery = { list: async () => ({ total: sessions.length, sessions }) }
  return evaluateSelection(discovery, { threshold: 0.6, find })
}

test('history is replayed: sessions that were resumed or started, and what each rule would have chosen', async () => {
  const login = transcript('login', [
    [0, 'Repair the login form'],
    [5, 'Also the password field'], // the same sitting: nothing was chosen
    [300, 'Repair the login form again'], // came back from the manual
  ])
  const manual = transcript('manual', [
    [60, 'Write the manual chapter', 'docs'], // a new session
    [400, 'Write another manual chapter', 'docs'], // came back from the login
  ])
  const found = await evaluate([login, manual])
  expect(found).toMatchObject({ decisions: 3, resumed: 2, fresh: 1, sessions: 2, repositories: 1, notes: [] })
  expect(found.results).toEqual([
    { method: 'selection', hitRate: 1, mrr: 1, agreement: 1 },
    // It always says "the one before", which was the wrong one both times.
    { method: 'most recent', hitRate: 0, mrr: 0.5, agreement: 0 },
    { method: 'keywords', hitRate: 1, mrr: 1, agreement: 1 },
  ])
})

test('over a made history of twelve matters it finds what was resumed more often than either plain rule', async () => {
  const { sessions, resumed, begun } = writeWorkHistory(folder)
  const found = await evaluate(sessions)
  expect(found).toMatchObject({
    decisions: resumed + begun,
    resumed: 108,
    fresh: 11,
    sessions: 12,
    notes: [],
  })
  const rounded = found.results.map(({ method, hitRate, mrr }) => [
    method,
    hitRate.toFixed(2),
    mrr.toFixed(2),
  ])
  expect(rounded).toEqual([
    ['selection', '0.86', '0.93'],
    ['most recent', '0.11', '0.35'],
    ['keywords', '0.79', '0.83'],
  ])
})

test('the search finds a task in what was said later than the first message, and before the choice', async () => {
  const tower = transcript('tower', [
    [0, 'Write the invoices'],
    [5, 'The lamp of the lighthouse flickers at night'],
    [300, 'Replace the flickering lighthouse lamp'],
  ])
  const others = transcript('others', [
    [60, 'Paint the boat'],
    [65, 'Sand the boat before that'],
  ])
  const { find, close } = await searchOfHistory(folder, [tower, others])
  expect((await evaluate([tower, others])).results[0]).toMatchObject({ method: 'selection', hitRate: 0 })
  const found = await evaluate([tower, others], find)
  expect(found.results).toMatchObject([
    { method: 'selection', hitRate: 1 },
    { method: 'most recent', hitRate: 0 },
    { method: 'keywords', hitRate: 0 },
  ])
  const lamp = 'Replace the flickering lighthouse lamp'
  expect([...(await find(lamp, ['tower'], start + 5 * minute)).keys()]).toEqual([])
  await close()
})

test('a session is scored as it was at that time, not as it is now', async () => {
  // At minute 100 the first session was unrelated and on another branch; what came later must not help it.
  const first = transcript('first', [
    [0, 'Old things', 'old'],
    [500, 'Totally fresh business matters', 'main'],
  ])
  const second = transcript('second', [[100, 'Totally fresh business matters', 'main']])
  const found = await evaluate([first, second])
  expect(found.decisions).toBe(2)
  // The first decision was fresh, and the selection agrees; the second went back to `first` against every sign.
  expect(found.results[0]).toMatchObject({ method: 'selection', hitRate: 0, mrr: 0.5, agreement: 0.5 })
})

test('a fork continues the session that it was copied from', async () => {
  const original = transcript('original', [
    [0, 'Repair the login form'],
    [100, 'Repair the login form further'],
  ])
  const fork = transcript(
    'fork',
    [
      [0, 'Repair the login form'],
      [200, 'Repair the login form differently'],
    ],
    { forkedFrom: 'original' },
  )
  const found = await evaluate([fork, original])
  expect(found).toMatchObject({ decisions: 2, resumed: 2, fresh: 0 })
})

test('no history is no reason to fail, and an unreadable file is named', async () => {
  expect(await evaluate([])).toMatchObject({ decisions: 0, results: expect.any(Array) })
  const gone = discoveredSession({ sessionId: 'gone', filePath: join(folder, 'gone.jsonl') })
  expect((await evaluate([gone])).notes).toEqual([expect.stringContaining('gone: ')])
})

test('messages are distinguished from records that the program wrote', async () => {
  const filePath = join(folder, 'spoken.jsonl')
  const user = (content: unknown, more = {}) => ({
    type: 'user',
    message: { content },
    timestamp: '2026-11-01T00:00:00.000Z',
    ...more,
  })
  const records = [
    { type: 'queue-operation', content: 'x' },
    user('[openclaw:agent=main]\n\nAdd a helper', { gitBranch: 'main' }),
    user('Caveat: …', { isMeta: true }),
    user('<command-name>/clear</command-name>'),
    user([{ type: 'tool_result', tool_use_id: 't', content: 'ok' }]),
    user([
      { type: 'text', text: 'two' },
      { type: 'text', text: 'blocks' },
    ]),
    user('summary', { isCompactSummary: true }),
    user('sub-agent', { isSidechain: true }),
    { type: 'system', subtype: 'compact_boundary' },
    { type: 'system', subtype: 'stop_hook_summary', content: '"type":"user"' },
    { type: 'assistant', message: { content: [{ type: 'tool_use', id: 't' }] } },
    { type: 'assistant', message: { content: [{ type: 'text', text: 'Done.' }] } },
    {
      type: 'assistant',
      isApiErrorMessage: true,
      message: { content: [{ type: 'text', text: 'Overloaded' }] },
    },
  ]
  const text = `${records.map((record) => JSON.stringify(record)).join('\n')}\nnot json "type":"user"\n{"type":"user","mess`
  writeFileSync(filePath, text)
  const spoken: ConversationRecord[] = []
  for await (const one of conversationRecords(filePath)) spoken.push(one)
  expect(spoken.map(({ kind, text }) => (text && kind !== 'other' ? `${kind}: ${text}` : kind))).toEqual([
    'prompt: Add a helper',
    'other',
    'other',
    'other',
    'prompt: two\nblocks',
    'other',
    'compaction',
    'other',
    'answer: Done.',
    'other',
  ])
})

test('a large transcript does not keep others waiting', async () => {
  const filePath = join(folder, 'large.jsonl')
  const record = {
    type: 'user',
    message: { content: 'x'.repeat(2_000) },
    timestamp: '2026-11-01T00:00:00.000Z',
  }
  writeFileSync(filePath, `${JSON.stringify(record)}\n`.repeat(10_000))
  let turns = 0
  const timer = setInterval(() => turns++, 1)
  let count = 0
  for await (const _ of conversationRecords(filePath)) count++
  clearInterval(timer)
  expect(count).toBe(10_000)
  expect(turns).toBeGreaterThan(2)
})
