// The transcripts of the shared database as files of this machine, because the search index reads files. A copy follows by the
// transactions that changed its transcript. All copies can be deleted.
import { rmSync } from 'node:fs'
import { SharedRun } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { Database, openOrRecreate } from '../sqlite/database.ts'
import type { Postgres } from './connection.ts'
import {
  copyMigrations,
  copyPath,
  dropCopy,
  fromCopyRow,
  isCut,
  isDropped,
  isKept,
  putLines,
  removeCopy,
} from './transcript-copy-file.ts'
import type { CopyRow, SharedRow, TranscriptCopy } from './transcript-copy-file.ts'
import { pieceRows } from './transcript-rows.ts'

export interface CopyChanges {
  /** New, grown, or with another name. */
  changed: TranscriptCopy[]
  /** Removed from search. */
  dropped: TranscriptCopy[]
  /** Deleted. */
  gone: TranscriptCopy[]
}

/** Entries of one transcript that go into one statement. */
interface Piece {
  row: SharedRow
  after: number
  upTo: number
}

interface EntryRow {
  transcript: number
  id: string
  parent_id: string | null
  line: string
}

/** Removals are remembered for 90 days; after a longer pause everything is compared. */
const maxPauseMs = 60 * 86_400_000
const listRows = 2_000
/** Opening a file costs as much as writing this many entries. */
const entriesPerFile = 10

export class TranscriptCopies {
  #postgres: Postgres
  #clock: Clock
  #folder: string
  #db: Database
  #runs = new SharedRun(() => this.#run())
  #found = noChanges()

  constructor(postgres: Postgres, folder: string, clock: Clock) {
    this.#postgres = postgres
    this.#clock = clock
    this.#folder = folder
    this.#db = openCopies(folder)
  }

  /** Resolves when everything that was committed before is copied. */
  catchUp(): Promise<void> {
    return this.#runs.start()
  }

  takeChanges(): CopyChanges {
    const found = this.#found
    this.#found = noChanges()
    return found
  }

