// Where the records of the vault are: its chunks, and the last version of each kept file. An index: the packs of the vault
// have all of it, and it is rebuilt from them when it is missing or damaged.
import type { Log } from '../../domain/log.ts'
import { Database, openOrRecreate, removeDatabase } from './database.ts'
import { insertRow, type Queries } from './queries.ts'
import { sqlFiles } from './migrations.ts'

export interface ChunkRow {
  /** As hexadecimal digits. */
  hash: string
  /** Where its record is, and where the chunk begins in the content of the record. */
  pack: string
  offset: number
  start: number
  /** Its share of the stored bytes. */
  stored: number
  raw: number
}

export interface SessionRow {
  session: string
  root: string
  path: string
  agent: string
  about: string
}

export interface FileRow {
  session: string
  /** The directory that `path` begins in: the config directory of the program that made the session. */
  root: string
  path: string
  agent: string
  size: number
  mtime: number
  inode: number
  keptAt: number
  pack: string
  offset: number
  /** How many chunks, from the beginning, end at a place that the content decided. The chunks after them are joined and cut again
   *  when more content follows. */
  settled: number
  /** The session as JSON, for lists; only of its main file. */
  about: string | null
  /** `[hash, bytes, 1 if the id of the session is masked][]` as JSON. */
  chunks: string
}

export interface RemovalRow {
  session: string
  at: number
  forever: number
  pack: string
  offset: number
}

const migrations = sqlFiles('vault/001-records.sql', 'vault/002-chunks-in-records.sql')
const fileColumns =
  'session, root, path, agent, size, mtime, inode, kept_at AS keptAt, pack, offset, settled, about, chunks'

/** Changes of one moment: written together, with how far the packs were read. */
export class VaultIndex {
  readonly #database: Database

  private constructor(database: Database) {
    this.#database = database
  }

  /** The index of an encrypted vault is in memory, because its texts must not be readable on disk. */
  static open(path: string, log: Log, { inMemory = false } = {}): VaultIndex {
    // From before the vault was encrypted.
    if (inMemory) removeDatabase(path)
    const place = inMemory ? ':memory:' : path
    const database = openOrRecreate(
      () => openChecked(place),
      ({ message }) => {
        log.warn(
          { event: 'vault-index-rebuilt', path, reason: message },
          'Rebuilding the index of the vault.',
        )
        removeDatabase(path)
      },
    )
    return new VaultIndex(database)
  }

  packs(): Map<string, number> {
    const rows = this.#database.read((q) =>
      q.all<{ name: string; scanned: number }>('SELECT name, scanned FROM pack'),
    )
    return new Map(rows.map(({ name, scanned }) => [name, scanned]))
  }

  chunk(hash: string): ChunkRow | undefined {
    return this.#database.read((q) => q.get<ChunkRow>('SELECT * FROM chunk WHERE hash = ?', hash))
  }

  chunks(pack: string): ChunkRow[] {
    return this.#database.read((q) => q.all<ChunkRow>('SELECT * FROM chunk WHERE pack = ?', pack))
  }

  file(session: string, root: string, path: string): FileRow | undefined {
    const sql = `SELECT ${fileColumns} FROM file WHERE session = ? AND root = ? AND path = ?`
    return this.#database.read((q) => q.get<FileRow>(sql, session, root, path))
  }

  /** The kept files of one session, or of all. */
  files(session?: string): FileRow[] {
    const where = session === undefined ? '' : 'WHERE session = ?'
    const values = session === undefined ? [] : [session]
    return this.#database.read((q) =>
      q.all<FileRow>(`SELECT ${fileColumns} FROM file ${where} ORDER BY session, path`, ...values),
    )
  }

  sessionIds(): string[] {
    const sql = 'SELECT session FROM file WHERE about IS NOT NULL'
    return this.#database.read((q) => q.all<{ session: string }>(sql)).map(({ session }) => session)
  }

  /** The main file of each session: only its place and the session as JSON. */
  sessions(): SessionRow[] {
    const sql = 'SELECT session, root, path, agent, about FROM file WHERE about IS NOT NULL'
    return this.#database.read((q) => q.all(sql))
  }

  removals(): RemovalRow[] {
    return this.#database.read((q) => q.all<RemovalRow>('SELECT * FROM removal'))
  }

  removal(session: string): RemovalRow | undefined {
    return this.#database.read((q) => q.get<RemovalRow>('SELECT * FROM removal WHERE session = ?', session))
  }

  write<T>(change: (rows: IndexChange) => T): Promise<T> {
    return this.#database.write((q) => change(new IndexChange(q)))
  }

  /** Leaves no byte of what was removed. */
  rewrite(): Promise<void> {
    return this.#database.rewrite()
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

/** One transaction. */
export class IndexChange {
  readonly #q: Queries

  constructor(q: Queries) {
    this.#q = q
  }

  addChunk(row: ChunkRow): void {
    insertRow(this.#q, 'chunk', { ...row })
  }

  addFile({ keptAt, ...row }: FileRow): void {
    insertRow(this.#q, 'file', { ...row, kept_at: keptAt })
  }

  /** Marks the file as changed: the vault reads all of it when it keeps it the next time. */
  distrust({ session, root, path }: Pick<FileRow, 'session' | 'root' | 'path'>): void {
    this.#q.run('UPDATE file SET inode = -1 WHERE session = ? AND root = ? AND path = ?', session, root, path)
  }

  forgetChunk(hash: string): void {
    this.#q.run('DELETE FROM chunk WHERE hash = ?', hash)
  }

  hasChunk(hash: string): boolean {
    return this.#q.get('SELECT 1 FROM chunk WHERE hash = ?', hash) !== undefined
  }

  hasFile({ session, root, path }: Pick<FileRow, 'session' | 'root' | 'path'>): boolean {
    const sql = 'SELECT 1 FROM file WHERE session = ? AND root = ? AND path = ?'
    return this.#q.get(sql, session, root, path) !== undefined
  }

  removeSession(row: RemovalRow): void {
    insertRow(this.#q, 'removal', { ...row })
    this.#q.run('DELETE FROM file WHERE session = ?', row.session)
  }

  setScanned(pack: string, scanned: number): void {
    insertRow(this.#q, 'pack', { name: pack, scanned })
  }

  clear(): void {
    for (const table of ['pack', 'chunk', 'file', 'removal']) this.#q.run(`DELETE FROM ${table}`)
  }
}

function openChecked(path: string): Database {
  return Database.open(path, migrations, { durability: 'relaxed', busyMs: 5_000 })
}
