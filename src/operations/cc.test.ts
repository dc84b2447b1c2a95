import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../app.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { readEnvironment } from '../store/config-file.ts'
import type { App } from './app.ts'
import { discoveredSession } from './cc-list.ts'
import { operations } from './cc.ts'
import { perform } from './perform.ts'
import type { Caller } from './operation.ts'

const fixtures = join(import.meta.dirname, '../../test/fixtures/claude-code')
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
  for (const session of sessions) expect(() => discoveredSession.parse(session)).not.toThrow()
  expect(sessions[0]!.lastModified).toMatch(/^2026-11-15T.*Z$/)
})

test.each([
  [{ repo: '/home/dev/projects/demo' }, 26],
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
  await expect(perform(app, 'cc.info', { id: 'ffff' }, operator)).rejects.toMatchObject({ code: 'not-found' })
  await expect(perform(app, 'cc.info', { id: '0000' }, operator)).rejects.toMatchObject({ code: 'ambiguous' })
})

test('costs begin at a date, a time or so long ago; anything else is refused', async () => {
  expect((await costs({ since: '2026-11-15' })).totals.outputTokens).toBe(5_448)
  expect((await costs({ since: '2026-11-15T23:59:00Z' })).totals.outputTokens).toBe(0)
  expect((await costs({ until: '2026-11-15T00:00:00Z' })).totals.outputTokens).toBe(0)
  expect((await costs({ repo: '/home/dev/projects/hooked' })).totals.outputTokens).toBe(30)
  await expect(costs({ since: 'yesterday-ish' })).rejects.toMatchObject({ code: 'input-invalid' })
})

test('each operation has a sentence, examples and a scope; only the repair writes', () => {
  for (const operation of operations) {
    expect(operation.says).toMatch(/^[A-Z].*\.$/)
    expect(operation.command?.examples?.length).toBeGreaterThan(0)
  }
  expect(operations.filter((operation) => operation.scope !== 'read').map(({ name }) => name)).toEqual([
    'cc.repair',
  ])
})
