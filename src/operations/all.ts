// The registry: which files contain the operations of a group, and performing an operation by its name. The group is the first word
// of a name (`sessions.list`), and only the requested group is loaded. Operations themselves use perform-operation.ts: they cannot
// import the registry, which imports them.
import { RockpoolError } from '../domain/errors.ts'
import type { App } from './app.ts'
import type { Caller, Operation } from './operation.ts'
import { performOperation } from './perform-operation.ts'

type Group = () => Promise<{ operations: Operation[] }>

/** A group whose operations are in several files. */
const merged =
  (...loads: Group[]): Group =>
  async () => ({
    operations: (await Promise.all(loads.map((load) => load()))).flatMap((one) => one.operations),
  })

const access: Group = () => import('./system/access-tokens.ts')
const upkeep: Group = () => import('./system/upkeep.ts')
const system: Group = () => import('./system/system.ts')

const groups: Readonly<Record<string, Group>> = {
  sessions: merged(
    () => import('./sessions/session-read.ts'),
    () => import('./sessions/session-history.ts'),
    () => import('./sessions/session-patch.ts'),
    () => import('./sessions/session-life.ts'),
    () => import('./sessions/session-archives.ts'),
    () => import('./sessions/session-compact.ts'),
    () => import('./sessions/session-export.ts'),
    () => import('./sessions/session-spawn.ts'),
  ),
  agents: () => import('./system/agent-operations.ts'),
  turns: () => import('./turns/turns.ts'),
  cc: merged(
    () => import('./cc/cc.ts'),
    () => import('./cc/cc-read.ts'),
    () => import('./cc/cc-quiet.ts'),
    () => import('./cc/cc-handoff.ts'),
    () => import('./cc/cc-trim.ts'),
    () => import('./cc/select-session.ts'),
    () => import('./cc/similar-sessions.ts'),
  ),
  project: () => import('./cc/projects.ts'),
  coding: merged(
    () => import('./coding/coding-operations.ts'),
    () => import('./coding/coding-move.ts'),
    () => import('./coding/coding-watch.ts'),
    () => import('./coding/review-operations.ts'),
  ),
  approvals: () => import('./coding/approval-operations.ts'),
  rules: () => import('./coding/rule-operations.ts'),
  schedules: () => import('./schedules/schedule-operations.ts'),
  mail: () => import('./mail/mail-operations.ts'),
  tokens: access,
  dashboard: access,
  channels: () => import('./people/channel-operations.ts'),
  devices: () => import('./people/device-operations.ts'),
  openclaw: merged(
    () => import('./openclaw/openclaw-operations.ts'),
    () => import('./openclaw/openclaw-command.ts'),
  ),
  'claude-plugin': () => import('./claude-plugin/claude-plugin-operations.ts'),
  message: () => import('./turns/send-message.ts'),
  memory: () => import('./search/note-operations.ts'),
  pairing: () => import('./people/pairing.ts'),
  web: () => import('./turns/web-chat.ts'),
  doctor: upkeep,
  backup: upkeep,
  db: () => import('./system/db.ts'),
  vault: merged(
    () => import('./vault/vault-operations.ts'),
    () => import('./vault/restore-operations.ts'),
    () => import('./vault/retention-operations.ts'),
  ),
  machines: () => import('./coding/machine-operations.ts'),
  why: () => import('./why/why-operations.ts'),
  config: () => import('./system/config-operations.ts'),
  health: system,
  logs: system,
  status: () => import('./system/status.ts'),
}

/** Frequent commands, loaded without the rest of their group. */
const singleOperations: Readonly<Record<string, () => Promise<Operation>>> = {
  'sessions.search': async () => (await import('./search/search-sessions.ts')).searchSessions,
  'cc.list': async () => (await import('./cc/cc-list.ts')).listSessions,
  'sessions.list': async () => (await import('./sessions/session-list.ts')).listSessions,
}

/** The operation with exactly this name; aliases are resolved before. */
export async function findOperation(name: string): Promise<Operation | undefined> {
  if (Object.hasOwn(singleOperations, name)) return singleOperations[name]!()
  const group = name.split('.', 1)[0]!
  if (!Object.hasOwn(groups, group)) return undefined
  return (await groups[group]!()).operations.find((operation) => operation.name === name)
}

/** Every operation, sorted by name. Slow: for the reference page, the catalog and the MCP server. */
export async function allOperations(): Promise<Operation[]> {
  const grouped = await Promise.all([...new Set(Object.values(groups))].map((load) => load()))
  const single = await Promise.all(Object.values(singleOperations).map((load) => load()))
  return [...grouped.flatMap((group) => group.operations), ...single].sort((a, b) =>
    a.name < b.name ? -1 : 1,
  )
}

export async function perform(
  app: App,
  name: string,
  input: Record<string, unknown>,
  caller: Caller,
): Promise<unknown> {
  const operation = await findOperation(name)
  if (!operation) throw unknownOperation(name)
  return performOperation(app, operation, input, caller)
}

export function unknownOperation(name: string): RockpoolError {
  return new RockpoolError('not-found', `There is no operation ${JSON.stringify(name.slice(0, 80))}.`, {
    hint: 'docs/operations.md lists them all.',
  })
}
