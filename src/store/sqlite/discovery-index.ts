// The facts read from transcripts, so that the next scan reads only new lines. An index: it may be deleted at any
// time, and is when it is damaged or was made by another version.
import type { TranscriptEdits } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { Database, openOrRecreate, removeDatabase } from './database.ts'
import { insertRow } from './queries.ts'
import { sqlFiles } from './migrations.ts'

/** A transcript file, and how it was when it was last read. */
export interface FilePlace {
  path: string
  inode: number
  size: number
  mtimeMs: number
}

export interface IndexedFile extends FilePlace {
  /** 1 when it ended in the middle of a line. A number, as in the database, because thousands of rows are read. */
  torn: number
  /** The facts of every file that lists need, in the scanner's own format. */
  listFacts: string
}

/** With the tables that are packed by the scanner. */
export interface ScannedFile extends IndexedFile {
  /** The session that it belongs to; empty if it names none. */
  sessionId: string
  /** The result of the scan, in the scanner's own format. */
  facts: string
  /** A digest of the last bytes that were read: if they are still there, the file has only grown. */
  mark: string
  usage: Uint8Array
  edits: Uint8Array
  /** Which file names the edits are about. */
  editedNames: Uint8Array
}

const migrations = sqlFiles(
  'discovery/001-files.sql',
  'discovery/002-one-table.sql',
  'discovery/003-edits.sql',
  'discovery/004-briefs.sql',
  'discovery/005-list-facts.sql',
)

const columns = 'path, inode, size, mtime AS mtimeMs, torn, list_facts AS listFacts'
const withFacts = 'file JOIN facts USING (id)'
/** The id of a file stays the same, because its facts have it too. */
const upsertFile = `INSERT INTO file (path, inode, size, mtime, torn, list_facts) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (path) DO UPDATE
  SET inode = excluded.inode, size = excluded.size, mtime = excluded.mtime, torn = excluded.torn, list_facts = excluded.list_facts
  RETURNING id`

export class DiscoveryIndex {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /** `format` names what `facts` and usage records look like; an index of another format is emptied. */
  static open(path: string, format: string, log: Log): DiscoveryIndex {
    const database = openOrRebuild(path, log)
    const known = database.read((q) => q.get<{ name: string }>('SELECT name FROM format'))?.name
    if (known !== format) {
      // A newer format may have to omit what the older one kept, so its bytes are overwritten.
      database.queries.exec(
        'PRAGMA secure_delete = ON; BEGIN IMMEDIATE; DELETE FROM file; DELETE FROM facts; DELETE FROM edits; DELETE FROM format',
      )
      database.queries.run('INSERT INTO format (name) VALUES (?)', format)
      database.queries.exec('COMMIT; PRAGMA secure_delete = OFF')
    }
    return new DiscoveryIndex(database)
  }

  /** One after another: there may be tens of thousands. */
  *files(): Generator<IndexedFile> {
    yield* this.#database.read((q) => q.each<IndexedFile>(`SELECT ${columns} FROM file`))
    // A gateway reads all rows once; the map would count as its memory from then on.
    this.#database.queries.exec('PRAGMA mmap_size = 0')
  }

  filesAt(paths: string[]): IndexedFile[] {
    const sql = `SELECT ${columns} FROM file WHERE path IN (SELECT value FROM json_each(?))`
    return this.#database.read((q) => q.all<IndexedFile>(sql, JSON.stringify(paths)))
  }

  factsAt(paths: string[]): Array<Pick<ScannedFile, 'path' | 'facts'>> {
    const sql = `SELECT path, facts FROM ${withFacts} WHERE path IN (SELECT value FROM json_each(?))`
    return this.#database.read((q) => q.all(sql, JSON.stringify(paths)))
  }

  /** What a scan of a file that has grown continues from. */
  scanned(path: string): Pick<ScannedFile, 'facts' | 'mark' | 'usage'> | undefined {
    const sql = `SELECT facts, mark, usage FROM ${withFacts} WHERE path = ?`
    return this.#database.read((q) => q.get(sql, path))
  }

