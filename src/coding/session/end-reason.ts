// Why a session ended, from what Claude's side says.
import type { EndReason } from '../../domain/coding-session.ts'
import type { TurnFailure } from '../../domain/turn.ts'

export function reasonOfFailure(why: TurnFailure): EndReason {
  if (why === 'process-died') return 'crash'
  return why === 'budget-reached' ? 'budget' : 'turn-failed'
}

/** Its process is gone while it waited. */
export function reasonOfGoing(why: string): EndReason {
  if (why === 'evicted') return 'idle-timeout'
  return why === 'closed' ? 'shutdown' : 'crash'
}
