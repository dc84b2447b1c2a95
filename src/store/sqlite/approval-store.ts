// What people are asked and what they answered; and what they allowed once and for all. The first valid answer wins,
// whichever process or door it comes through.
import type { Approval, ApprovalState, Grant } from '../../domain/coding-session.ts'
import type { Database, Queries } from './database.ts'

export interface GivenAnswer {
  at: number
  by: string
  text?: string
}

export class ApprovalStore {
  #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  add(approval: Approval): Promise<void> {
    return this.#db.write((q) => putApproval(q, approval))
  }

  get(id: string): Approval | undefined {
    const row = this.#db.queries.get<{ record: string }>('SELECT record FROM approval WHERE id = ?', id)
    return row && (JSON.parse(row.record) as Approval)
  }

  pending(): Approval[] {
    return this.#db.queries
      .all<{ record: string }>("SELECT record FROM approval WHERE state = 'pending' ORDER BY asked_at, id")
      .map((row) => JSON.parse(row.record) as Approval)
  }

  /** The newest first; of one agent, or of all. */
  recent(limit: number, agentId?: string): Approval[] {
    return this.#db.queries
      .all<{ record: string }>(
        'SELECT record FROM approval WHERE ?1 IS NULL OR agent_id = ?1 ORDER BY asked_at DESC LIMIT ?2',
        agentId ?? null,
        limit,
      )
      .map((row) => JSON.parse(row.record) as Approval)
  }

  /** Settles a pending request. False if it was already settled. */
  settle(id: string, state: Exclude<ApprovalState, 'pending'>, answer: GivenAnswer): Promise<boolean> {
    return this.#db.write((q) => {
      const row = q.get<{ record: string }>(
        "SELECT record FROM approval WHERE id = ? AND state = 'pending'",
        id,
      )
      if (!row) return false
      putApproval(q, settled(JSON.parse(row.record) as Approval, state, answer))
      return true
    })
  }

  grant(grant: Grant): Promise<void> {
    return this.#db.write((q) => putGrant(q, grant))
  }

  grants(): Grant[] {
    return this.#db.queries
      .all<Record<string, string | number | null>>('SELECT * FROM grant_always ORDER BY granted_at')
      .map((row) => ({
        id: String(row['id']),
        codingId: row['coding_id'] === null ? undefined : String(row['coding_id']),
        sessionKey: row['session_key'] === null ? undefined : String(row['session_key']),
        tool: String(row['tool']),
        pattern: String(row['pattern']),
        grantedAt: Number(row['granted_at']),
        grantedBy: String(row['granted_by']),
      }))
  }

  revoke(id: string): Promise<boolean> {
    return this.#db.write((q) => q.run('DELETE FROM grant_always WHERE id = ?', id).changes > 0)
  }
}

export function settled(
  approval: Approval,
  state: Exclude<ApprovalState, 'pending'>,
  answer: GivenAnswer,
): Approval {
  return { ...approval, state, answeredAt: answer.at, answeredBy: answer.by, answer: answer.text }
}

export function putApproval(q: Queries, approval: Approval): void {
  q.run(
    `INSERT OR REPLACE INTO approval (id, coding_id, session_key, agent_id, state, asked_at, input_hash, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
    approval.id,
    approval.codingId ?? null,
    approval.sessionKey ?? null,
    approval.agentId,
    approval.state,
    approval.askedAt,
    approval.inputHash,
    JSON.stringify(approval),
  )
}

export function putGrant(q: Queries, grant: Grant): void {
  q.run(
    `INSERT OR REPLACE INTO grant_always (id, coding_id, session_key, tool, pattern, granted_at, granted_by)
     VALUES (?, ?, ?, ?, ?, ?, ?)`,
    grant.id,
    grant.codingId ?? null,
    grant.sessionKey ?? null,
    grant.tool,
    grant.pattern,
    grant.grantedAt,
    grant.grantedBy,
  )
}
