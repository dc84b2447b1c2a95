// Stores the content of each note when this machine and the others last agreed (the base of a merge): without it, an addition
// here looks like a removal there. The file can be deleted; then differing notes are merged line by line.
import { Database, openOrRecreate, removeDatabase } from '../sqlite/database.ts'
import { sqlFiles } from '../sqlite/migrations.ts'

interface NoteBase {
  revision: number
  body: Buffer
  /** The version of the file that had this body; undefined if it may have changed. */
  seen?: string
}

interface Row {
  name: string
  revision: number
  body: Uint8Array
  seen: string | null
}

const migrations = sqlFiles('notes/001-bases.sql', 'notes/002-sent-changes.sql', 'notes/003-origin.sql')

export class NoteBases {
  #db: Database

  private constructor(db: Database) {
    this.#db = db
  }

  static open(path: string): NoteBases {
    return openOrRecreate(
      () => new NoteBases(Database.open(path, migrations, { durability: 'relaxed' })),
      () => removeDatabase(path),
    )
  }

  of(agentId: string): Map<string, { revision: number; seen: string | undefined }> {
    const sql = 'SELECT name, revision, seen FROM base WHERE agent = ?'
    const rows = this.#db.queries.all<Omit<Row, 'body'>>(sql, agentId)
    return new Map(rows.map(({ name, revision, seen }) => [name, { revision, seen: seen ?? undefined }]))
  }

  get(agentId: string, name: string): NoteBase | undefined {
    const row = this.#db.queries.get<Row>('SELECT * FROM base WHERE agent = ? AND name = ?', agentId, name)
    if (!row) return undefined
    const { revision, body, seen } = row
    return { revision, body: Buffer.from(body), seen: seen ?? undefined }
  }

  async set(agentId: string, name: string, { revision, body, seen }: NoteBase): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO base (agent, name, revision, body, seen) VALUES (?, ?, ?, ?, ?)'
    await this.#db.write((q) => {
      q.run(sql, agentId, name, revision, body, seen ?? null)
      q.run('DELETE FROM told WHERE agent = ? AND name = ?', agentId, name)
    })
  }

  /** The id of this machine in the stamps of its notes. */
  get machineId(): string {
    return this.#db.queries.get<{ id: string }>('SELECT id FROM home')!.id
  }

  /** Called before a change is sent: the database will have this body when it has this stamp. Killed processes may leave
   *  several of them. */
  async recordSent(agentId: string, name: string, stamp: string, body: Buffer): Promise<void> {
    const sql = 'INSERT OR REPLACE INTO told (agent, name, stamp, body) VALUES (?, ?, ?, ?)'
    await this.#db.write((q) => q.run(sql, agentId, name, stamp, body))
  }

  bodyOfStamp(agentId: string, name: string, stamp: string | null): Buffer | undefined {
    const sql = 'SELECT body FROM told WHERE agent = ? AND name = ? AND stamp = ?'
    const row = this.#db.queries.get<{ body: Uint8Array }>(sql, agentId, name, stamp)
    return row && Buffer.from(row.body)
  }

  async remove(agentId: string, name: string): Promise<void> {
    await this.#db.write((q) => q.run('DELETE FROM base WHERE agent = ? AND name = ?', agentId, name))
  }

  /** Clears the stored base versions of all notes if they come from another database than the one with this id. */
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
