// Constructs the answers to Claude hooks: the list of everything that answers them.
import { ClaudeHooks } from '../claude-hooks/answers.ts'
import { liveSessions } from '../claude-hooks/live-sessions.ts'
import type { App } from '../operations/app.ts'

export function openClaudeHooks(app: App): ClaudeHooks {
  const { clock, log } = app
  const contributors = [liveSessions(app)]
  return new ClaudeHooks({ contributors, clock, log })
}
