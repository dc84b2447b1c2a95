import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../app.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { readEnvironment } from '../../store/config-file.ts'
import type { App } from '../app.ts'
import { sessionRecord } from '../../domain/discovered-session.ts'
import { operations } from './cc.ts'
import { perform } from '../all.ts'
import type { Caller } from '../operation.ts'

const fixtures = join(import.meta.dirname, '../../../test/fixtures/claude-code')
const home = mkdtempSync(join(tmpdir(), 'rockpool-cc-'))
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const agent: Caller = { via: 'mcp', scopes: ['read', 'write'], agentId: 'main' }
let app: App

beforeAll(async () => {
  app = await openApp(readEnvironment({ HOME: home, CLAUDE_CONFIG_DIR: fixtures }), { version: 'test' })
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

type List = { total: number; sessions: Array<DiscoveredSession & { lastModified: unknown }> }
const list = async (input: Record<string, unknown>, caller = operator): Promise<List> =>
  (await perform(app, 'cc.list', input, caller)) as List
const costs = async (input: Record<string, unknown>): Promise<{ totals: { outputTokens: number } }> =>
  (await perform(app, 'cc.costs', input, operator)) as { totals: { outputTokens: number } }

test('every session is listed as its schema says, with times as text', async () => {
  const { total, sessions } = await list({})
  expect([total, sessions.length]).toEqual([30, 30])
  for (const session of sessions) expect(() => sessionRecord.parse(session)).not.toThrow()
  expect(sessions[0]!.lastModified).toMatch(/^2026-11-15T.*Z$/)
})

test.each([
  [{ repo: '/home/dev/projects/demo' }, 26],
  [{ repo: 'demo' }, 26],
  [{ repo: 'dem' }, 0],
  [{ repo: '/home/dev/projects/demo', search: 'explain CODE' }, 2],
  [{ search: 'renamed demo' }, 1],
  [{ source: 'native-only' }, 30],
  [{ source: 'openclaw' }, 0],
  [{ running: true }, 0],
  [{ agent: 'main' }, 1],
  [{ archived: true }, 1],
  [{ archived: false }, 29],
])('cc.list with %j finds %i', async (input, count) => {
  expect((await list(input)).total).toBe(count)
})

test('a list without archived sessions says how many it left out', async () => {
  expect(await list({ archived: false, limit: 5 })).toMatchObject({ total: 29, archivedLeftOut: 1 })
  expect(await list({ limit: 5 })).not.toHaveProperty('archivedLeftOut', expect.any(Number))
})

test('a limit cuts the list and not the total, and pages do not overlap', async () => {
  const first = await list({ limit: 10 })
  const second = await list({ limit: 10, offset: 10 })
  expect([first.total, first.sessions.length, second.sessions.length]).toEqual([30, 10, 10])
  const ids = new Set([...first.sessions, ...second.sessions].map((session) => session.sessionId))
  expect(ids.size).toBe(20)
})

test.each([
  ['cost', '00000008'],
  ['tokens', '00000008'],
  ['messages', '00000008'],
  ['size', '00000008'],
  ['recent', '0000001c'],
])('sorted by %s, %s comes first', async (sort, id) => {
  expect((await list({ sort, limit: 1 })).sessions[0]!.sessionId).toMatch(new RegExp(`^${id}`))
})

test('an agent sees its own sessions and no others', async () => {
  expect((await list({}, agent)).sessions.map((session) => session.sessionId)).toEqual([
    '00000019-0000-4000-8000-00000000000a',
  ])
  await expect(list({ agent: 'reviewer' }, agent)).rejects.toMatchObject({ code: 'forbidden' })
  await expect(perform(app, 'cc.info', { id: '00000002' }, agent)).rejects.toMatchObject({
    code: 'not-found',
  })
  await expect(perform(app, 'cc.repair', { id: '00000018' }, agent)).rejects.toMatchObject({
    code: 'not-found',
  })
})

test('one session is shown with its health, by the beginning of its id', async () => {
  expect(await perform(app, 'cc.info', { id: 'd767' }, operator)).toMatchObject({
    session: { title: 'SDK fork of 07', forkedFrom: '00000007-0000-4000-8000-00000000000a' },
    health: { verdict: 'sound' },
  })
  expect(await perform(app, 'cc.info', { id: 'd767' }, operator)).toMatchObject({
    onResume: expect.stringContaining('Claude Code started this session'),
    price: { cache: 'cold' },
  })
  // The page asks again at every change, and must not read a long transcript each time.
  expect(await perform(app, 'cc.info', { id: 'd767', health: false }, operator)).toMatchObject({
    session: { title: 'SDK fork of 07' },
    health: undefined,
  })
  await expect(perform(app, 'cc.info', { id: 'ffff' }, operator)).rejects.toMatchObject({ code: 'not-found' })
  await expect(perform(app, 'cc.info', { id: '0000' }, operator)).rejects.toMatchObject({ code: 'ambiguous' })
})

type CardPage = {
  cards: Array<{ kind: string; uuid?: string; at: number; text: string; subagent?: string }>
  before?: number
  after?: number
  subagent?: { name: string; about: string; isRunning: boolean; costUsd: number }
}
const read = async (input: Record<string, unknown>, caller = operator): Promise<CardPage> =>
  (await perform(app, 'cc.read', input, caller)) as CardPage

test('every command takes the title of a session, or its beginning, and says when several are called so', async () => {
  const { sessions } = await list({ search: 'renamed demo' })
  for (const id of ['Renamed demo session', 'renamed de']) {
    for (const name of ['cc.read', 'cc.anatomy', 'cc.info']) {
      const found = JSON.stringify(await perform(app, name, { id }, operator))
      expect(found).toContain(sessions[0]!.sessionId)
    }
  }
  await expect(perform(app, 'cc.read', { id: 'no such title' }, operator)).rejects.toMatchObject({
    code: 'not-found',
  })
})

test('a session is read from its end or around a message, and pieces join to the whole', async () => {
  const { cards: whole } = await read({ id: '00000008', limit: 1000 })
  const uuids = [...new Set(whole.map(({ uuid }) => uuid))]
  const middle = uuids[Math.floor(uuids.length / 2)]!
  for (const around of [middle, `@${whole.find(({ uuid }) => uuid === middle)!.at}`]) {
    const part = await read({ id: '00000008', limit: 4, around })
    expect(part.cards.map(({ uuid }) => uuid)).toContain(middle)
    const earlier = part.before === undefined ? [] : await readAll({ before: part.before })
    const later = part.after === undefined ? [] : await readAll({ after: part.after })
    expect([...earlier, ...part.cards, ...later]).toEqual(whole)
  }
  await expect(read({ id: '00000008', around: 'nothing' })).rejects.toMatchObject({ code: 'not-found' })
  await expect(read({ id: '00000008', around: middle, before: 9 })).rejects.toMatchObject({
    code: 'input-invalid',
  })
})

test('what was said on a branch that was rewound is marked, and nothing else is', async () => {
  const { cards } = (await read({ id: '00000018' })) as {
    cards: Array<{ uuid?: string; isRewound?: boolean }>
  }
  const rewound = cards.filter(({ isRewound }) => isRewound)
  expect(new Set(rewound.map(({ uuid }) => uuid)).size).toBe(2)
  expect(cards.length).toBeGreaterThan(rewound.length)
  const { cards: parallelCalls } = await read({ id: '00000002' })
  expect(parallelCalls.filter((card) => 'isRewound' in card)).toEqual([])
})

const readAll = async (from: { before?: number; after?: number }): Promise<CardPage['cards']> =>
  (await read({ id: '00000008', limit: 1000, ...from })).cards

test('a sub-agent is named by the result that it gave, and read by its id or the beginning of it', async () => {
  const { cards } = await read({ id: '00000009' })
  const id = 'ad05f388bb7863ee4'
  expect(cards.find(({ subagent }) => subagent !== undefined)).toMatchObject({ kind: 'result', subagent: id })
  const page = await read({ id: '00000009', subagent: 'ad05' })
  expect(page.subagent).toMatchObject({
    name: 'general-purpose',
    about: 'Check the README',
    isRunning: false,
  })
  expect(page.subagent!.costUsd).toBeGreaterThan(0)
  expect(page.cards[0]).toMatchObject({ kind: 'prompt', text: 'Investigate the README file' })
  expect(await perform(app, 'cc.anatomy', { id: '0000000a-' }, operator)).toMatchObject({
    subagents: [{ id: 'a64501d2a34c4819e', about: 'Check in background', isRunning: false }],
  })
  await expect(read({ id: '00000009', subagent: '../0000000a' })).rejects.toMatchObject({ code: 'not-found' })
  await expect(read({ id: '00000009', subagent: id }, agent)).rejects.toMatchObject({ code: 'not-found' })
})

test('costs are added up by week, from Monday, and by month', async () => {
  const keys = async (by: string): Promise<string[]> =>
    ((await perform(app, 'cc.costs', { by }, operator)) as { by: Array<{ key: string }> }).by.map(
      ({ key }) => key,
    )
  expect(await keys('week')).toEqual(['2026-11-09'])
  expect(await keys('month')).toEqual(['2026-11'])
})

test('costs begin at a date, a time or so long ago; anything else is refused', async () => {
  expect((await costs({ since: '2026-11-15' })).totals.outputTokens).toBe(5_448)
  expect((await costs({ since: '2026-11-15T23:59:00Z' })).totals.outputTokens).toBe(0)
  expect((await costs({ until: '2026-11-15T00:00:00Z' })).totals.outputTokens).toBe(0)
  expect((await costs({ repo: '/home/dev/projects/hooked' })).totals.outputTokens).toBe(30)
  await expect(costs({ since: 'yesterday-ish' })).rejects.toMatchObject({ code: 'input-invalid' })
})

test('each operation has a sentence, examples and a scope; only repair, label and archive write', () => {
  for (const operation of operations) {
    expect(operation.description).toMatch(/^[A-Z].*\.$/)
    expect(operation.command?.examples?.length).toBeGreaterThan(0)
  }
  expect(operations.filter((operation) => operation.scope !== 'read').map(({ name }) => name)).toEqual([
    'cc.repair',
    'cc.label',
    'cc.archive',
  ])
})
