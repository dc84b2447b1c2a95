// What terminal sessions report about themselves, the moment it happens. Lists, the page and the vault follow the event that is
// emitted here; a copy is taken before a compaction and at the end of a session.
import type { ClaudeHookContributor } from '../domain/claude-hook.ts'
import type { Events } from '../domain/events.ts'
import type { StatePaths } from '../store/paths.ts'
import { removeWakeFile } from './wake.ts'

interface LiveSessionParts {
  events: Events
  paths: Pick<StatePaths, 'root'>
}

export function liveSessions({ events, paths }: LiveSessionParts): ClaudeHookContributor {
  return {
    name: 'live sessions',
    events: [
      'SessionStart',
      'UserPromptSubmit',
      'Notification',
      'Stop',
      'StopFailure',
      'PreCompact',
      'SessionEnd',
    ],
    async answer({ sessionId, name }) {
      events.emit({ type: 'native-changed', sessionId, why: name })
      if (name === 'SessionEnd') removeWakeFile(paths.root, sessionId)
      return undefined
    },
  }
}
