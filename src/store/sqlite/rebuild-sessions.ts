// Makes a damaged session database anew: from the rows that can still be read, from sessions.json, and from the
// transcripts. The damaged one is set aside, never deleted.
import { existsSync, readdirSync, readlinkSync, realpathSync, renameSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from '../../domain/clock.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import { silentLog } from '../../domain/log.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { readFileSafely, syncDirectory } from '../disk/atomic-file.ts'
import { Database } from './database.ts'
import { wholeEntry } from './entry-columns.ts'
import { recoverSessions, timestamp, transcriptIdsOf } from '../files/recover-sessions.ts'
import { keyFault } from '../session-rules.ts'
import { wholeRow } from './session-table.ts'
import type { SessionRow } from './session-table.ts'
import { parseSessions } from '../files/sessions-text.ts'
import { SqliteSessions } from './sessions.ts'

export interface RebuildOptions {
  agentId: string
  database: string
  /** The sessions.json beside it. */
  mirror: string
  clock?: Clock
}

export interface Rebuilt {
  sessions: number
  /** Where the damaged database is now. */
  aside: string
}

/** Refuses while another process has the database open. */
export async function rebuildSessionDatabase(options: RebuildOptions): Promise<Rebuilt> {
  const { agentId, database, mirror, clock = systemClock } = options
  refuseIfOpen(database)
  const entries = newestOf([rowsStillReadable(database), entriesIn(mirror), recoverSessions(mirror)?.entries])
  const aside = `${database}.corrupt-${timestamp(clock.now())}`
  for (const suffix of ['', '-wal', '-shm'])
    if (existsSync(database + suffix)) renameSync(database + suffix, aside + suffix)
  await syncDirectory(dirname(database))
  const store = new SqliteSessions({ agentId, database, mirror, clock, log: silentLog })
  const own = [...entries].filter(([key]) => keyFault(agentId, key) === undefined)
  await Promise.all(own.map(([key, entry]) => keep(store, key, entry)))
  await store.close()
  return { sessions: own.length, aside }
}

/** Of two sessions with one label, which only the file allowed, the first keeps it. */
async function keep(store: SqliteSessions, key: string, entry: SessionEntry): Promise<void> {
  try {
    await store.update(key, () => entry)
  } catch (error) {
    if (asRockpoolError(error).code !== 'conflict') throw error
    await store.update(key, () => ({ ...entry, label: undefined }))
  }
}

function newestOf(sources: Array<Map<string, SessionEntry> | undefined>): Map<string, SessionEntry> {
  const newest = new Map<string, SessionEntry>()
  const ids = new Set<string>()
  for (const [key, entry] of sources.flatMap((source) => [...(source ?? [])])) {
    const known = newest.get(key)
    // A transcript whose session is known by its key needs no second one.
    const own = transcriptIdsOf(entry)
    if (!known && key.includes(':recovered:') && own.some((id) => ids.has(id))) continue
    if (!known || entry.updatedAt > known.updatedAt) newest.set(key, entry)
    for (const id of own) ids.add(id)
  }
  return newest
}

/** Row by row, because one damaged page must not hide the others. */
function rowsStillReadable(path: string): Map<string, SessionEntry> {
  const entries = new Map<string, SessionEntry>()
  try {
    const db = Database.open(path, [], { readOnly: true })
    const last = db.read((q) => q.get<{ last: number }>('SELECT max(id) AS last FROM session'))?.last ?? 0
    for (let id = 1; id <= last; id++) {
      const row = readOrSkip(() => db.read((q) => q.get<SessionRow>(`${wholeRow} WHERE session.id = ?`, id)))
      if (row) entries.set(row.key, wholeEntry(row))
    }
    void db.close()
  } catch {
    // Nothing in it can be read; the other sources are left.
  }
  return entries
}

function entriesIn(path: string): Map<string, SessionEntry> | undefined {
  return readOrSkip(() => {
    const file = readFileSafely(path)
    return file && parseSessions(file.text, path).entries
  })
}

function readOrSkip<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch {
    // Damaged: that is why we are here. What else there is is still tried.
    return undefined
  }
}

/** A process that has it open would go on writing into the file that was set aside. */
function refuseIfOpen(path: string): void {
  const real = existsSync(path) ? realpathSync(path) : path
  const holder = processIds().find((pid) => pid !== process.pid && openFilesOf(pid).includes(real))
  if (holder === undefined) return
  throw new RockpoolError('busy', `${path} is open in process ${holder}.`, {
    hint: `End that process (\`kill ${holder}\`) and try again.`,
  })
}

function processIds(): number[] {
  return (readOrSkip(() => readdirSync('/proc')) ?? []).filter((name) => /^\d+$/.test(name)).map(Number)
}

function openFilesOf(pid: number): string[] {
  const names = readOrSkip(() => readdirSync(`/proc/${pid}/fd`)) ?? []
  return names.flatMap((name) => readOrSkip(() => readlinkSync(`/proc/${pid}/fd/${name}`)) ?? [])
}