  /** The usage of every file that has any, with the names of its models as JSON. A damaged row is left out. */
  *allUsage(): Generator<{ path: string; usage: Uint8Array; models: string }> {
    const sql = `SELECT path, usage, facts ->> '$.models' AS models FROM ${withFacts}
      WHERE length(usage) > 0 AND json_valid(facts)`
    yield* this.#database.read((q) => q.each<{ path: string; usage: Uint8Array; models: string }>(sql))
  }

  places(): FilePlace[] {
    return this.#database.read((q) =>
      q.all<FilePlace>('SELECT path, inode, size, mtime AS mtimeMs FROM file'),
    )
  }

  /** Every transcript that has edits, or whose names may contain one of these, with the names of the files. */
  editedNames(some?: readonly Uint8Array[]): Array<{ path: string; sessionId: string; names: Uint8Array }> {
    const where = some ? `WHERE ${some.map(() => 'instr(names, ?)').join(' OR ')}` : ''
    const sql = `SELECT path, session AS sessionId, names FROM edits ${where}`
    return this.#database.read((q) => q.all(sql, ...(some ?? [])))
  }

  edits(paths: string[]): Array<Omit<TranscriptEdits, 'agentKind'>> {
    const sql =
      'SELECT path, session AS sessionId, edits FROM edits WHERE path IN (SELECT value FROM json_each(?))'
    return this.#database.read((q) => q.all(sql, JSON.stringify(paths)))
  }

  save(files: ScannedFile[]): Promise<void> {
    return this.#database.write((q) => {
      for (const { path, inode, size, mtimeMs, torn, listFacts, ...scanned } of files) {
        const { id } = q.get<{ id: number }>(upsertFile, path, inode, size, mtimeMs, torn, listFacts)!
        const { mark, facts, usage, sessionId: session, editedNames: names, edits } = scanned
        insertRow(q, 'facts', { id, mark, facts, usage })
        if (edits.byteLength > 0) insertRow(q, 'edits', { path, session, names, edits })
        else q.run('DELETE FROM edits WHERE path = ?', path)
      }
    })
  }

  remove(paths: string[]): Promise<void> {
    return this.#database.write((q) => {
      for (const path of paths) {
        q.run('DELETE FROM facts WHERE id = (SELECT id FROM file WHERE path = ?)', path)
        for (const table of ['file', 'edits']) q.run(`DELETE FROM ${table} WHERE path = ?`, path)
      }
    })
  }

  /** Leaves no byte of what was removed. */
  rewrite(): Promise<void> {
    return this.#database.rewrite()
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** The whole index of some ten thousand transcripts; what is mapped counts as memory of the process. */
const mappedBytes = 1 << 25

function openOrRebuild(path: string, log: Log): Database {
  try {
    return openOrRecreate(
      () => openDatabase(path),
      ({ message }) => {
        log.warn(
          { event: 'discovery-index-rebuilt', path, reason: message },
          'Could not use the discovery index; rebuilding it from the transcripts.',
        )
        removeDatabase(path)
      },
    )
  } catch (error) {
    if (!(error instanceof RockpoolError) || error.code !== 'disk-failed') throw error
    log.warn(
      { event: 'discovery-index-unusable', path, reason: error.message },
      'Could not open the discovery index; every listing reads all files.',
    )
    return Database.open(':memory:', migrations)
  }
}

/** Opens the database and reads every table: a damaged page is noticed only when it is read. */
function openDatabase(path: string): Database {
  const database = Database.open(path, migrations, { durability: 'relaxed', busyMs: 3_000 })
  try {
    // Every scan reads all rows: with a memory map that is one pass over memory instead of one call per page.
    database.queries.exec(`PRAGMA mmap_size = ${mappedBytes}`)
    for (const table of ['format', 'file', 'edits'])
      database.read((q) => q.all(`SELECT count(*) FROM ${table}`))
  } catch (error) {
    void database.close()
    throw new RockpoolError('damaged', `${path} cannot be read: ${String(error)}.`, { cause: error })
  }
  return database
}
