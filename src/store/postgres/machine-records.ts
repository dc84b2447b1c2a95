// The machines that share a database: their labels and repositories are records; the heartbeats of members show which
// machines are alive.
import type { MachineDirectory } from '../storage.ts'
import type { MachineBody } from '../sqlite/record-tables.ts'
import type { Postgres } from './connection.ts'
import type { SharedRecords } from './records.ts'

/** A member without a heartbeat for 15 seconds is dead. */
const isServed = (
  machine: string,
): string => `EXISTS (SELECT 1 FROM member WHERE machine = ${machine} AND serves
  AND seen_at > clock_timestamp() - interval '15 seconds')`

export function sharedMachines(
  parts: { postgres: Postgres; records: SharedRecords },
  self: { name: string; labels: readonly string[] },
): MachineDirectory {
  const { postgres, records } = parts
  return {
    name: self.name,
    announce: (repositories) => records.put('machine', self.name, { labels: [...self.labels], repositories }),
    async list() {
      const rows = await postgres.read<{ name: string; body: string; seenAt: number; lives: boolean }>(
        `SELECT id AS name, body, at AS "seenAt", ${isServed('record.id')} AS lives
         FROM record WHERE kind = 'machine' AND body IS NOT NULL ORDER BY id`,
      )
      return rows.map(({ body, ...row }) => ({ ...(JSON.parse(body) as MachineBody), ...row }))
    },
    async lives(name) {
      const [row] = await postgres.read<{ lives: boolean }>(`SELECT ${isServed('$1')} AS lives`, [name])
      return row!.lives
    },
  }
}
