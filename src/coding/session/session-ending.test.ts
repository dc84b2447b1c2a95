import { expect, test } from 'vitest'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { TurnFailure } from '../../domain/turn.ts'
import { notReopened, notRunning, sessionAtWork, sessionStillRunning } from '../refusals.ts'
import { failureText } from './session-ending.ts'
import { checkResumable } from './resume-origin.ts'

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
  const said = failureText(end, { id: 'Z11Prpi3', name: 'fix-login', sdkSessionId: 's' })
  expect(said).toMatch(/^It broke\. .*`rockpool cc (?:resume fix-login|again Z11Prpi3)/)
  expect(said).not.toMatch(/send it again|\/new|\/model/i)
})

test('a session that never reached Claude is launched again', () => {
  const end = { kind: 'failed', why: 'unreachable', message: 'Away.' } as const
  expect(failureText(end, { id: 'Z11Prpi3', name: 'x' })).toContain('continue: `rockpool cc again Z11Prpi3`.')
})

test('a session whose conversation is gone is launched again with its task', async () => {
  const gone = { ok: false, why: 'gone', reason: 'Claude has no transcript of session s.' } as const
  const agents = { runtime: async () => ({ resumable: async () => gone }) as never }
  for (const fork of [false, true])
    await expect(
      checkResumable(agents, 'claude', 's', { session: { id: 'Z11Prpi3' }, fork }),
    ).rejects.toMatchObject({
      message: gone.reason,
      hint: 'Launch it again: `rockpool cc again Z11Prpi3`.',
    })
})

test.each(['in-use', 'damaged'] as const)('a conversation that is %s can only be forked', async (why) => {
  const agents = {
    runtime: async () => ({ resumable: async () => ({ ok: false, why, reason: 'No.' }) }) as never,
  }
  await expect(checkResumable(agents, 'claude', 's')).rejects.toThrow('No.')
  await checkResumable(agents, 'claude', 's', { fork: true })
})

test('a name that the shell would not read as one word is quoted in advice', () => {
  const session = { id: 'Z11Prpi3', name: 'say $(date)', sdkSessionId: 's' }
  const end = { kind: 'failed', why: 'unreachable', message: 'Away.' } as const
  expect(failureText(end, session)).toContain("`rockpool cc resume 'say $(date)'`")
  const refusals = [notRunning, notReopened, sessionAtWork, sessionStillRunning]
  for (const refusal of refusals) {
    const { hint } = refusal({ ...session, lifecycle: 'ended', status: 'failed' } as CodingSession)
    expect(hint).toMatch(/`rockpool cc \w+ 'say \$\(date\)'`/)
  }
})
