// Which Claude processes this Rockpool started, and which process holds the lease of a Claude session. In its own database, so
// that all Rockpools of this state directory agree: a lease is checked and taken in one step.
import { Database } from './database.ts'
import { insertRow } from './queries.ts'
import { sqlFiles } from './migrations.ts'
import { isSameProcess, type ProcessIdentity } from '../disk/process-identity.ts'
import { ownerMarker, ownIdentity, type ProcessScope } from '../disk/process-scope.ts'

const migrations = sqlFiles('processes/001-processes-and-leases.sql', 'processes/002-cgroups.sql')

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
  cgroup: string | null
}

export type Lease = { taken: true } | { taken: false; holder: { pid: number; key: string } }

export class ClaudeProcesses {
  #database: Database
  #self: ProcessIdentity

  constructor(path: string) {
    // A power cut ends every process, so losing the last rows then does no harm.
    this.#database = Database.open(path, migrations, { durability: 'relaxed' })
    this.#self = ownIdentity()
  }

  async add({ root, cgroup }: ProcessScope, key: string): Promise<void> {
    const { pid, startTime, domain } = root
    const row = { pid, start_time: startTime, domain, key, cgroup, ...this.#ownerColumns() }
    await this.#database.write((q) => insertRow(q, 'process', row))
  }

  /** Called when the process and everything that it started have ended. */
  async remove(child: ProcessIdentity): Promise<void> {
    await this.#database.write((q) =>
      q.run('DELETE FROM process WHERE pid = ? AND start_time = ?', child.pid, child.startTime),
    )
  }

  /** Claude processes, and what they started, of a dead Rockpool on this machine. Processes of a Rockpool in another container
   *  are left out, because we cannot see whether that Rockpool is alive. */
  orphans(): ProcessScope[] {
    const rows = this.#database.read((q) => q.all<ProcessRow>('SELECT * FROM process'))
    return rows
      .filter((row) => row.owner_domain === this.#self.domain && !isSameProcess(ownerOf(row)))
      .map((row) => ({
        root: { pid: row.pid, startTime: row.start_time, domain: row.domain },
        marker: ownerMarker(ownerOf(row)),
        cgroup: row.cgroup ?? undefined,
      }))
  }

  /** Deletes the processes and leases of dead Rockpools; their orphans must have been ended. */
  async removeDead(): Promise<void> {
    await this.#database.write((q) => {
      for (const row of q.all<ProcessRow>('SELECT * FROM process')) {
        if (isSameProcess(ownerOf(row))) continue
        q.run('DELETE FROM process WHERE pid = ? AND start_time = ?', row.pid, row.start_time)
      }
      for (const row of q.all<OwnerRow & { sdk_session_id: string }>('SELECT * FROM lease')) {
        if (!isSameProcess(ownerOf(row)))
          q.run('DELETE FROM lease WHERE sdk_session_id = ?', row.sdk_session_id)
      }
    })
  }

  /** One writer per Claude session: the lease is taken if it is free, already ours, or its holder is dead. */
  lease(sdkSessionId: string, key: string): Promise<Lease> {
    const { pid, startTime } = this.#self
    return this.#database.write<Lease>((q) => {
      const row = q.get<OwnerRow>('SELECT * FROM lease WHERE sdk_session_id = ?', sdkSessionId)
      const isOurs = row?.owner_pid === pid && row.owner_start_time === startTime && row.key === key
      if (row && !isOurs && isSameProcess(ownerOf(row))) {
        return { taken: false, holder: { pid: row.owner_pid, key: row.key } }
      }
      insertRow(q, 'lease', { sdk_session_id: sdkSessionId, key, ...this.#ownerColumns() })
      return { taken: true }
    })
  }

  async release(sdkSessionId: string, key: string): Promise<void> {
    const sql = 'DELETE FROM lease WHERE sdk_session_id = ? AND key = ? AND owner_pid = ?'
    await this.#database.write((q) => q.run(sql, sdkSessionId, key, this.#self.pid))
  }

  #ownerColumns(): Omit<OwnerRow, 'key'> {
    const { pid, startTime, domain } = this.#self
    return { owner_pid: pid, owner_start_time: startTime, owner_domain: domain }
  }

  close(): Promise<void> {
    return this.#database.close()
  }
}

function ownerOf(row: OwnerRow): ProcessIdentity {
  return { pid: row.owner_pid, startTime: row.owner_start_time, domain: row.owner_domain }
}
