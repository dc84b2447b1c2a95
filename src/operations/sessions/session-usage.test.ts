import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../app.ts'
import { readEnvironment } from '../../store/config-file.ts'
import type { App } from '../app.ts'
import { perform } from '../all.ts'

const reader = { via: 'rpc' as const, scopes: ['read' as const] }
let dir: string
let app: App
beforeAll(async () => {
  dir = mkdtempSync(join(tmpdir(), 'rockpool-usage-'))
  app = await openApp(readEnvironment({ HOME: dir, ROCKPOOL_STATE_DIR: dir }), {
    version: 'test',
    light: true,
  })
  await app.storage.sessions('main').update('agent:main:main', () => ({
    sessionId: 'a',
    // Half past eleven in the evening in London, the next day already in Berlin.
    updatedAt: Date.UTC(2026, 0, 15, 23, 30),
    inputTokens: 10,
    estimatedCostUsd: 0.5,
    systemPromptReport: { source: 'run', chars: 12 },
  }))
})
afterAll(async () => {
  await app.close()
  rmSync(dir, { recursive: true, force: true })
})

const usage = (input: Record<string, unknown>): Promise<unknown> =>
  perform(app, 'sessions.usage', input, reader)

test.each([
  [{ mode: 'utc' }, 1],
  [{ mode: 'specific', utcOffset: '+01:00' }, 0],
  [{ mode: 'specific', utcOffset: 'UTC-5' }, 1],
  [{ mode: 'specific', utcOffset: 'UTC+5:30' }, 0],
])('the day of a session is a day of %j', async (days, count) => {
  const asked = { startDate: '2026-01-15', endDate: '2026-01-15', ...days }
  expect(await usage(asked)).toMatchObject({ count, totals: { inputTokens: count * 10 } })
})

test('what fills the context is returned on request', async () => {
  expect(await usage({ includeContextWeight: true })).toMatchObject({
    sessions: [{ contextWeight: { chars: 12 } }],
  })
  expect(await usage({})).not.toMatchObject({ sessions: [{ contextWeight: expect.anything() }] })
})

test.each([
  { mode: 'specific' },
  { mode: 'specific', utcOffset: 'Berlin' },
  { mode: 'specific', utcOffset: '+15:00' },
  { startDate: '2026-13-01' },
  { startDate: 'yesterday' },
])('%j is refused', async (input) => {
  await expect(usage(input)).rejects.toMatchObject({ code: 'input-invalid' })
})
