// What operations need of coding sessions; made by src/compose/coding.ts.
import type { Approvals } from '../../coding/approvals/approvals.ts'
import type { SessionChoice } from '../../coding/queue/choose.ts'
import type { Machines } from '../../coding/machines/machines.ts'
import type { NotificationRouter } from '../../coding/notifications.ts'
import type { CodingPool } from '../../coding/pool.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { Giver } from '../../domain/giver.ts'

export interface CodingWorld {
  pool: Omit<CodingPool, CheckedMethod>
  /** The pool for callers who start sessions or give them messages: checks the rights of the givers first. */
  givenBy: (first: Giver, ...others: Giver[]) => CheckedPool
  notifications: NotificationRouter
  approvals: Approvals
  /** The machines among which sessions are divided, where several share a database. */
  machines?: Machines
  /** The day by which budgets count, YYYY-MM-DD in the configured time zone. */
  today(): string
  /** Is its repository full, so that the session has to wait? */
  isTaken(session: CodingSession): boolean
  /** Which session takes a task. */
  choice: SessionChoice
}

/** The methods that give a message to a session or let it continue. */
type CheckedMethod = 'spawn' | 'respond' | 'resume' | 'reopen' | 'handOver'

export interface CheckedPool extends Pick<CodingPool, CheckedMethod> {
  /** Throws if this giver may not give a message to the session. */
  check(session: CodingSession): Promise<void>
  /** Throws if this giver may not give a message to one of the sessions in this conversation. */
  checkConversation(sdkSessionId: string): void
}
