import { expect, test } from 'vitest'
import type { CodingSession } from './coding-session.ts'
import { needsYou, sessionState, stateText, wasCutOff } from './coding-state.ts'

type Fields = Partial<CodingSession>

const input = { for: 'input', since: 1, about: 'Done.' } as const
const approval = { for: 'approval', since: 1, about: 'psql', approvalId: 'a1' } as const
const expired = { about: 'psql', at: 1, text: 'expired, no answer in 5 min' }
const endedBy = (reason: NonNullable<CodingSession['end']>['reason']): Fields => ({
  end: { reason, message: 'The reason.', at: 1 },
})

function session(about: Fields): CodingSession {
  const request = { prompt: 'Fix the login' } as CodingSession['request']
  return { status: 'running', lifecycle: 'active', request, ...about } as CodingSession
}

test.each<[state: string, what: string, about: Fields, text: string]>([
  ['working', 'queued', { status: 'starting', lifecycle: 'queued' }, 'Fix the login'],
  ['working', 'in a turn', { doing: 'Bash: ls' }, 'Bash: ls'],
  ['needs you', 'that asks', { lifecycle: 'awaiting-approval', waiting: approval }, 'psql'],
  [
    'needs you',
    'that asked before a stop',
    { status: 'killed', lifecycle: 'suspended', waiting: approval, ...endedBy('shutdown') },
    'psql',
  ],
  ['needs you', 'whose question expired', { expired, doing: 'Read' }, 'expired, no answer in 5 min: psql'],
  ['ready', 'after its turn', { lifecycle: 'awaiting-input', waiting: input, unseen: true }, 'Done.'],
  [
    'ready',
    'after its turn and a stop',
    { status: 'completed', lifecycle: 'suspended', waiting: input, unseen: true, ...endedBy('crash') },
    'Done.',
  ],
  [
    'ready',
    'that is done',
    { status: 'completed', lifecycle: 'ended', unseen: true, lastWords: 'Bye.', ...endedBy('done') },
    'Bye.',
  ],
  ['idle', 'that was looked at', { lifecycle: 'awaiting-input', waiting: input }, 'Done.'],
  [
    'idle',
    'that was looked at before a stop',
    { status: 'completed', lifecycle: 'suspended', waiting: input, ...endedBy('shutdown') },
    'Done.',
  ],
  [
    'failed',
    'that failed',
    { status: 'failed', lifecycle: 'ended', lastWords: 'Hm.', ...endedBy('turn-failed') },
    'The reason.',
  ],
  [
    'limited',
    'that a usage limit stopped',
    { status: 'killed', lifecycle: 'suspended', lastWords: 'Hm.', ...endedBy('usage-limit') },
    'The reason.',
  ],
  [
    'stopped',
    'that was cut off',
    { status: 'killed', lifecycle: 'suspended', ...endedBy('crash') },
    'The reason.',
  ],
  [
    'stopped',
    'that nobody wrote to',
    { status: 'killed', lifecycle: 'suspended', waiting: input, ...endedBy('idle-timeout') },
    'Done.',
  ],
  [
    'stopped',
    'that a person ended',
    { status: 'killed', lifecycle: 'ended', ...endedBy('user') },
    'The reason.',
  ],
])('%s: a session %s', (state, _what, about, text) => {
  expect([sessionState(session(about)), stateText(session(about))]).toEqual([state, text])
})

test('a failed session needs a person until one has looked at it', () => {
  const failed = { status: 'failed', lifecycle: 'ended' } as const
  expect([true, undefined].map((unseen) => needsYou(session({ ...failed, unseen })))).toEqual([true, false])
})

test('only a session that was interrupted in its turn is cut off', () => {
  const suspended = { status: 'killed', lifecycle: 'suspended' } as const
  expect(wasCutOff(session({ ...suspended, ...endedBy('shutdown') }))).toBe(true)
  expect(wasCutOff(session({ ...suspended, ...endedBy('shutdown'), waiting: input }))).toBe(false)
  expect(wasCutOff(session({ ...suspended, ...endedBy('released') }))).toBe(false)
})
