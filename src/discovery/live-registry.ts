// Who is live: Claude Code writes `<config>/sessions/<pid>.json` for every process and removes it at a clean end. After a
// kill the file stays, and numbers of processes are given out again, so each is checked against the process itself.
// The `.key` files beside them are secrets of those processes and are never opened.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { SessionStatus } from '../domain/discovered-session.ts'
import { isClaudesProcess } from '../store/disk/process-identity.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

export interface LiveSession {
  sessionId: string
  pid: number
  status: Exclude<SessionStatus, 'stopped'>
  waitingFor?: string
  cwd?: string
  name?: string
  entrypoint?: string
}

/** Entries of the registry have a few hundred bytes. */
const mostBytes = 65_536

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
    // It is being written or was just removed; the next look sees it whole.
    return undefined
  }
  if (typeof entry !== 'object' || entry === null) return undefined
  const { pid, sessionId, procStart, pidDomain, status, ...rest } = entry as Record<string, unknown>
  if (typeof pid !== 'number' || typeof sessionId !== 'string' || typeof procStart !== 'string')
    return undefined
  if (!isClaudesProcess({ pid, procStart, pidDomain })) return undefined
  return {
    sessionId: sessionId.toLowerCase(),
    pid,
    status: status === 'busy' || status === 'waiting' ? status : 'idle',
    waitingFor: text(rest['waitingFor']),
    cwd: text(rest['cwd']),
    name: text(rest['name']),
    entrypoint: text(rest['entrypoint']),
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // No such folder: nothing of this kind ever ran here.
    return []
  }
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value.slice(0, 2_000) : undefined
}
