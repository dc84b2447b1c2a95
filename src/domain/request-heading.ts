// The request of a session in a few words: `wants to run a command`. The same in terminals, chats and notifications
// of devices.
import type { Approval } from './coding-session.ts'

const acts: Readonly<Record<string, string>> = {
  Bash: 'run a command',
  Edit: 'change a file',
  MultiEdit: 'change a file',
  NotebookEdit: 'change a notebook',
  Read: 'read a file',
  Write: 'write a file',
  WebFetch: 'open a web page',
  WebSearch: 'search the web',
}

/** Follows the name of the session. */
export function requestHeading({ kind, toolName }: Pick<Approval, 'kind' | 'toolName'>): string {
  return {
    tool: `wants to ${acts[toolName] ?? `use ${toolName}`}`,
    question: 'asks you',
    plan: 'wants to start with this plan',
    budget: 'has used up its budget',
  }[kind]
}
