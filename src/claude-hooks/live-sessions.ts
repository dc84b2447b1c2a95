// What terminal sessions report about themselves, the moment it happens. Lists, the page and the vault follow the event that is
// emitted here; a copy is taken before a compaction and at the end of a session.
import { permissionKind } from '../agent/permissions.ts'
import { requestLine } from '../coding/approvals/question-text.ts'
import type { LiveReport, LiveReports } from '../discovery/live-reports.ts'
import { claudeHookNames } from '../domain/claude-hook.ts'
import type { ClaudeHookContributor, ClaudeHookEvent } from '../domain/claude-hook.ts'
import type { Clock } from '../domain/clock.ts'
import type { Events } from '../domain/events.ts'
import type { StatePaths } from '../store/paths.ts'
import { removeWakeFile } from './wake.ts'

interface LiveSessionParts {
  events: Events
  clock: Clock
  liveReports: LiveReports
  paths: Pick<StatePaths, 'root'>
}

export function liveSessions({ events, clock, liveReports, paths }: LiveSessionParts): ClaudeHookContributor {
  return {
    name: 'live sessions',
    events: claudeHookNames.filter((name) => name !== 'FileChanged' && name !== 'UserPromptExpansion'),
    async answer(event) {
      const { sessionId, name } = event
      const report = reportOf(event)
      if (report) liveReports.add(sessionId, { ...report, at: clock.now() })
      // The batches of a long turn change nothing in a list.
      if (name !== 'PostToolBatch') events.emit({ type: 'native-changed', sessionId, why: name })
      if (name === 'SessionEnd') removeWakeFile(paths.root, sessionId)
      return undefined
    },
  }
}

/** Undefined for an event that says nothing about the state. Sub-agents work while their session does. */
function reportOf(event: ClaudeHookEvent): Omit<LiveReport, 'at'> | undefined {
  const { toolName, toolInput: input, message, trigger, error } = event
  switch (event.name) {
    case 'UserPromptSubmit':
    case 'PostToolBatch':
      return { status: 'busy' }
    case 'PreCompact':
      return { status: 'busy', stateText: 'compacts its context' }
    // After `/compact` it waits for its user; by itself it compacts in the middle of a turn.
    case 'PostCompact':
      return { status: trigger === 'manual' ? 'idle' : 'busy' }
    case 'PermissionRequest': {
      const about = toolName && input && requestLine({ kind: permissionKind(toolName), toolName, input })
      return { status: 'waiting', waitingFor: about || message }
    }
    case 'Stop':
      return { status: 'idle' }
    case 'StopFailure':
      return { status: 'idle', stateText: `an error has ended the turn: ${error ?? 'unknown'}` }
    case 'SessionEnd':
      return { status: 'ended' }
    default:
      return undefined
  }
}
