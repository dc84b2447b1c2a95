// What each note was when this machine and the others agreed about it: without that nobody could tell what was added here
// from what was removed there. It can be thrown away; then what differs is joined line by line.
import { Database } from '../sqlite/database.ts'
import { openOrMakeAnew, removeDatabase } from '../sqlite/disposable-database.ts'

export interface NoteBase {
  revision: number
  body: Buffer
  /** The file as it was seen with this body; none when it may be another one. */
  seen?: string
}

interface Row {
  name: string
  revision: number
  body: Uint8Array
  seen: string | null
}

const migrations = [
  `CREATE TABLE base (
     agent TEXT NOT NULL, name TEXT NOT NULL, revision INTEGER NOT NULL, body BLOB NOT NULL, seen TEXT,
     PRIMARY KEY (agent, name)
   ) STRICT;`,
  // What the others are being told, under a stamp by which it is known whether they heard it; and whose stamps these are.
  `CREATE TABLE told (
     agent TEXT NOT NULL, name TEXT NOT NULL, stamp TEXT NOT NULL, body BLOB NOT NULL, PRIMARY KEY (agent, name, stamp)
   ) STRICT;
   CREATE TABLE home (id TEXT NOT NULL) STRICT;
   INSERT INTO home VALUES (lower(hex(randomblob(16))));`,
  'CREATE TABLE origin (id TEXT NOT NULL) STRICT',
]

export class NoteBases {
  #db: Database

  private constructor(db: Database) {
    this.#db = db
  }

  static open(path: string): NoteBases {
    return openOrMakeAnew(
      () => new NoteBases(Database.open(path, migrations, { durability: 'relaxed' })),
      () => removeDatabase(path),
    )
  }

  /** By name, without what they say. */
  of(agentId: string): Map<string, { revision: number; seen: string | undefined }> {
    const rows = this.#db.queries.all<Omit<Row, 'body'>>(
      'SELECT name, revision, seen FROM base WHERE agent = ?',
      agentId,
    )
    return new Map(rows.map(({ name, revision, seen }) => [name, { revision, seen: seen ?? undefined }]))
  }

  get(agentId: string, name: string): NoteBase | undefined {
    const row = this.#db.queries.get<Row>('SELECT * FROM base WHERE agent = ? AND name = ?', agentId, name)
    if (!row) return undefined
    const { revision, body, seen } = row
    return { revision, body: Buffer.from(body), ...(seen === null ? {} : { seen }) }
  }

  async set(agentId: string, name: string, { revision, body, seen }: NoteBase): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO base (agent, name, revision, body, seen) VALUES (?, ?, ?, ?, ?)'
    await this.#db.write((q) => {
      q.run(sql, agentId, name, revision, body, seen ?? null)
      q.run('DELETE FROM told WHERE agent = ? AND name = ?', agentId, name)
    })
  }

  /** This machine, as the stamps of its notes name it. */
  get home(): string {
    return this.#db.queries.get<{ id: string }>('SELECT id FROM home')!.id
  }

  /** Before the others are told: what they will have of this machine's note when they have this stamp. Several may be under
   *  way, of processes that were killed. */
  async tell(agentId: string, name: string, stamp: string, body: Buffer): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO told (agent, name, stamp, body) VALUES (?, ?, ?, ?)'
    await this.#db.write((q) => q.run(sql, agentId, name, stamp, body))
  }

  /** What they have of it, if that is their stamp. */
  told(agentId: string, name: string, stamp: string | null): Buffer | undefined {
    const row = this.#db.queries.get<{ body: Uint8Array }>(
      'SELECT body FROM told WHERE agent = ? AND name = ? AND stamp = ?',
      agentId,
      name,
      stamp,
    )
    return row && Buffer.from(row.body)
  }

  async remove(agentId: string, name: string): Promise<void> {
    await this.#db.write((q) => q.run('DELETE FROM base WHERE agent = ? AND name = ?', agentId, name))
  }

  /** What was agreed with another database is worth nothing. */
  async checkOrigin(id: string): Promise<void> {
    const known = this.#db.queries.get<{ id: string }>('SELECT id FROM origin')?.id
    if (known === id) return
    await this.#db.write((q) => {
      if (known !== undefined) q.exec('DELETE FROM base; DELETE FROM told')
      q.exec('DELETE FROM origin')
      q.run('INSERT INTO origin VALUES (?)', id)
    })
  }

  async forget(agentId: string): Promise<void> {
    await this.#db.write((q) => q.run('DELETE FROM base WHERE agent = ?', agentId))
  }

  close(): Promise<void> {
    return this.#db.close()
  }
}
