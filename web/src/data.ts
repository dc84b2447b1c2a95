// Types of the gateway's answers, with the names that the page uses.
import type { OutputOf } from '../../src/rpc/client.ts'

export type NativeSession = OutputOf<'cc.list'>['sessions'][number]
export type ProjectStatus = OutputOf<'project.status'>
export type CodingRow = OutputOf<'coding.sessions'>['sessions'][number]
export type Approval = OutputOf<'approvals.list'>['approvals'][number]
/** One session with all that is known about it. */
export type Info = OutputOf<'cc.info'>
export type Health = NonNullable<Info['health']>
export type Costs = OutputOf<'cc.costs'>
export type BudgetLeft = OutputOf<'coding.stats'>['budgets'][number]
export type Anatomy = OutputOf<'cc.anatomy'>
export type Card = OutputOf<'cc.read'>['cards'][number]
export type Subagent = NonNullable<OutputOf<'cc.read'>['subagent']>
export type SessionSelection = Extract<OutputOf<'cc.select'>, { action: string }>
export type SessionScore = SessionSelection['scores'][number]
export type Hit = OutputOf<'sessions.search'>['hits'][number]
/** A message that the page's chat received without a question. */
export type Notice = OutputOf<'web.notices'>['notices'][number]
/** An answer of the transcript as the message that was sent. */
export type SentAnswer = OutputOf<'web.notices'>['answers'][number]
/** A file that was sent to the page; its bytes are loaded when they are needed. */
export type SentFile = SentAnswer['files'][number]
