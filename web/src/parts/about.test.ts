import { expect, test } from 'vitest'
import { canResumeInTerminal, stateLine } from './about.tsx'

test('the state of a coding session is said once, without what its row waits for', () => {
  const written = { state: 'idle', waitingFor: 'input', stateText: undefined } as const
  const coding = { state: 'ready', stateText: '12 passed.' } as const
  expect(stateLine(written, coding)).toBe('ready: 12 passed.')
  expect(stateLine({ ...written, state: 'needs you', waitingFor: 'a plan' }, undefined)).toBe(
    'needs you: a plan',
  )
  expect(stateLine({ state: 'stopped' }, undefined)).toBe('stopped')
})

test('a command for the terminal is offered only if Claude Code can resume the session', () => {
  const session = { agentKind: 'claude', messageCount: 4 } as const
  expect(canResumeInTerminal({ session })).toBe(true)
  expect(canResumeInTerminal({ session, folderGone: true })).toBe(false)
  expect(canResumeInTerminal({ session: { ...session, messageCount: 0 } })).toBe(false)
  expect(canResumeInTerminal({ session: { ...session, kept: true } })).toBe(false)
  expect(canResumeInTerminal({ session: { ...session, agentKind: 'codex' } })).toBe(false)
})
