// What people are asked, what calls cost and why sessions were chosen, for all machines: written to the shared database,
// read from this machine's copy. The first valid answer wins, on whichever machine it is given.
import type { Approval, ApprovalState, Grant } from '../../domain/coding-session.ts'
import type { Decision, Decisions } from '../../domain/selection.ts'
import { ApprovalStore, settled } from '../sqlite/approval-store.ts'
import type { GivenAnswer } from '../sqlite/approval-store.ts'
import type { Database } from '../sqlite/database.ts'
import { keptDecisions, newDecisionId, sqliteDecisions } from '../sqlite/decisions.ts'
import { SpendStore } from '../sqlite/spend-store.ts'
import type { Spend } from '../sqlite/spend-store.ts'
import type { SharedRecords } from './records.ts'

export class SharedApprovalStore extends ApprovalStore {
  #records: SharedRecords

  constructor(copy: Database, records: SharedRecords) {
    super(copy)
    this.#records = records
  }

  override add(approval: Approval): Promise<void> {
    return this.#records.put('approval', approval.id, approval)
  }

  override settle(
    id: string,
    state: Exclude<ApprovalState, 'pending'>,
    answer: GivenAnswer,
  ): Promise<boolean> {
    return this.#records.update<Approval>('approval', id, (approval) =>
      approval?.state === 'pending' ? settled(approval, state, answer) : undefined,
    )
  }

  override grant(grant: Grant): Promise<void> {
    return this.#records.put('grant', grant.id, grant)
  }

  override async revoke(id: string): Promise<boolean> {
    await this.#records.catchUp()
    const isThere = this.grants().some((grant) => grant.id === id)
    if (isThere) await this.#records.put('grant', id, undefined)
    return isThere
  }
}

export class SharedSpendStore extends SpendStore {
  #records: SharedRecords

  constructor(copy: Database, records: SharedRecords) {
    super(copy)
    this.#records = records
  }

  override async add(spend: Spend): Promise<void> {
    await this.#records.update<Spend>('spend', spend.id, (before) =>
      before && before.usd >= spend.usd ? undefined : { ...spend, ...before, usd: spend.usd },
    )
  }
}

export function sharedDecisions(copy: Database, records: SharedRecords): Decisions {
  const copied = sqliteDecisions(copy)
  return {
    async record(decision) {
      const id = newDecisionId()
      await records.put('decision', id, { ...decision, id }, decision.at)
      await records.forget('decision', { beyond: keptDecisions })
      return id
    },
    async became(id, sessionId) {
      await records.update<Decision>(
        'decision',
        id,
        (decision) => decision && { ...decision, becameSessionId: sessionId },
      )
    },
    find: (ref, limit) => copied.find(ref, limit),
  }
}
