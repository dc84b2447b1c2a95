// The commands that a person gives inside of a session: `/rockpool:quiet`. They are done here, so that the model is not asked.
import type { ClaudeHookContributor } from '../domain/claude-hook.ts'
import { setQuiet } from './quiet.ts'

export function sessionCommands(stateDir: string): ClaudeHookContributor {
  return {
    name: 'session commands',
    events: ['UserPromptExpansion'],
    async answer({ sessionId, prompt = '' }) {
      const command = /^\/rockpool:quiet(?:\s+(.*))?$/s.exec(prompt.trim())
      if (!command) return undefined
      const isQuiet = command[1]?.trim() !== 'off'
      setQuiet(stateDir, sessionId, isQuiet)
      return { done: quietText(isQuiet) }
    },
  }
}

export function quietText(isQuiet: boolean): string {
  return isQuiet
    ? 'Permissions of this session are asked for in its terminal only.'
    : 'Permissions of this session are asked for on the page, in your chats and on your devices, too.'
}
