// The registry: which file holds the operations of a group. A group is the first word of a name (`sessions.list`),
// and only the group that is asked for is loaded.
import type { Operation } from './operation.ts'

type Group = () => Promise<{ operations: Operation[] }>

/** A group whose operations are in several files. */
const merged =
  (...loads: Group[]): Group =>
  async () => ({
    operations: (await Promise.all(loads.map((load) => load()))).flatMap((one) => one.operations),
  })

const system: Group = () => import('./system/system.ts')

export const groups: Readonly<Record<string, Group>> = {
  sessions: () => import('./sessions/session-operations.ts'),
  agents: () => import('./system/agent-operations.ts'),
  turns: () => import('./turns/turns.ts'),
  cc: merged(
    () => import('./cc/cc.ts'),
    () => import('./cc/cc-read.ts'),
    () => import('./cc/cc-anatomy.ts'),
    () => import('./cc/select-session.ts'),
  ),
  project: () => import('./cc/projects.ts'),
  coding: merged(
    () => import('./coding/coding-operations.ts'),
    () => import('./coding/coding-interrupt.ts'),
    () => import('./coding/coding-move.ts'),
  ),
  approvals: () => import('./coding/approval-operations.ts'),
  tokens: () => import('./system/access-tokens.ts'),
  dashboard: () => import('./system/access-tokens.ts'),
  channels: () => import('./people/channel-operations.ts'),
  message: () => import('./turns/send-message.ts'),
  memory: () => import('./search/note-operations.ts'),
  pairing: () => import('./people/pairing.ts'),
  web: () => import('./turns/web-chat.ts'),
  doctor: () => import('./system/upkeep.ts'),
  backup: () => import('./system/upkeep.ts'),
  db: () => import('./system/db.ts'),
  machines: () => import('./coding/machine-operations.ts'),
  config: system,
  health: system,
  logs: system,
  status: system,
  system,
}

/** Asked so often from a terminal that they are loaded without the rest of their group. */
const singleOperations: Readonly<Record<string, () => Promise<Operation>>> = {
  'sessions.search': async () => (await import('./search/search-sessions.ts')).searchSessions,
  'cc.list': async () => (await import('./cc/cc-list.ts')).listSessions,
  'sessions.list': async () => (await import('./sessions/session-list.ts')).listSessions,
}

/** The operation with exactly this name; aliases are resolved before. */
export async function findOperation(name: string): Promise<Operation | undefined> {
  if (Object.hasOwn(singleOperations, name)) return singleOperations[name]!()
  const load = groupOf(name)
  return load && (await load()).operations.find((operation) => operation.name === name)
}

/** Every operation, by name. Slow: for the reference page, the catalog and the MCP server. */
export async function allOperations(): Promise<Operation[]> {
  const loaded = await Promise.all([...new Set(Object.values(groups))].map((load) => load()))
  const byName = new Map(loaded.flatMap((group) => group.operations).map((found) => [found.name, found]))
  return [...byName.values()].sort((a, b) => (a.name < b.name ? -1 : 1))
}

function groupOf(name: string): Group | undefined {
  const group = firstWord(name)
  return Object.hasOwn(groups, group) ? groups[group] : undefined
}

function firstWord(name: string): string {
  return name.split('.', 1)[0]!
}
