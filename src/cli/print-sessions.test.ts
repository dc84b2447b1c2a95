import { expect, test } from 'vitest'
import type { SessionRowOutput } from '../operations/sessions/session-row.ts'
import { cellWidth } from './print.ts'
import { findPrinter } from './printers.ts'

const printList = await findPrinter('sessions.list')
const printStatus = await findPrinter('sessions.status')
const printKey = await findPrinter('sessions.resolve')
const printLost = await findPrinter('sessions.lost')
const printHistory = await findPrinter('sessions.history')
const printExport = await findPrinter('sessions.export')

const page = { width: 100, color: false, now: 1_000_000_000 }
const row: SessionRowOutput = {
  key: 'agent:main:telegram:direct:42',
  agentId: 'main',
  kind: 'direct',
  sessionId: '08ef14de-0000-4000-8000-000000000000',
  updatedAt: page.now - 60_000,
  ageMs: 60_000,
  origin: undefined,
  deliveryContext: undefined,
  lastThreadId: undefined,
  model: 'claude-opus-5',
  totalTokens: 58_000,
  contextTokens: 200_000,
  estimatedCostUsd: 1.5,
}

test.each([40, 60, 80])('a list of sessions fits %i columns and keeps name and age', (width) => {
  const other = { ...row, agentId: 'work', label: 'a label of some length' }
  for (const sessions of [[row], [row, other]]) {
    const text = printList({ sessions, total: 2, count: 2 }, { ...page, width })
    for (const line of text.split('\n')) expect(cellWidth(line)).toBeLessThanOrEqual(width)
    expect(text).toMatch(/^SESSION .*ACTIVE/)
    expect(text).toContain('1 min ago')
    expect(text.includes('MODEL')).toBe(width === 80)
  }
})

test('the history marks an answer that was stopped before its end', () => {
  const content = [{ type: 'text', text: 'One, two' }]
  const message = { role: 'assistant', content, stopReason: 'aborted', timestamp: 0 }
  const entry = { type: 'message', id: 'a', parentId: null, timestamp: '2026-01-01T00:00:00Z', message }
  const text = printHistory({ key: 'agent:main:main', entries: [entry], damage: [] }, page)
  expect(text).toMatch(/assistant\n {2}One, two\n.* stopped before its end$/)
})

test('an empty list says whether nothing is there or nothing fits', () => {
  const nothing = { sessions: [], total: 0, count: 0 }
  expect(printList(nothing, page)).toContain('`rockpool chat` starts one')
  expect(printList(nothing, { ...page, input: { search: 'x' } })).toBe('No session matches.')
  expect(printList(nothing, { ...page, input: { archived: true } })).toContain('rockpool sessions archives')
})

const newYear = new Date('2026-01-01T00:00:00Z').toLocaleString('sv-SE')

test('how a session stands is a few lines, its key alone is one, and what a compaction removed is readable', () => {
  expect(printStatus(row, page).split('\n')[0]).toMatch(/^Key +agent:main:telegram:direct:42$/)
  expect(printStatus(row, page)).toMatch(/Context +58k 29%/)
  expect(printKey(row, page)).toBe(row.key)
  const lost = { key: row.key, compactions: 1, total: 2 }
  const lines = [{ role: 'user', text: 'the harbour\u001b[2J', at: '2026-01-01T00:00:00Z' }]
  expect(printLost({ ...lost, lines }, page)).toBe(
    `${newYear} user\n  the harbour\\x1b[2J\nThe last 1 of 2; --limit shows more.`,
  )
  expect(printLost({ ...lost, lines: [] }, page)).toContain('has these words')
  expect(printLost({ ...lost, compactions: 0, lines: [] }, page)).toContain('was never compacted')
})

test('a history says when in the time of this machine, and when there is nothing', () => {
  const entry = (timestamp: string) => ({ type: 'compaction', timestamp, summary: 'short' })
  const print = (timestamp: string) =>
    printHistory({ key: 'main', entries: [entry(timestamp)], damage: [] }, page)
  expect(print('2026-01-01T01:00:00+01:00')).toBe(`${newYear} compacted\n  short`)
  expect(print('\u001b[2J')).toBe('- compacted\n  short')
  const nothing = { key: 'agent:main:main', entries: [], damage: [] }
  expect(printHistory(nothing, page)).toBe('Nothing was said in agent:main:main yet.')
  expect(printHistory(nothing, { ...page, following: true })).toBe('')
})

test('an export is the text itself in a file, and harmless in a terminal', () => {
  const text = 'a\u001b[2Jb\n'
  expect(printExport({ text }, page)).toBe('a\u001b[2Jb')
  expect(printExport({ text }, { ...page, interactive: true })).toBe('a\\x1b[2Jb')
})
