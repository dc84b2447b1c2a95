// The registry of commands that are no operations. Looked up by their first word, and loaded when asked for.
import type { LocalCommand } from './local-command.ts'

type Group = () => Promise<{ commands: LocalCommand[] }>

const agent: Group = () => import('./agent.ts')
const up: Group = () => import('./up.ts')

export const localGroups: Readonly<Record<string, Group>> = {
  agent,
  chat: agent,
  cc: () => import('./cc-commands.ts'),
  channels: () => import('./channels-add.ts'),
  completion: () => import('./completion.ts'),
  mcp: () => import('./mcp.ts'),
  down: up,
  dashboard: () => import('./gateway-call.ts'),
  gateway: () => import('./gateway-call.ts'),
  'restore-backup': () => import('./restore-backup.ts'),
  service: () => import('./start-at-login.ts'),
  setup: () => import('./setup.ts'),
  up,
}

export async function allLocalCommands(): Promise<LocalCommand[]> {
  const loaded = await Promise.all(Object.values(localGroups).map((load) => load()))
  return [...new Set(loaded.flatMap((group) => group.commands))]
}
