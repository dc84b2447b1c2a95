import { expect, test } from 'vitest'
import { LiveReports } from '../discovery/live-reports.ts'
import type { LiveSession } from '../discovery/registries.ts'
import { claudeHookSchema } from '../domain/claude-hook.ts'
import { systemClock } from '../domain/clock.ts'
import { makeEvents, type RockpoolEvent } from '../domain/events.ts'
import { liveSessions } from './live-sessions.ts'

const sessionId = '0c18c6e2-d9e3-4169-87ec-d96fcc228ff1'
const inRegistry: LiveSession = { sessionId, pid: 1, status: 'busy', statusAt: 0 }

async function reported(
  name: string,
  more: object = {},
): Promise<[LiveSession | undefined, RockpoolEvent[]]> {
  const emitted: RockpoolEvent[] = []
  const events = makeEvents(() => {})
  events.on((event) => emitted.push(event))
  const liveReports = new LiveReports()
  const hooks = liveSessions({ events, liveReports, clock: systemClock, paths: { root: '/nowhere' } })
  const event = claudeHookSchema.parse({ hook_event_name: name, session_id: sessionId, ...more })
  await hooks.answer(event, new AbortController().signal)
  return [liveReports.applyTo(new Map([[sessionId, inRegistry]])).get(sessionId), emitted]
}

test.each<[name: string, more: object, state: Partial<LiveSession> | undefined]>([
  ['UserPromptSubmit', {}, { status: 'busy' }],
  ['PreCompact', { trigger: 'auto' }, { status: 'busy', stateText: 'compacts its context' }],
  ['PostCompact', { trigger: 'auto' }, { status: 'busy', stateText: undefined }],
  ['PostCompact', { trigger: 'manual' }, { status: 'idle', stateText: undefined }],
  ['Stop', {}, { status: 'idle', stateText: undefined }],
  [
    'StopFailure',
    { error: 'rate_limit' },
    { status: 'idle', stateText: 'an error has ended the turn: rate_limit' },
  ],
  ['SessionEnd', {}, undefined],
])('%s %o says what the session does, and lists and the vault learn of it', async (name, more, state) => {
  const [live, emitted] = await reported(name, more)
  if (state) expect(live).toMatchObject(state)
  else expect(live).toBeUndefined()
  expect(emitted).toEqual([{ type: 'native-changed', sessionId, why: name }])
})

test('a permission dialog says what it asks for', async () => {
  const asks = { tool_name: 'Bash', tool_input: { command: 'npm publish' } }
  const [live] = await reported('PermissionRequest', asks)
  expect(live).toMatchObject({
    status: 'waiting',
    waitingFor: expect.stringContaining('npm publish') as string,
  })
})
