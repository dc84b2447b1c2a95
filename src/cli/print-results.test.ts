import { expect, test } from 'vitest'
import { findPrinter } from './printers.ts'

const printArchives = await findPrinter('sessions.archives')
const printCleanup = await findPrinter('sessions.cleanup')
const printCompacted = await findPrinter('sessions.compact')
const printDeleted = await findPrinter('sessions.delete')
const printForked = await findPrinter('sessions.fork')
const printImported = await findPrinter('sessions.import')
const printTurns = await findPrinter('turns.list')
const page = { width: 100, color: false, now: 1_000_000_000 }
const key = 'agent:main:main'

test('what was done is one sentence, with the way back', () => {
  expect(printCompacted({ key, compacted: true, kept: 40 }, page)).toBe(
    'Compacted agent:main:main: 40 entries are left.',
  )
  expect(printCompacted({ key, compacted: false, kept: 0, reason: 'Nothing to compact.' }, page)).toBe(
    'agent:main:main is unchanged. Nothing to compact.',
  )
  expect(printDeleted({ key, archived: ['a.jsonl.deleted.1'] }, page)).toBe(
    'agent:main:main is deleted. `rockpool sessions restore a.jsonl.deleted.1` brings it back.',
  )
  const fork = {
    key: 'agent:main:explicit:2',
    entry: { sessionId: 'b', label: 'try\u001b[2J' },
    parentKey: key,
  }
  expect(printForked(fork, page)).toBe('Forked agent:main:main as agent:main:explicit:2, called try\\x1b[2J.')
})

test('where permissions are asked for is said in words', async () => {
  const print = await findPrinter('cc.quiet')
  const text = 'Permissions of this session are asked for in its terminal only.'
  expect(print({ sessionId: 'a', quiet: true, text }, page)).toBe(text)
})

test('a cleanup says what it did or would do, and what failed', () => {
  const agent = { agentId: 'main', orphans: [], archives: [{}], bytes: 2048, bytesAfter: 1024 }
  const plan = { ...agent, sessions: [{}, {}], failed: ['x is busy'] }
  const text = printCleanup({ dryRun: true, agents: [plan] }, page)
  expect(text).toContain('main: plan: 2 sessions and 0 orphaned transcripts archived, 1 archives removed')
  expect(text).toContain('(2.0 KB, then 1.0 KB)')
  expect(text).toContain('x is busy')
  expect(text).toContain('--enforce does it')
  const nothing = { ...agent, archives: [], sessions: [], failed: [] }
  expect(printCleanup({ dryRun: false, agents: [nothing] }, page)).toBe('main: nothing to clean up.')
})

test('an import says what it found and what it left alone', () => {
  const counts = { found: 3, added: 1, changed: 0, kept: 2 }
  const agents = [
    { agentId: 'main', sessions: counts, transcripts: counts, problems: ['one row is damaged'] },
  ]
  const text = printImported({ from: '/o', dryRun: false, agents }, page)
  expect(text).toContain('main: 3 sessions found: 1 new, 0 changed, 2 kept as they are here; 3 transcripts')
  expect(text).toContain('! one row is damaged')
  expect(printImported({ from: '/o', dryRun: false, session: { key, entries: 4, damage: [] } }, page)).toBe(
    'Imported agent:main:main with 4 entries.',
  )
})

test('turns and archives are tables that fit', () => {
  const usage = { input: 1500, output: 20 }
  const times = { startedAt: page.now - 60_000, endedAt: page.now - 58_000 }
  const turn = { lane: key, end: 'completed', model: 'claude-opus-5', usage, costUsd: 0.5, ...times }
  expect(printTurns({ turns: [turn] }, page)).toMatch(
    /main +1 min ago +2 s +completed +1\.5k +20 +\$0\.50 +opus-5$/,
  )
  expect(printTurns({ turns: [] }, page)).toBe('No turn has ended yet.')
  const archive = {
    name: 'n',
    agentId: 'main',
    sessionId: '08ef14de-1',
    reason: 'reset',
    at: 0,
    bytes: 9,
  } as const
  const text = printArchives({ total: 2, archives: [{ ...archive, key }] }, page)
  expect(text).toMatch(/agent:main:main +08ef14de +reset/)
  expect(text).toContain('1 of 2.')
})
