// Schedules and their runs. A run is written before it begins, under the id of its schedule and due time, so that no due time
// runs twice, even if two machines write it. Every change compares the stored row, so only one of two machines succeeds.
import { randomUUID } from 'node:crypto'
import { RockpoolError } from '../../domain/errors.ts'
import type { Schedule, ScheduleRun } from '../../domain/schedule.ts'
import type { Database } from './database.ts'
import { getRecord, readRecords, type RecordBodies } from './record-tables.ts'
import { localRecords, type Records } from './records.ts'

/** Runs are kept a little longer than a year: total budgets are sums over them. */
const keptMs = 400 * 86_400_000

const isOpen = "state IN ('due', 'begun')"
/** The index of the few open runs has the same condition. */
const isUnfinished = `${isOpen} OR told_at IS NULL`

export class ScheduleStore {
  #db: Database
  #records: Records

  constructor(db: Database, records: Records = localRecords(db)) {
    this.#db = db
    this.#records = records
  }

  /** One synced commit. Throws when the agent has a schedule of this name, or when `checkNumber` refuses one more beside those that
   *  the agent has: no other schedule is added meanwhile. */
  async add(
    schedule: Omit<Schedule, 'id'>,
    checkNumber: (ofAgent: number) => void = () => {},
  ): Promise<Schedule> {
    return this.#records.create('schedule', (q) => {
      checkNumber(readRecords(q, 'schedule', 'WHERE agent_id = ?', schedule.agentId).length)
      const [taken] = readRecords(
        q,
        'schedule',
        'WHERE name = ? AND agent_id = ?',
        schedule.name,
        schedule.agentId,
      )
      if (taken)
        throw new RockpoolError('conflict', `There is a schedule ${JSON.stringify(schedule.name)} already.`, {
          hint: 'Choose another name, or remove that one first.',
        })
      return { ...schedule, id: randomUUID().slice(0, 8) }
    })
  }

  /** Undefined when `change` returned undefined, or there is no such schedule. */
  change(
    id: string,
    change: (stored: Schedule) => Partial<Schedule> | undefined,
  ): Promise<Schedule | undefined> {
    return this.#change('schedule', id, change)
  }

  remove(id: string): Promise<boolean> {
    return this.#records.remove('schedule', id)
  }

  get(id: string): Schedule | undefined {
    return this.#db.read((q) => getRecord(q, 'schedule', id))
  }

  /** By id, name, or the beginning of an id. */
  resolve(ref: string): Schedule[] {
    const exact = 'WHERE id = ?1 OR name = ?1'
    const found = this.#db.read((q) => readRecords(q, 'schedule', exact, ref))
    if (found.length > 0 || ref.length < 3) return found
    // The range is what the index finds.
    const begins = 'WHERE id BETWEEN ?1 AND ?1 || char(1114111) AND substr(id, 1, length(?1)) = ?1'
    return this.#db.read((q) => readRecords(q, 'schedule', begins, ref))
  }

  /** Those that are due next come first. */
  list(agentId?: string): Schedule[] {
    const which = 'WHERE ?1 IS NULL OR agent_id = ?1 ORDER BY next_at IS NULL, next_at, name'
    return this.#db.read((q) => readRecords(q, 'schedule', which, agentId ?? null))
  }

  due(now: number): Schedule[] {
    return this.#db.read((q) =>
      readRecords(q, 'schedule', 'WHERE next_at <= ? ORDER BY next_at LIMIT 500', now),
    )
  }

  nextAt(): number | undefined {
    const sql = 'SELECT min(next_at) AS at FROM schedule WHERE next_at IS NOT NULL'
    return this.#db.read((q) => q.get<{ at: number | null }>(sql))?.at ?? undefined
  }

  /** Resolves to whether the due time had no run before. */
  addRun(run: ScheduleRun): Promise<boolean> {
    return this.#records.update('run', run.id, (stored) => (stored ? undefined : run))
  }

  /** Undefined when `change` returned undefined: the run is in another state by now. */
  changeRun(
    id: string,
    change: (stored: ScheduleRun) => Partial<ScheduleRun> | undefined,
  ): Promise<ScheduleRun | undefined> {
    return this.#change('run', id, change)
  }

  run(id: string): ScheduleRun | undefined {
    return this.#db.read((q) => getRecord(q, 'run', id))
  }

  /** Runs that must be begun, followed or announced; the oldest first. */
  unfinished(): ScheduleRun[] {
    return this.#db.read((q) => readRecords(q, 'run', `WHERE ${isUnfinished} ORDER BY due_at LIMIT 1000`))
  }

  /** The open runs of one schedule, the oldest first. */
  openOf(scheduleId: string): ScheduleRun[] {
    const which = `WHERE (${isUnfinished}) AND ${isOpen} AND schedule_id = ? ORDER BY due_at`
    return this.#db.read((q) => readRecords(q, 'run', which, scheduleId))
  }

  /** The latest first. */
  runs({
    scheduleId,
    agentId,
    limit,
  }: {
    scheduleId?: string
    agentId?: string
    limit: number
  }): ScheduleRun[] {
    const which = `WHERE (?1 IS NULL OR schedule_id = ?1)
      AND (?2 IS NULL OR schedule_id IN (SELECT id FROM schedule WHERE agent_id = ?2)) ORDER BY due_at DESC LIMIT ?3`
    return this.#db.read((q) => readRecords(q, 'run', which, scheduleId ?? null, agentId ?? null, limit))
  }

  /** The latest due time that has a run. Runs that a person asked for stand outside of the times. */
  lastDue(scheduleId: string): number | undefined {
    const sql = `SELECT max(due_at) AS at FROM schedule_run WHERE schedule_id = ?
      AND json_extract(record, '$.manual') IS NULL`
    return this.#db.read((q) => q.get<{ at: number | null }>(sql, scheduleId))?.at ?? undefined
  }

  spentUsd(scheduleId: string): number {
    const sql = 'SELECT coalesce(sum(cost_usd), 0) AS usd FROM schedule_run WHERE schedule_id = ?'
    return this.#db.read((q) => q.get<{ usd: number }>(sql, scheduleId))!.usd
  }

  async forgetOld(now: number): Promise<void> {
    const before = now - keptMs
    await this.#records.forget('run', { before })
    await this.#db.write((q) => q.run('DELETE FROM schedule_run WHERE due_at < ?', before))
  }

  async #change<Kind extends 'schedule' | 'run'>(
    kind: Kind,
    id: string,
    change: (stored: RecordBodies[Kind]) => Partial<RecordBodies[Kind]> | undefined,
  ): Promise<RecordBodies[Kind] | undefined> {
    let after: RecordBodies[Kind] | undefined
    await this.#records.update(kind, id, (stored) => {
      const fields = stored && change(stored)
      return (after = fields && { ...stored, ...fields })
    })
    return after
  }
}
