// The questions to people, their answers, and the permission rules. The first valid answer wins, from any process, machine or
// interface.
import type { Approval, ApprovalState, Grant } from '../../domain/coding-session.ts'
import { getRecord, readRecords } from './record-tables.ts'
import { RecordStore } from './records.ts'

export class ApprovalStore extends RecordStore {
  add(approval: Approval): Promise<void> {
    return this.records.put('approval', approval.id, approval)
  }

  get(id: string): Approval | undefined {
    return getRecord(this.db.queries, 'approval', id)
  }

  pending(): Approval[] {
    return readRecords(this.db.queries, 'approval', "WHERE state = 'pending' ORDER BY asked_at, id")
  }

  recent(limit: number, agentId?: string): Approval[] {
    const where = 'WHERE ?1 IS NULL OR agent_id = ?1 ORDER BY asked_at DESC LIMIT ?2'
    return readRecords(this.db.queries, 'approval', where, agentId ?? null, limit)
  }

  /** Settles a pending request. Resolves to false if it was already settled. */
  settle(
    id: string,
    state: Exclude<ApprovalState, 'pending'>,
    answer: { at: number; by: string; text?: string },
  ): Promise<boolean> {
    return this.records.update('approval', id, (approval) =>
      approval?.state === 'pending'
        ? { ...approval, state, answeredAt: answer.at, answeredBy: answer.by, answer: answer.text }
        : undefined,
    )
  }

  /** The end of a rule is stored by the shared clock, so that no machine lets requests pass after it. */
  grant(grant: Grant): Promise<void> {
    return this.records.put('grant', grant.id, endingLater(grant, this.records.aheadMs))
  }

  grants(): Grant[] {
    const stored = readRecords(this.db.queries, 'grant', 'ORDER BY granted_at')
    return stored.map((grant) => endingLater(grant, -this.records.aheadMs))
  }

  revoke(id: string): Promise<boolean> {
    return this.records.remove('grant', id)
  }
}

function endingLater(grant: Grant, ms: number): Grant {
  return grant.until === undefined ? grant : { ...grant, until: grant.until + ms }
}
