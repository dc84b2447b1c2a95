import { expect, test } from 'vitest'
import { CacheOpinions, withOpinion } from './cache-opinion.ts'
import { claudeHookSchema } from './claude-hook.ts'
import { systemClock } from './clock.ts'
import type { SessionPrice } from './selection.ts'

const sessionId = '11111111-2222-4333-8444-555555555555'
const price = { cache: 'cold', sure: 0.85, resumeUsd: 1 } as SessionPrice
const now = 1_794_772_214_986
const clock = { ...systemClock, now: () => now }
const signal = new AbortController().signal

async function opinionAfter(...events: object[]): Promise<ReturnType<CacheOpinions['of']>> {
  const opinions = new CacheOpinions()
  for (const event of events)
    await opinions
      .contributor(clock)
      .answer(claudeHookSchema.parse({ session_id: sessionId, cwd: '/code', ...event }), signal)
  return opinions.of(sessionId)
}
const resumed = {
  hook_event_name: 'SessionStart',
  source: 'resume',
  prompt_cache_likely_expired: true,
  estimated_cache_write_usd: 0.42,
}

test('what Claude Code expects of its cache makes our prediction surer, or less sure if it differs', async () => {
  const expired = await opinionAfter(resumed)
  expect(expired).toEqual({ isExpired: true, writeUsd: 0.42, at: now })
  expect(withOpinion(price, expired, undefined)).toMatchObject({
    cache: 'cold',
    sure: 0.99,
    secondOpinion: { cache: 'cold', writeUsd: 0.42 },
  })
  const warm = await opinionAfter({ ...resumed, prompt_cache_likely_expired: false })
  expect(withOpinion(price, warm, undefined)).toMatchObject({ cache: 'cold', sure: 0.5 })
  expect(withOpinion({ ...price, coldBecause: 'other tools' }, warm, undefined).sure).toBe(0.85)
})

test('an opinion counts until the next call to the model or the end of the session; older versions have none', async () => {
  const expired = await opinionAfter(resumed)
  expect(withOpinion(price, expired, new Date(now + 1))).toBe(price)
  expect(withOpinion(price, expired, new Date(now - 1)).sure).toBe(0.99)
  expect(await opinionAfter(resumed, { hook_event_name: 'SessionEnd' })).toBeUndefined()
  expect(await opinionAfter({ hook_event_name: 'SessionStart', source: 'startup' })).toBeUndefined()
})
