// Registries of sessions. Rockpool's and OpenClaw's rows say what no transcript says: the owner, the label, the task, the budget.
// Claude Code's own registry says which sessions are live.
import { join } from 'node:path'
import type { SessionState } from '../domain/coding-state.ts'
import type { SessionSource, SessionStatus } from '../domain/discovered-session.ts'
import { isRecord } from '../domain/json.ts'
import type { Log } from '../domain/log.ts'
import { namesIn, readForeign } from '../store/disk/foreign-file.ts'
import { isClaudesProcess } from '../store/disk/process-identity.ts'
import { openclawReader, type OpenClawStores } from '../store/openclaw/openclaw-stores.ts'

export interface RegistryRow {
  /** Claude's own id. */
  sessionId: string
  source: Exclude<SessionSource, 'native-only'>
  agentId: string
  /** The id of our chat session whose turns this session contains. */
  chat?: string
  repoPath?: string
  label?: string
  totalCostUsd?: number
  totalTurns?: number
  lastTask?: string
  budgetUsd?: number
  createdAt?: number
  /** Only a source that runs the session itself knows this. */
  status?: SessionStatus
  /** The word for people; also of a coding session that runs no more. */
  state?: SessionState
  waitingFor?: string
}

/** Called at each refresh. */
export type RegistrySource = () => Promise<RegistryRow[]>

/** All rows of all sources by session; of two rows for one session, the first source wins and the second fills gaps. */
export async function readRegistries(
  sources: readonly RegistrySource[],
  log: Log,
): Promise<Map<string, RegistryRow>> {
  const rows = new Map<string, RegistryRow>()
  for (const source of sources) {
    for (const row of await readSource(source, log)) {
      const id = sameId(row.sessionId)
      const known = rows.get(id)
      rows.set(id, known ? { ...row, ...defined(known) } : row)
    }
  }
  return rows
}

/** Letters in a UUID may be large or small; in the id of another agent they differ. */
function sameId(id: string): string {
  return /^[0-9a-f-]{36}$/i.test(id) ? id.toLowerCase() : id
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

/** Claude's id in a session entry, in any of the fields where versions have put it. */
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

function codingRows({ agentId, codingSessions }: OpenClawStores): RegistryRow[] {
  return Object.entries(codingSessions).flatMap(([key, entry]): RegistryRow[] => {
    if (!isRecord(entry)) return []
    const sessionId = text(entry['sessionId'])
    if (sessionId === undefined) return []
    const [repoPath, labelInKey] = splitKey(key)
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
      },
    ]
  })
}

/** Chats that OpenClaw answers through Claude's command line. */
function chatRows({ agentId, sessions }: OpenClawStores): RegistryRow[] {
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
      },
    ]
  })
}

/** `<repo>::<label>`. A path may contain colons, so the last pair separates. */
function splitKey(key: string): [string, string | undefined] {
  const at = key.lastIndexOf('::')
  return at < 0 ? [key, undefined] : [key.slice(0, at), key.slice(at + 2)]
}

async function readSource(source: RegistrySource, log: Log): Promise<RegistryRow[]> {
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

export interface LiveSession {
  sessionId: string
  pid: number
  status: Exclude<SessionStatus, 'stopped'>
  /** Since when it has this status; 0 in versions that do not say. */
  statusAt: number
  waitingFor?: string
  /** As the session reported it (live-reports.ts). */
  stateText?: string
}

/** Entries have a few hundred bytes. */
const mostBytes = 65_536

/**
 * Claude Code writes `<config>/sessions/<pid>.json` for every process and removes it at a clean end. After a kill the file stays
 * and the pid may be reused, so each entry is checked against its process. The `.key` files beside them are secrets of those
 * processes and are never opened.
 */
export function readLiveSessions(configDirs: readonly string[]): Map<string, LiveSession> {
  const live = new Map<string, LiveSession>()
  for (const configDir of configDirs) {
    const folder = join(configDir, 'sessions')
    for (const name of namesIn(folder)) {
      if (!/^\d+\.json$/.test(name)) continue
      const session = readEntry(join(folder, name))
      if (session) live.set(session.sessionId, session)
    }
  }
  return live
}

function readEntry(path: string): LiveSession | undefined {
  let entry: unknown
  try {
    entry = JSON.parse(readForeign(path, mostBytes).toString('utf8'))
  } catch {
    // It is being written or was just removed; the next refresh reads it.
    return undefined
  }
  if (!isRecord(entry)) return undefined
  const { pid, sessionId, procStart, pidDomain, status, statusUpdatedAt, waitingFor } = entry
  if (typeof pid !== 'number' || typeof sessionId !== 'string' || typeof procStart !== 'string')
    return undefined
  if (!isClaudesProcess({ pid, procStart, pidDomain })) return undefined
  return {
    sessionId: sessionId.toLowerCase(),
    pid,
    status: status === 'busy' || status === 'waiting' ? status : 'idle',
    statusAt: number(statusUpdatedAt) ?? 0,
    waitingFor: text(waitingFor),
  }
}
