// What people are asked and what they answered, and what they allowed always. The first valid answer wins, whichever
// process, machine or interface it comes through.
import type { Approval, ApprovalState, Grant } from '../../domain/coding-session.ts'
import type { RecordRow } from './coding-rows.ts'
import type { Database } from './database.ts'
import { asGrant } from './record-rows.ts'
import type { GrantRow } from './record-rows.ts'
import { LocalRecords } from './records.ts'
import type { Records } from './records.ts'

export class ApprovalStore {
  #db: Database
  #records: Records

  constructor(db: Database, records: Records = new LocalRecords(db)) {
    this.#db = db
    this.#records = records
  }

  add(approval: Approval): Promise<void> {
    return this.#records.put('approval', approval.id, approval)
  }

  get(id: string): Approval | undefined {
    return this.#read('WHERE id = ?', id)[0]
  }

  pending(): Approval[] {
    return this.#read("WHERE state = 'pending' ORDER BY asked_at, id")
  }

  /** The newest first; of one agent, or of all. */
  recent(limit: number, agentId?: string): Approval[] {
    const where = 'WHERE ?1 IS NULL OR agent_id = ?1 ORDER BY asked_at DESC LIMIT ?2'
    return this.#read(where, agentId ?? null, limit)
  }

  /** Settles a pending request. Resolves to false if it was already settled. */
  settle(
    id: string,
    state: Exclude<ApprovalState, 'pending'>,
    answer: { at: number; by: string; text?: string },
  ): Promise<boolean> {
    return this.#records.update('approval', id, (approval) =>
      approval?.state === 'pending'
        ? { ...approval, state, answeredAt: answer.at, answeredBy: answer.by, answer: answer.text }
        : undefined,
    )
  }

  grant(grant: Grant): Promise<void> {
    return this.#records.put('grant', grant.id, grant)
  }

  grants(): Grant[] {
    return this.#db.queries.all<GrantRow>('SELECT * FROM grant_always ORDER BY granted_at').map(asGrant)
  }

  revoke(id: string): Promise<boolean> {
    return this.#records.remove('grant', id)
  }

  #read(where: string, ...values: Array<string | number | null>): Approval[] {
    const rows = this.#db.queries.all<RecordRow>(`SELECT record FROM approval ${where}`, ...values)
    return rows.map((row) => JSON.parse(row.record) as Approval)
  }
}
