// How a turn ended, from Claude's result, with a sentence that tells the person what to do.
import type { TurnEnd, TurnFailure } from '../domain/turn.ts'
import type { ClaudeResult } from './claude-events.ts'

interface FailureContext {
  /** When a limit ends, if known. */
  retryAt?: number
  /** The window of the subscription whose limit is reached. */
  window?: string
  now: number
  timeZone?: string
}

/** `is_error` and the reason decide; the word `success` in a result does not. */
export function endOfTurn(result: ClaudeResult, context: FailureContext): TurnEnd {
  if (result.reason.startsWith('aborted_')) return { kind: 'interrupted' }
  if (!result.isError) return { kind: 'completed' }
  const why = whyFailed(result)
  const details = result.text || result.errors.join(' ')
  return {
    kind: 'failed',
    why,
    ...explainFailure(why, details, context),
    ...(why === 'rate-limited' && isAhead(context)
      ? { retryAt: context.retryAt, window: context.window }
      : {}),
  }
}

function whyFailed(result: ClaudeResult): TurnFailure {
  const byReason: Record<string, TurnFailure> = {
    budget_exhausted: 'budget-reached',
    error_max_budget_usd: 'budget-reached',
    max_turns: 'max-turns',
    error_max_turns: 'max-turns',
    prompt_too_long: 'context-full',
    blocking_limit: 'context-full',
    rapid_refill_breaker: 'context-full',
  }
  const errors = result.errors.join(' ')
  if (/No conversation found/.test(errors)) return 'session-missing'
  return byReason[result.reason] ?? whyApiFailed(result)
}

function whyApiFailed({ apiError, apiStatus, text }: ClaudeResult): TurnFailure {
  if (apiError === 'rate_limit' || apiStatus === 429) return 'rate-limited'
  if (apiError === 'overloaded' || apiStatus === 529) return 'overloaded'
  if (apiError === 'billing_error') return 'no-credit'
  if (apiError === 'model_not_found') return 'model-unknown'
  const refused = [
    'authentication_failed',
    'oauth_org_not_allowed',
    'account_on_hold',
    'verification_required',
  ]
  if (refused.includes(apiError ?? '') || apiStatus === 401 || apiStatus === 403) return 'login-refused'
  if (/ECONN|ENOTFOUND|Connection|Unable to connect|timed out/i.test(text)) return 'unreachable'
  return 'api-error'
}

interface Explanation {
  /** What happened. */
  what: string
  /** The failure, and the remedy in a chat. */
  message: string
}

/** Sentences for the person. */
export function explainFailure(why: TurnFailure, details: string, context: FailureContext): Explanation {
  const reason = details.trim().replace(/\.+$/, '')
  const quoted = reason ? ` Claude says: ${reason}.` : ''
  const sentences: Record<TurnFailure, [what: string, advice: string]> = {
    'rate-limited': [
      `Claude's rate limit is reached.${quoted} ${whenItEnds(context)}`,
      whatAfterLimit(context),
    ],
    overloaded: [
      'Claude is overloaded at the moment and did not answer after several tries.',
      'Please send it again in a few minutes.',
    ],
    'context-full': [
      'This conversation no longer fits into what Claude can read at once, even after compacting.',
      'Start a new one with /new.',
    ],
    'login-refused': [
      `Claude refused the login.${quoted} The owner of this agent must log in again with \`claude\`, or renew the API key.`,
      '',
    ],
    'no-credit': [
      `The account that pays for Claude has no credit left.${quoted} The owner of this agent must add some.`,
      '',
    ],
    'model-unknown': [
      `Claude does not offer this model to this account.${quoted}`,
      'Choose another with /model.',
    ],
    unreachable: [
      `Claude could not be reached.${quoted}`,
      'Check the network connection, then send it again.',
    ],
    'budget-reached': [`The budget of this conversation is spent.${quoted}`, 'Raise the budget to continue.'],
    'max-turns': [`Claude stopped after the allowed number of steps.${quoted}`, 'Send "continue" to go on.'],
    'session-missing': [
      'Claude no longer has its record of this conversation.',
      'The next message starts a new one from what Rockpool has kept.',
    ],
    'start-failed': [`Claude could not be started.${quoted}`, ''],
    stalled: [
      `${reason || 'Claude sent nothing for too long'}, so the turn was ended.`,
      'Please send it again.',
    ],
    'process-died': [`Claude's process ended in the middle of the turn.${quoted}`, 'Please send it again.'],
    'api-error': [
      `Claude could not answer.${quoted}`,
      'Please send it again; if that does not help, look at `rockpool doctor`.',
    ],
  }
  const [what, advice] = sentences[why]
  return { what, message: [what, advice].filter(Boolean).join(' ') }
}

/** The limit of an API key has no known end: Claude retries by itself, or gives up at once. A time in the past is only the time
 *  of its last attempt. */
function isAhead(context: FailureContext): context is FailureContext & { retryAt: number } {
  return context.retryAt !== undefined && context.retryAt > context.now
}

function whenItEnds(context: FailureContext): string {
  return isAhead(context) ? endOfLimit(context.retryAt, context) : 'Claude does not say when it ends.'
}

export function endOfLimit(
  retryAt: number,
  { now, timeZone }: Pick<FailureContext, 'now' | 'timeZone'>,
): string {
  const minutes = Math.max(1, Math.ceil((retryAt - now) / 60_000))
  const time = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone: timeZone || undefined })
  const duration = minutes < 120 ? `${minutes} min` : `${Math.round(minutes / 60)} h`
  return `It ends at ${time.format(retryAt)} (in about ${duration}).`
}

function whatAfterLimit(context: FailureContext): string {
  return isAhead(context)
    ? 'Send your message again then.'
    : 'Send your message again in a few minutes; if it happens often, use a smaller model or ask for a higher limit.'
}
