// Errors for a conversation with Claude that cannot be started or resumed, each with a remedy.
import { statSync } from 'node:fs'
import type { ConversationOptions } from '../domain/agent.ts'
import { RockpoolError } from '../domain/errors.ts'

/** Throws when a conversation cannot be started like this. */
export function checkStartable(
  { cwd, permissionMode }: ConversationOptions,
  binary: string | undefined,
): void {
  if (!statSync(cwd, { throwIfNoEntry: false })?.isDirectory()) {
    throw new RockpoolError('not-found', `${cwd} is not a directory.`, {
      hint: 'Make it, or choose another working directory.',
    })
  }
  if (binary && !statSync(binary, { throwIfNoEntry: false })?.isFile()) {
    throw new RockpoolError('unavailable', `There is no program ${binary}.`, {
      hint: 'Correct claude.binary in the configuration, or remove it to use the one that comes with Rockpool.',
    })
  }
  if (permissionMode === 'bypassPermissions' && process.getuid?.() === 0) {
    throw new RockpoolError('refused', 'Claude Code does not run with bypassPermissions as root.', {
      hint: 'Use acceptEdits or default and allow the tools it needs, or run Rockpool as another user.',
    })
  }
}

export function inUse(sdkSessionId: string, holder: string): RockpoolError {
  return new RockpoolError('busy', `Claude's session ${sdkSessionId} is in use by ${holder}.`, {
    hint: 'End that one first, or fork the session.',
  })
}

export function notResumable(reason: string): RockpoolError {
  return new RockpoolError('not-found', reason, { hint: 'Start a new conversation.' })
}
