import { expect, test } from 'vitest'
import type { ClaudeResult } from './claude-events.ts'
import { endOfTurn } from './turn-failures.ts'
import { noUsage } from '../domain/turn.ts'

function failed(more: Partial<ClaudeResult>): ClaudeResult {
  return {
    isError: true,
    reason: 'api_error',
    text: '',
    errors: [],
    usage: noUsage,
    costUsd: 0,
    prompts: [],
    queued: 0,
    ...more,
  }
}
const now = Date.UTC(2026, 10, 15, 12, 0)

test.each<[Partial<ClaudeResult>, string, RegExp]>([
  [{ apiError: 'rate_limit', apiStatus: 429 }, 'rate-limited', /rate limit/],
  [{ apiStatus: 529 }, 'overloaded', /few minutes/],
  [
    { apiError: 'authentication_failed', apiStatus: 401, text: 'Invalid API key' },
    'login-refused',
    /Invalid API key.*log in/,
  ],
  [{ apiError: 'billing_error', apiStatus: 400 }, 'no-credit', /add some/],
  [{ apiError: 'model_not_found' }, 'model-unknown', /\/model/],
  [{ text: 'API Error: Connection refused (ECONNREFUSED)' }, 'unreachable', /network/],
  [{ reason: 'prompt_too_long', apiStatus: 400 }, 'context-full', /\/new/],
  [{ reason: 'budget_exhausted' }, 'budget-reached', /Raise/],
  [
    { reason: 'error_during_execution', errors: ['No conversation found with session ID: x'] },
    'session-missing',
    /new one/,
  ],
  [{ apiStatus: 500, text: 'Internal error.' }, 'api-error', /Internal error\. Please/],
])('%o ends as %s with a sentence to act on', (result, why, sentence) => {
  const end = endOfTurn(failed(result), { now, timeZone: 'UTC' })
  expect(end).toMatchObject({ kind: 'failed', why })
  expect(end.kind === 'failed' && end.message).toMatch(sentence)
})

test('a rate limit says when it ends, in the configured time zone', () => {
  const context = { now, retryAt: now + 12 * 60_000, timeZone: 'Europe/Berlin' }
  const end = endOfTurn(failed({ apiStatus: 429 }), context)
  expect(end).toMatchObject({
    retryAt: context.retryAt,
    message: expect.stringContaining('at 13:12 (in about 12 min)'),
  })
})

test.each([
  ['nobody said', undefined],
  ['is behind us', now - 1],
])('a rate limit whose end %s names no time', (_when, retryAt) => {
  const end = endOfTurn(failed({ apiStatus: 429, text: 'API Error: 429' }), { now, retryAt, timeZone: 'UTC' })
  expect(end).not.toHaveProperty('retryAt')
  expect(end).toMatchObject({ message: expect.stringMatching(/429.*does not say when.*few minutes/) })
})
