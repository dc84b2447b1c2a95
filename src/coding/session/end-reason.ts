// Why a session ended, from what Claude's side says.
import type { CodingSession, EndReason } from '../../domain/coding-session.ts'
import type { TurnEnd, TurnFailure } from '../../domain/turn.ts'

export function reasonOfFailure(why: TurnFailure): EndReason {
  if (why === 'process-died') return 'crash'
  return why === 'budget-reached' ? 'budget' : 'turn-failed'
}

/** Its process is gone while it waited. */
export function reasonOfGoing(why: string): EndReason {
  if (why === 'evicted') return 'idle-timeout'
  return why === 'closed' ? 'shutdown' : 'crash'
}

/** What happened, and what works now: a session that has ended takes no messages, and no commands of a chat. */
export function failureText(
  { why, message, what = message }: Extract<TurnEnd, { kind: 'failed' }>,
  { name, sdkSessionId }: Pick<CodingSession, 'name' | 'sdkSessionId'>,
): string {
  const resume = sdkSessionId === undefined ? '`rockpool cc launch`' : `\`rockpool cc resume ${name}\``
  const advice: Partial<Record<TurnFailure, string>> = {
    'context-full': 'Launch a new session: `rockpool cc launch --fresh`.',
    'session-missing': 'Launch a new session: `rockpool cc launch --fresh`.',
    'model-unknown': 'Launch it again with another model: `rockpool cc launch --model`.',
    unreachable: `Check the network connection, then continue: ${resume}.`,
    overloaded: `Continue in a few minutes: ${resume}.`,
    'api-error': `Continue: ${resume}; if that does not help, look at \`rockpool doctor\`.`,
  }
  return `${what} ${advice[why] ?? `Then continue: ${resume}.`}`
}