  all(): TranscriptCopy[] {
    const rows = this.#db.queries.all<CopyRow>(`SELECT * FROM copy WHERE ${isKept} ORDER BY changed_at`)
    return rows.map((row) => fromCopyRow(this.#folder, row))
  }

  /** Deletes all copies; the next run copies them again. */
  async clear(): Promise<void> {
    const all = this.all()
    // The row of a dropped copy stays: it has no file.
    await this.#db.write((q) => q.exec(`DELETE FROM copy WHERE ${isKept}; DELETE FROM cursor`))
    for (const { path } of all) rmSync(path, { force: true })
  }

  async close(): Promise<void> {
    await this.#runs.idle()
    await this.#db.close()
  }

  async #run(): Promise<void> {
    const [there] = await this.#postgres.read<{ origin: string; tx: string }>(
      'SELECT id AS origin, pg_snapshot_xmin(pg_current_snapshot())::text AS tx FROM record_origin',
    )
    const { origin, tx } = there!
    const here = this.#db.queries.get<{ origin: string; tx: string; at: number }>('SELECT * FROM cursor')
    // The copies of another database are useless, and their numbers mean other transcripts.
    if (here && here.origin !== origin) {
      await this.clear()
      await this.#db.write((q) => q.exec('DELETE FROM copy'))
    }
    const now = this.#clock.now()
    // A restored database restarts its transaction counter.
    const canContinue = here?.origin === origin && BigInt(here.tx) <= BigInt(tx) && now - here.at < maxPauseMs
    const found = canContinue ? await this.#changesSince(here.tx) : await this.#compareAll()
    this.#found.changed.push(...found.changed)
    this.#found.dropped.push(...found.dropped)
    this.#found.gone.push(...found.gone)
    if (here?.tx !== tx)
      await this.#db.write((q) => {
        q.run('DELETE FROM cursor')
        q.run('INSERT INTO cursor (origin, tx, at) VALUES (?, ?, ?)', origin, tx, now)
      })
  }

  async #changesSince(tx: string): Promise<CopyChanges> {
    // The limit makes the server use the index.
    const sql = `SELECT ${sharedColumns} FROM transcript WHERE changed >= $1::xid8 ORDER BY changed LIMIT ${listRows}`
    const rows = await this.#postgres.read<SharedRow>(sql, [tx])
    if (rows.length === listRows) return this.#compareAll()
    const gone = `SELECT name FROM gone WHERE kind = 'transcript' AND changed >= $1::xid8`
    const removed = await this.#postgres.read<{ name: string }>(gone, [tx])
    const changes = await this.#take(rows)
    changes.gone = await this.#remove(removed.map(({ name }) => Number(name)))
    return changes
  }

  async #compareAll(): Promise<CopyChanges> {
    // After a restore, numbers of earlier transactions are in the future and would look new for a long time.
    for (const table of ['transcript', 'gone'])
      await this.#postgres.repeat(
        `UPDATE ${table} SET changed = DEFAULT WHERE changed >= pg_snapshot_xmax(pg_current_snapshot())`,
      )
    const changes = noChanges()
    const left = new Set(this.#db.queries.all<{ id: number }>('SELECT id FROM copy').map(({ id }) => id))
    for (let last = 0; ;) {
      const sql = `SELECT ${sharedColumns} FROM transcript WHERE id > $1 ORDER BY id LIMIT ${listRows}`
      const rows = await this.#postgres.read<SharedRow>(sql, [last])
      const some = await this.#take(rows)
      changes.changed.push(...some.changed)
      changes.dropped.push(...some.dropped)
      for (const { id } of rows) left.delete(id)
      if (rows.length < listRows) break
      last = rows.at(-1)!.id
    }
    changes.gone = await this.#remove([...left])
    return changes
  }

  /** Brings the copies of these rows up to date. Deleted or replaced transcripts have no copy, so that search does not find them. */
  async #take(rows: SharedRow[]): Promise<CopyChanges> {
    const pieces: Piece[] = []
    const changed: number[] = []
    const unwanted: number[] = []
    for (const row of rows) {
      const had = this.#row(row.id)
      const isWanted = row.reason === null || row.reason === 'reset'
      if (!isWanted) unwanted.push(row.id)
      else if (had?.entries !== row.entries || had.name !== row.name) {
        pieces.push(...piecesOf(row, isCut(this.#folder, had) ? 0 : (had?.entries ?? 0)))
        changed.push(row.id)
      }
    }
    for (const group of groupsOf(pieces)) await this.#copy(group)
    const dropped = await this.#drop(unwanted)
    const copies = changed.flatMap((id) => this.#row(id) ?? []).map((row) => fromCopyRow(this.#folder, row))
    return { changed: copies, dropped, gone: [] }
  }

  async #copy(group: Piece[]): Promise<void> {
    const entries = await this.#postgres.read<EntryRow>(
      `SELECT e.transcript, e.id, e.parent_id, e.line
       FROM unnest($1::bigint[], $2::bigint[], $3::bigint[]) AS w (transcript, after, up_to)
       JOIN transcript_entry AS e ON e.transcript = w.transcript AND e.seq > w.after AND e.seq <= w.up_to
       ORDER BY e.transcript, e.seq`,
      [group.map(({ row }) => row.id), group.map(({ after }) => after), group.map(({ upTo }) => upTo)],
    )
    const byTranscript = Map.groupBy(entries, ({ transcript }) => transcript)
    await this.#db.write((q) => {
      for (const { row, after } of group)
        putLines(q, this.#folder, row, after, (byTranscript.get(row.id) ?? []).map(lineOf))
    })
  }

  async #drop(ids: number[]): Promise<TranscriptCopy[]> {
    const rows = ids.flatMap((id) => this.#row(id) ?? []).filter((row) => !isDropped(row))
    if (rows.length > 0) await this.#db.write((q) => rows.forEach((row) => dropCopy(q, this.#folder, row)))
    return rows.map((row) => fromCopyRow(this.#folder, row))
  }

  async #remove(ids: number[]): Promise<TranscriptCopy[]> {
    const rows = ids.flatMap((id) => this.#row(id) ?? [])
    if (rows.length > 0) await this.#db.write((q) => rows.forEach((row) => removeCopy(q, this.#folder, row)))
    return rows.map((row) => fromCopyRow(this.#folder, row))
  }

  #row(id: number): CopyRow | undefined {
    return this.#db.queries.get<CopyRow>('SELECT * FROM copy WHERE id = ?', id)
  }
}

function noChanges(): CopyChanges {
  return { changed: [], dropped: [], gone: [] }
}

const sharedColumns = 'id, agent, name, session_id, topic_id, header, entries, reason, changed_at'

/** Without its database the files of the copies are useless. */
function openCopies(folder: string): Database {
  return openOrRecreate(
    () => Database.open(copyPath(folder), copyMigrations, { durability: 'relaxed' }),
    () => rmSync(folder, { recursive: true, force: true }),
  )
}

function piecesOf(row: SharedRow, from: number): Piece[] {
  const pieces: Piece[] = []
  let after = from
  do {
    const upTo = Math.min(after + pieceRows, row.entries)
    pieces.push({ row, after, upTo })
    after = upTo
  } while (after < row.entries)
  return pieces
}

/** Small transcripts are read together, a long one in pieces. */
function groupsOf(pieces: Piece[]): Piece[][] {
  const groups: Piece[][] = []
  let room = 0
  for (const piece of pieces) {
    const size = Math.max(entriesPerFile, piece.upTo - piece.after)
    if (size > room || groups.at(-1)?.at(-1)?.row.id === piece.row.id) {
      groups.push([])
      room = pieceRows
    }
    groups.at(-1)!.push(piece)
    room -= size
  }
  return groups
}

/** The line of a transcript file: with id and parent, which are not part of the stored text. */
function lineOf({ id, parent_id: parentId, line }: EntryRow): string {
  const place = JSON.stringify({ id, parentId }).slice(0, -1)
  return line === '{}' ? `${place}}` : `${place},${line.slice(1)}`
}
