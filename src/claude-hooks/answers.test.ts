import { expect, test } from 'vitest'
import { systemClock } from '../domain/clock.ts'
import type { ClaudeHookContributor, ClaudeHookEvent, ClaudeHookName } from '../domain/claude-hook.ts'
import { claudeHookSchema } from '../domain/claude-hook.ts'
import { silentLog } from '../domain/log.ts'
import { ClaudeHooks } from './answers.ts'

const never = new AbortController().signal

function eventOf(name: ClaudeHookName, more: Record<string, unknown> = {}): ClaudeHookEvent {
  return claudeHookSchema.parse({ hook_event_name: name, session_id: 'ABCDEF01-2222', ...more })
}

function hooksOf(...contributors: ClaudeHookContributor[]): ClaudeHooks {
  return new ClaudeHooks({ contributors, clock: systemClock, log: silentLog })
}

test('the texts of all contributors that want the event are joined, and each learns that its text was sent', async () => {
  const sent: string[] = []
  const says = (name: string, events: ClaudeHookName[]): ClaudeHookContributor => ({
    name,
    events,
    answer: async () => ({ additionalContext: name, onSent: () => void sent.push(name) }),
  })
  const hooks = hooksOf(
    says('one', ['Stop', 'PostToolBatch']),
    says('two', ['PostToolBatch']),
    says('three', ['Stop']),
  )
  const answer = await hooks.onHook(eventOf('PostToolBatch'), never)
  expect(answer.additionalContext).toBe('one\n\ntwo')
  expect(sent).toEqual([])
  answer.onSent!()
  expect(sent).toEqual(['one', 'two'])
})

test('a contributor that throws or never answers does not hold up the session', async () => {
  const hooks = hooksOf(
    { name: 'broken', events: ['Stop'], answer: () => Promise.reject(new Error('broken')) },
    { name: 'hanging', events: ['Stop'], answer: () => new Promise(() => {}) },
    { name: 'right', events: ['Stop'], answer: async () => ({ additionalContext: 'right' }) },
  )
  const answer = await hooks.onHook(eventOf('Stop'), never)
  expect(answer.additionalContext).toBe('right')
})

test('the first decision about a permission wins, and one without a decision does not end the wait', async () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  const hooks = hooksOf(
    { name: 'silent', events: ['PermissionRequest'], answer: async () => undefined },
    {
      name: 'slow',
      events: ['PermissionRequest'],
      answer: async () => {
        await promise
        return { decision: { behavior: 'allow' } }
      },
    },
    { name: 'hanging', events: ['PermissionRequest'], answer: () => new Promise(() => {}) },
  )
  const answering = hooks.onHook(eventOf('PermissionRequest', { tool_name: 'Bash' }), never)
  resolve()
  expect((await answering).decision).toEqual({ behavior: 'allow' })
})

test('empty texts are absent, and the session id is in lower case', () => {
  expect(eventOf('Stop', { agent_id: '', entrypoint: 'cli' })).toMatchObject({
    sessionId: 'abcdef01-2222',
    subagentId: undefined,
    isTerminal: true,
  })
})
