// Rows of registries that name Claude's sessions: ours and OpenClaw's. They know what no transcript says: whose session it
// is, its label, what it was asked, what it may cost.
import type { SessionSource, SessionStatus } from '../domain/discovered-session.ts'
import type { Log } from '../domain/log.ts'
import { openclawReader } from '../store/openclaw/openclaw-stores.ts'
import type { OpenclawAgent } from '../store/openclaw/openclaw-stores.ts'

export interface RegistryRow {
  /** Claude's own id. */
  sessionId: string
  source: Exclude<SessionSource, 'native-only'>
  agentId: string
  /** The session of ours whose turns Claude keeps there. */
  chat?: string
  repoPath?: string
  label?: string
  totalCostUsd?: number
  totalTurns?: number
  lastTask?: string
  budgetUsd?: number
  createdAt?: number
  lastUsedAt?: number
  /** Only a source that runs the session itself knows this. */
  status?: SessionStatus
  waitingFor?: string
}

/** Asked at each look. */
export type RegistrySource = () => Promise<RegistryRow[]>

/** All rows of all sources; where two name one session, the first source wins and the second fills gaps. */
export async function readRegistries(
  sources: readonly RegistrySource[],
  log: Log,
): Promise<Map<string, RegistryRow>> {
  const rows = new Map<string, RegistryRow>()
  for (const source of sources) {
    for (const row of await ask(source, log)) {
      const id = row.sessionId.toLowerCase()
      const known = rows.get(id)
      rows.set(id, known ? { ...row, ...defined(known) } : row)
    }
  }
  return rows
}

/** The files of an OpenClaw state directory; ours has the same ones. */
export function openclawSource(
  stateDir: string,
  log: Log,
  source: RegistryRow['source'] = 'openclaw',
): RegistrySource {
  const readAgents = openclawReader(stateDir, log)
  return async () =>
    readAgents().flatMap((agent) =>
      [...codingRows(agent), ...chatRows(agent)].map((row) => ({ ...row, source })),
    )
}

/** The id that a session entry keeps for Claude, in any of the places where versions have put it. */
export function claudeIdOf(entry: Record<string, unknown>): string | undefined {
  const ids = entry['cliSessionIds']
  const bindings = entry['cliSessionBindings']
  const bound = isRecord(bindings) ? bindings['claude-cli'] : undefined
  return (
    text(entry['sdkSessionId']) ??
    (isRecord(ids) ? text(ids['claude-cli']) : undefined) ??
    text(entry['claudeCliSessionId']) ??
    (isRecord(bound) ? text(bound['sessionId']) : text(bound))
  )
}

function codingRows({ agentId, codingSessions }: OpenclawAgent): RegistryRow[] {
  return Object.entries(codingSessions).flatMap(([place, entry]): RegistryRow[] => {
    if (!isRecord(entry)) return []
    const sessionId = text(entry['sessionId'])
    if (sessionId === undefined) return []
    const [repoPath, labelInKey] = splitPlace(place)
    const tasks = Array.isArray(entry['taskHistory']) ? entry['taskHistory'] : []
    const last: unknown = tasks.at(-1)
    return [
      {
        sessionId,
        source: 'openclaw',
        agentId,
        repoPath,
        label: text(entry['label']) ?? labelInKey,
        totalCostUsd: number(entry['totalCostUsd']),
        totalTurns: number(entry['totalTurns']),
        lastTask: isRecord(last) ? text(last['task']) : undefined,
        createdAt: time(entry['createdAt']),
        lastUsedAt: time(entry['lastResumedAt']),
      },
    ]
  })
}

/** Chats that OpenClaw answers through Claude's command line. */
function chatRows({ agentId, sessions }: OpenclawAgent): RegistryRow[] {
  return Object.values(sessions).flatMap((entry): RegistryRow[] => {
    if (!isRecord(entry)) return []
    const sessionId = claudeIdOf(entry)
    if (sessionId === undefined) return []
    return [
      {
        sessionId,
        source: 'openclaw',
        agentId,
        label: text(entry['label']),
        totalCostUsd: number(entry['estimatedCostUsd']),
        repoPath: text(entry['spawnedCwd']),
        lastUsedAt: number(entry['updatedAt']),
      },
    ]
  })
}

/** `<repo>::<label>`; a path may itself contain colons, so the last pair counts. */
function splitPlace(place: string): [string, string | undefined] {
  const at = place.lastIndexOf('::')
  return at < 0 ? [place, undefined] : [place.slice(0, at), place.slice(at + 2)]
}

async function ask(source: RegistrySource, log: Log): Promise<RegistryRow[]> {
  try {
    return await source()
  } catch (error) {
    log.warn(
      { event: 'registry-unreadable', reason: String(error) },
      'Could not read a session registry; sessions are listed without its data.',
    )
    return []
  }
}

function defined(row: RegistryRow): Partial<RegistryRow> {
  return Object.fromEntries(Object.entries(row).filter(([, value]) => value !== undefined))
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 2_000) : undefined
}

function number(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined
}

function time(value: unknown): number | undefined {
  const at = typeof value === 'string' ? Date.parse(value) : Number.NaN
  return Number.isNaN(at) ? undefined : at
}
