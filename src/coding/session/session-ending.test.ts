import { expect, test } from 'vitest'
import type { CodingRequest } from '../../domain/coding-session.ts'
import type { TurnFailure } from '../../domain/turn.ts'
import { failureText } from './session-ending.ts'

const request = {
  prompt: "Fix the shop's login",
  workdir: '/srv/shop',
  agentId: 'main',
  budgetUsd: 1,
} as CodingRequest

const failures: TurnFailure[] = [
  'rate-limited',
  'overloaded',
  'context-full',
  'login-refused',
  'model-unknown',
  'unreachable',
  'stalled',
  'process-died',
  'api-error',
]

test.each(failures)('after %s a session advises only what works for one that has ended', (why) => {
  const end = {
    kind: 'failed',
    why,
    message: 'It broke. Please send it again, or use /new.',
    what: 'It broke.',
  } as const
  const said = failureText(end, { name: 'fix-login', sdkSessionId: 's', request })
  expect(said).toMatch(/^It broke\. .*`rockpool cc (?:resume fix-login|launch)/)
  expect(said).not.toMatch(/send it again|\/new|\/model/i)
})

test('a session that never reached Claude is launched again', () => {
  const end = { kind: 'failed', why: 'unreachable', message: 'Away.' } as const
  expect(failureText(end, { name: 'x', request })).toContain(
    `continue: \`rockpool cc launch 'Fix the shop'\\''s login' --repo /srv/shop --fresh\`.`,
  )
})
