// Rebuilds a damaged session database: from the rows that can still be read, from sessions.json, and from the
// transcripts. The damaged database is renamed, never deleted.
import { systemClock } from '../../domain/clock.ts'
import { asRockpoolError, attempt } from '../../domain/errors.ts'
import { silentLog } from '../../domain/log.ts'
import type { SessionEntry } from '../../domain/session.ts'
import { readFileSafely } from '../disk/atomic-file.ts'
import { Database } from './database.ts'
import { leanEntry, wholeEntry } from './entry-columns.ts'
import { recoverSessions, transcriptIdsOf } from '../files/recover-sessions.ts'
import { entryFault, keyFault } from '../session-rules.ts'
import { leanRow, pagesOf, readStoreState, wholeRow, type LeanRow, type SessionRow } from './session-table.ts'
import { parseSessions } from '../files/sessions-text.ts'
import { SqliteSessions } from './sessions.ts'
import { refuseIfOpen, setDatabaseAside } from './set-aside.ts'

interface RebuildOptions {
  agentId: string
  database: string
  /** The sessions.json beside it. */
  mirror: string
}

interface Rebuilt {
  sessions: number
  /** Where the damaged database is now. */
  aside: string
}

/** Describes damaged entries, at most five. SQLite's own check does not look inside texts. */
export function damagedRows(db: Database): string[] {
  const faults: string[] = []
  for (const rows of pagesOf(db, 100)) {
    faults.push(...rows.flatMap(faultOfRow))
    if (faults.length >= 5) break
  }
  db.read(readStoreState)
  return faults.slice(0, 5)
}

function faultOfRow(row: SessionRow): string[] {
  try {
    const fault = entryFault(wholeEntry(row))
    return fault === undefined ? [] : [`the entry of ${row.key} ${fault}`]
  } catch (error) {
    return [asRockpoolError(error).message]
  }
}

/** Rejects while another process has the database open. The caller has closed it in this process. */
export async function rebuildSessionDatabase(options: RebuildOptions): Promise<Rebuilt> {
  const { agentId, database, mirror } = options
  refuseIfOpen(database)
  const { versions, deletedAt } = rowsStillReadable(database)
  const elsewhere = [...plain(entriesIn(mirror)), ...plain(recoverSessions(mirror)?.entries)]
  const present = elsewhere.filter(({ key, entry }) => !((deletedAt.get(key) ?? -1) >= entry.updatedAt))
  const entries = bestOf([...present, ...versions])
  const aside = await setDatabaseAside(database)
  const store = new SqliteSessions({ agentId, database, mirror, clock: systemClock, log: silentLog })
  const own = [...entries].filter(([key]) => keyFault(agentId, key) === undefined)
  await Promise.all(own.map(([key, entry]) => keep(store, key, entry)))
  // Opening the store imported the copy, which may be older than a deletion.
  for (const key of deletedAt.keys()) if (!entries.has(key)) await store.delete(key)
  await store.close()
  return { sessions: own.length, aside }
}

/** Of two sessions with the same label (sessions.json allowed that) the first keeps it. */
async function keep(store: SqliteSessions, key: string, entry: SessionEntry): Promise<void> {
  try {
    await store.update(key, () => entry)
  } catch (error) {
    if (asRockpoolError(error).code !== 'conflict') throw error
    await store.update(key, () => ({ ...entry, label: undefined }))
  }
}

/** One version of a session, and how far it can be trusted. */
interface Version {
  key: string
  entry: SessionEntry
  /** `checked`: its checksum is right. `plain`: it has none. `doubtful`: it is wrong, or a part is missing. */
  trust: 'checked' | 'plain' | 'doubtful'
}

/** The newest version of each session. A doubtful version is used only if there is no other. */
function bestOf(versions: Version[]): Map<string, SessionEntry> {
  const best = new Map<string, SessionEntry>()
  const ids = new Set<string>()
  for (const { key, entry, trust } of versions.toSorted((a, b) => rank(a) - rank(b))) {
    const known = best.get(key)
    const own = transcriptIdsOf(entry)
    // The key itself may be damaged or recovered: a session that is known by another key is skipped.
    const isWeak = trust === 'doubtful' || isRecovered(key)
    if (isWeak && (known || own.some((id) => ids.has(id)))) continue
    if (!known || entry.updatedAt > known.updatedAt) best.set(key, entry)
    for (const id of own) ids.add(id)
  }
  return best
}

/** Of equally new versions the one with the lower rank is used. */
function rank({ key, trust }: Version): number {
  if (isRecovered(key)) return 3
  return { checked: 0, plain: 1, doubtful: 2 }[trust]
}

const isRecovered = (key: string): boolean => key.includes(':recovered:')

function plain(entries: Map<string, SessionEntry> | undefined): Version[] {
  return [...(entries ?? [])].map(([key, entry]) => ({ key, entry, trust: 'plain' }))
}

/** Row by row, so that one damaged page does not hide the others. */
function rowsStillReadable(path: string): { versions: Version[]; deletedAt: Map<string, number> } {
  const none = { versions: [], deletedAt: new Map<string, number>() }
  return (
    attempt(() => {
      const db = Database.open(path, [], { readOnly: true })
      const versions = idsIn(db).flatMap((id) => attempt(() => versionOf(db, id)) ?? [])
      const deleted = readSome<{ key: string; at: number }>(db, 'SELECT key, at FROM deleted_session')
      void db.close()
      return { versions, deletedAt: new Map(deleted.map(({ key, at }) => [key, at])) }
    }) ?? none
  )
}

/** From both ends of the table and from an index, because a scan ends at the first damaged page. */
function idsIn(db: Database): number[] {
  const scans = ['ORDER BY id', 'ORDER BY id DESC', 'ORDER BY key', 'ORDER BY session_id']
  const rows = scans.flatMap((order) => readSome<{ id: number }>(db, `SELECT id FROM session ${order}`))
  return [...new Set(rows.map(({ id }) => id))]
}

/** The rows up to the first that cannot be read. */
function readSome<T>(db: Database, sql: string): T[] {
  const rows: T[] = []
  attempt(() =>
    db.read((q) => {
      for (const row of q.each<T>(sql)) rows.push(row)
    }),
  )
  return rows
}

function versionOf(db: Database, id: number): Version | undefined {
  const whole = attempt(() => db.read((q) => q.get<SessionRow>(`${wholeRow} WHERE session.id = ?`, id)))
  const entry = whole && attempt(() => wholeEntry(whole))
  if (entry && entryFault(entry) === undefined)
    return { key: whole.key, entry, trust: typeof whole.checksum === 'number' ? 'checked' : 'plain' }
  const lean = db.read((q) => q.get<LeanRow>(`${leanRow} WHERE id = ?`, id))
  const doubtful = lean && leanEntry({ key: lean.key, entry: lean.entry })
  if (entryFault(doubtful) !== undefined) return undefined
  return { key: lean!.key, entry: { ...doubtful!, updatedAt: doubtful!.updatedAt ?? 0 }, trust: 'doubtful' }
}

function entriesIn(path: string): Map<string, SessionEntry> | undefined {
  return attempt(() => {
    const file = readFileSafely(path)
    return file && parseSessions(file.text, path).entries
  })
}
