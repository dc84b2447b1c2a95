// Constructs the answers to Claude hooks: the list of everything that answers them.
import { ClaudeHooks } from '../claude-hooks/answers.ts'
import { liveSessions } from '../claude-hooks/live-sessions.ts'
import { mailHooks } from '../mail/mail-hooks.ts'
import type { App } from '../operations/app.ts'

export function openClaudeHooks(app: App): ClaudeHooks {
  const { clock, log } = app
  const contributors = [liveSessions(app), mailHooks(() => app.mail().office, clock)]
  return new ClaudeHooks({ contributors, clock, log })
}
