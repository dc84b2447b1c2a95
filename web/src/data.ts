// What the page reads of the gateway's answers, by the names that the page uses.
import type { OutputOf } from '../../src/rpc/client.ts'

export type NativeSession = OutputOf<'cc.list'>['sessions'][number]
export type ProjectStatus = OutputOf<'project.status'>
export type CodingRow = OutputOf<'coding.sessions'>['sessions'][number]
export type Approval = OutputOf<'approvals.list'>['approvals'][number]
export type Health = NonNullable<OutputOf<'cc.info'>['health']>
export type Costs = OutputOf<'cc.costs'>
export type BudgetLeft = OutputOf<'coding.stats'>['budgets'][number]
export type Anatomy = OutputOf<'cc.anatomy'>
export type Card = OutputOf<'cc.read'>['cards'][number]
export type Subagent = NonNullable<OutputOf<'cc.read'>['subagent']>
export type SessionSelection = Extract<OutputOf<'cc.select'>, { action: string }>
export type SessionScore = SessionSelection['scores'][number]
export type Hit = OutputOf<'sessions.search'>['hits'][number]
/** Something that a chat of the page was told without asking. */
export type Notice = OutputOf<'web.notices'>['notices'][number]
/** An answer in the transcript, as the message that it was. */
export type SentAnswer = OutputOf<'web.notices'>['answers'][number]
/** A file that was sent to the page; its bytes are fetched when they are wanted. */
export type SentFile = SentAnswer['files'][number]
