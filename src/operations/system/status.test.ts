// One number for all spending: chats, coding sessions and sessions of Claude Code alone, whichever command is asked.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../app.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { readEnvironment } from '../../store/config-file.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { perform } from '../all.ts'
import { workspaceOf } from '../../store/agents.ts'
import { leaveUsage } from '../../store/statusline-file.ts'
import type { UsageWindowRow } from './usage-windows.ts'

const home = mkdtempSync(join(tmpdir(), 'rockpool-status-'))
const operator: Caller = { via: 'cli', scopes: ['admin'] }
const id = (n: number): string => `0000000${n}-0000-4000-8000-00000000000a`
const dayMs = 86_400_000
let app: App

beforeAll(async () => {
  const environment = { HOME: home, CLAUDE_CONFIG_DIR: join(home, 'claude'), PATH: process.env['PATH'] }
  app = await openApp(readEnvironment(environment), { version: 'test' })
  const key = 'agent:main:telegram:direct:7'
  await app.storage
    .sessions('main')
    .update(key, () => ({ sessionId: 'chat', updatedAt: 1, sdkSessionId: id(1) }))
  const store = app.storage.coding
  await store.save(run('first000', { createdAt: 1, costUsd: 3, turns: 4, prompt: 'Fix the login form' }))
  await store.save(run('second00', { createdAt: 2, costUsd: 0.5, turns: 1, prompt: 'yes' }))
  const workspace = workspaceOf(app, 'main')
  transcript(id(1), workspace, { outputTokens: 100_000 })
  // The chat before its last reset: no row names this session any more.
  transcript(id(2), workspace, { outputTokens: 20_000 })
  transcript(id(3), '/repo', { outputTokens: 3_000 })
  transcript(id(4), '/elsewhere', { outputTokens: 400 })
  transcript(id(5), '/elsewhere', { outputTokens: 1_000_000, at: Date.now() - 3 * dayMs })
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true })
})

function transcript(
  sessionId: string,
  cwd: string,
  { outputTokens, at = Date.now() }: { outputTokens: number; at?: number },
): void {
  const folder = join(home, 'claude/projects', cwd.replaceAll(/[^a-zA-Z0-9]/g, '-'))
  mkdirSync(folder, { recursive: true })
  const timestamp = new Date(at).toISOString()
  const usage = { input_tokens: 0, output_tokens: outputTokens }
  const message = { id: sessionId, role: 'assistant', model: 'claude-sonnet-4-5', content: [], usage }
  const lines = [
    { type: 'user', sessionId, cwd, timestamp, message: { role: 'user', content: 'Fix the login form' } },
    { type: 'assistant', sessionId, cwd, timestamp, requestId: sessionId, message },
  ]
  const text = lines.map((line) => `${JSON.stringify(line)}\n`).join('')
  writeFileSync(join(folder, `${sessionId}.jsonl`), text)
}

function run(
  codingId: string,
  { prompt, ...about }: { createdAt: number; costUsd: number; turns: number; prompt: string },
): CodingSession {
  return {
    id: codingId,
    name: codingId,
    sdkSessionId: id(3),
    request: {
      prompt,
      workdir: '/repo',
      agentId: 'main',
      budgetUsd: 5,
      allowedTools: [],
      permissionMode: 'default',
      multiTurn: true,
      originChannel: 'gateway',
      spawnDepth: 0,
      ...(codingId === 'first000' ? { label: 'login' } : {}),
    },
    status: 'completed',
    lifecycle: 'ended',
    lastActivityAt: about.createdAt,
    budgetUsd: 5,
    allowances: {},
    inbox: [],
    given: [],
    autoResponds: 0,
    waitedMs: 0,
    lastSeq: 0,
    ...about,
  }
}

// $15 for a million tokens that the model wrote.
const parts = { chatsUsd: 1.8, codingUsd: 0.045, nativeUsd: 0.006 }

test("today's cost is that of chats, coding and native sessions together, with its parts", async () => {
  const { cost } = (await perform(app, 'status', { usage: true }, operator)) as {
    cost: { todayUsd: number; parts: typeof parts; days: Array<{ day: string; usd: number }> }
  }
  expect(cost.todayUsd).toBeCloseTo(1.851, 9)
  for (const [name, usd] of Object.entries(parts))
    expect(cost.parts[name as keyof typeof parts], name).toBeCloseTo(usd, 9)
  expect(cost.days.map(({ usd }) => usd)).toEqual([15, expect.closeTo(1.851, 9)])
})

test('the same number stands in `cc costs`', async () => {
  const report = (await perform(app, 'cc.costs', { by: 'day' }, operator)) as {
    totals: { costUsd: number }
    parts: typeof parts
    by: Array<{ costUsd: number }>
  }
  expect(report.by.at(-1)!.costUsd).toBeCloseTo(1.851, 9)
  expect(report.parts.codingUsd).toBeCloseTo(0.045, 9)
  const { chatsUsd, codingUsd, nativeUsd } = report.parts
  expect(chatsUsd + codingUsd + nativeUsd).toBeCloseTo(report.totals.costUsd, 9)
})

test('all runs of a resumed coding session count, and its label and last real task are kept', async () => {
  const { sessions } = (await perform(app, 'cc.list', { repo: '/repo' }, operator)) as {
    sessions: Array<Record<string, unknown>>
  }
  expect(sessions).toMatchObject([
    { totalCostUsd: 3.5, totalTurns: 5, budgetUsedPct: 0.7, label: 'login', lastTask: 'Fix the login form' },
  ])
})

test('the usage windows are shown with pace and forecast, from sessions and from the status line', async () => {
  const now = Date.now()
  const hour = 3_600_000
  const resetsAt = now + 2 * hour
  const report = { id: 'five_hour', resetsAt, isRejected: false }
  await app.storage.usage.report({ ...report, used: 0.5, at: now - hour / 2 })
  const week = { used_percentage: 95, resets_at: Math.round(now / 1_000) + 86_400 }
  leaveUsage(
    app.paths.root,
    { five_hour: { used_percentage: 70, resets_at: resetsAt / 1_000 }, seven_day: week },
    now,
  )
  const { usage } = (await perform(app, 'status', {}, operator)) as { usage: UsageWindowRow[] }
  expect(usage).toMatchObject([
    {
      window: 'five_hour',
      name: '5 hours',
      usedPercent: 70,
      state: 'open',
      percentPerHour: expect.closeTo(40, 0),
    },
    { window: 'seven_day', name: 'week', usedPercent: 95, state: 'nearly used' },
  ])
  expect(usage[0]!.endsAt).toBeGreaterThan(now + 40 * 60_000)
  expect(usage[0]!.endsAt).toBeLessThan(now + 50 * 60_000)
  expect(usage[0]!.forecast).toMatch(/^at this pace the window ends at \d\d:\d\d$/)
  const agent: Caller = { via: 'mcp', scopes: ['read'], agentId: 'main' }
  expect(await perform(app, 'status', {}, agent)).toMatchObject({ usage: [] })
})

test('what cannot continue without you comes before what is only ready, however new it is', async () => {
  const saved = { costUsd: 0, turns: 1, prompt: 'x' }
  const ready = run('ready000', { ...saved, createdAt: 3 })
  const failed = run('failed00', { ...saved, createdAt: 4 })
  await app.storage.coding.save({ ...ready, unseen: true })
  await app.storage.coding.save({ ...failed, status: 'failed', unseen: true })
  expect(await perform(app, 'status', {}, operator)).toMatchObject({
    waiting: [{ id: 'failed00' }, { id: 'ready000' }],
  })
})
