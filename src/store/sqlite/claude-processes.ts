// Which of Claude's processes are ours, and which of our processes writes to which Claude session. In a database of its
// own, so that all Rockpools of this state directory agree: a lease is looked at and taken in one step.
import { Database } from './database.ts'
import type { ProcessIdentity } from '../disk/process-identity.ts'
import { identifyProcess, isSameProcess } from '../disk/process-identity.ts'

const migrations = [
  `CREATE TABLE process (
     pid INTEGER NOT NULL, start_time TEXT NOT NULL, domain TEXT NOT NULL, key TEXT NOT NULL,
     owner_pid INTEGER NOT NULL, owner_start_time TEXT NOT NULL, owner_domain TEXT NOT NULL,
     PRIMARY KEY (pid, start_time, domain)
   ) STRICT, WITHOUT ROWID;
   CREATE TABLE lease (
     sdk_session_id TEXT PRIMARY KEY, key TEXT NOT NULL,
     owner_pid INTEGER NOT NULL, owner_start_time TEXT NOT NULL, owner_domain TEXT NOT NULL
   ) STRICT, WITHOUT ROWID;`,
]

interface OwnerRow {
  key: string
  owner_pid: number
  owner_start_time: string
  owner_domain: string
}
interface ProcessRow extends OwnerRow {
  pid: number
  start_time: string
  domain: string
}

export type Lease = { taken: true } | { taken: false; holder: { pid: number; key: string } }

export class ClaudeProcesses {
  #database: Database
  #self: ProcessIdentity

  constructor(path: string) {
    // A power cut ends every process, so losing the last rows to one does no harm.
    this.#database = Database.open(path, migrations, { durability: 'relaxed' })
    this.#self = identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', domain: '' }
  }

  async add(child: ProcessIdentity, key: string): Promise<void> {
    const { pid, startTime, domain } = this.#self
    await this.#database.write((q) =>
      q.run(
        'INSERT OR REPLACE INTO process VALUES (?, ?, ?, ?, ?, ?, ?)',
        child.pid,
        child.startTime,
        child.domain,
        key,
        pid,
        startTime,
        domain,
      ),
    )
  }

  async remove(child: ProcessIdentity): Promise<void> {
    await this.#database.write((q) =>
      q.run('DELETE FROM process WHERE pid = ? AND start_time = ?', child.pid, child.startTime),
    )
  }

  /** Processes of Claude whose Rockpool is gone, and which still run. Those of a living Rockpool are its own affair. */
  orphans(): ProcessIdentity[] {
    const rows = this.#database.read((q) => q.all<ProcessRow>('SELECT * FROM process'))
    return rows
      .filter((row) => !isSameProcess(ownerOf(row)))
      .map((row) => ({ pid: row.pid, startTime: row.start_time, domain: row.domain }))
      .filter(isSameProcess)
  }

  /** Forgets processes that ended and leases whose holder is gone. */
  async tidy(): Promise<void> {
    await this.#database.write((q) => {
      for (const row of q.all<ProcessRow>('SELECT * FROM process')) {
        const identity = { pid: row.pid, startTime: row.start_time, domain: row.domain }
        if (isSameProcess(identity)) continue
        q.run('DELETE FROM process WHERE pid = ? AND start_time = ?', row.pid, row.start_time)
      }
      for (const row of q.all<OwnerRow & { sdk_session_id: string }>('SELECT * FROM lease')) {
        if (!isSameProcess(ownerOf(row)))
          q.run('DELETE FROM lease WHERE sdk_session_id = ?', row.sdk_session_id)
      }
    })
  }

  /** One writer for each Claude session: taken if it is free, already ours, or its holder is gone. */
  lease(sdkSessionId: string, key: string): Promise<Lease> {
    const { pid, startTime, domain } = this.#self
    return this.#database.write<Lease>((q) => {
      const row = q.get<OwnerRow>('SELECT * FROM lease WHERE sdk_session_id = ?', sdkSessionId)
      const isOurs = row?.owner_pid === pid && row.owner_start_time === startTime && row.key === key
      if (row && !isOurs && isSameProcess(ownerOf(row))) {
        return { taken: false, holder: { pid: row.owner_pid, key: row.key } }
      }
      q.run('INSERT OR REPLACE INTO lease VALUES (?, ?, ?, ?, ?)', sdkSessionId, key, pid, startTime, domain)
      return { taken: true }
    })
  }

  async release(sdkSessionId: string, key: string): Promise<void> {
    await this.#database.write((q) =>
      q.run(
        'DELETE FROM lease WHERE sdk_session_id = ? AND key = ? AND owner_pid = ?',
        sdkSessionId,
        key,
        this.#self.pid,
      ),
    )
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

function ownerOf(row: OwnerRow): ProcessIdentity {
  return { pid: row.owner_pid, startTime: row.owner_start_time, domain: row.owner_domain }
}
