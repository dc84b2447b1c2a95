// The state of a session in one word, the same in every command, on the page and in the library. Stored rows have finer fields
// (`status`, `lifecycle`, `waiting`); only this file turns them into the word that people read.
import type { CodingSession } from './coding-session.ts'

export const sessionStates = [
  /** Takes a turn, starts, or waits for its place in the queue. */
  'working',
  /** Cannot continue without an answer, or its question expired without one. */
  'needs you',
  /** Claude's usage limit stopped it; it can continue after the reset. */
  'limited',
  /** Has finished a turn that no person has looked at. */
  'ready',
  /** Waits for its next message. */
  'idle',
  'failed',
  /** Runs no more: it was ended, was cut off, or is done and looked at. */
  'stopped',
] as const
export type SessionState = (typeof sessionStates)[number]

type StateFields = Pick<CodingSession, 'status' | 'lifecycle' | 'waiting' | 'expired' | 'unseen' | 'end'>

export function sessionState(session: StateFields): SessionState {
  const { status, lifecycle, waiting, expired, unseen, end } = session
  if (expired || (waiting && waiting.for !== 'input')) return 'needs you'
  if (status === 'failed') return 'failed'
  if (isLimited(session)) return 'limited'
  const isFinished = waiting !== undefined || status === 'completed'
  if (isFinished && unseen) return 'ready'
  // A stop of Rockpool ends its process; its next message starts it again.
  if (waiting && end?.reason !== 'idle-timeout') return 'idle'
  return lifecycle === 'suspended' || lifecycle === 'ended' ? 'stopped' : 'working'
}

/** Did Claude's usage limit stop the session, and no message continued it since? */
export function isLimited({ lifecycle, end }: Pick<StateFields, 'lifecycle' | 'end'>): boolean {
  return lifecycle === 'suspended' && end?.reason === 'usage-limit'
}

const nativeStates = {
  busy: 'working',
  waiting: 'needs you',
  idle: 'idle',
  stopped: 'stopped',
} as const

/** Of a session that Claude Code runs without us. */
export function nativeState(status: keyof typeof nativeStates): SessionState {
  return nativeStates[status]
}

/** Does the session belong under "Needs you"? A failed one does until a person has looked at it. */
export function needsYou(session: StateFields): boolean {
  const state = sessionState(session)
  return state === 'needs you' || (state === 'failed' && session.unseen === true)
}

/** Did a stop of its process interrupt the session in the middle of a turn? Then a person may want to resume it. */
export function wasCutOff({ lifecycle, waiting, end }: StateFields): boolean {
  const isCut = end?.reason === 'shutdown' || end?.reason === 'crash' || end?.reason === 'timeout'
  return lifecycle === 'suspended' && waiting === undefined && isCut
}

/** One line on the state: what it asks, does, or said last, or why it failed. */
export function stateText(
  session: StateFields & Pick<CodingSession, 'doing' | 'lastWords' | 'request'>,
): string {
  const { waiting, expired, end, doing, lastWords, lifecycle, request } = session
  if (expired) return `${expired.text}: ${expired.about}`
  if (waiting && waiting.for !== 'input') return waiting.about
  const state = sessionState(session)
  if (state === 'failed') return end?.message || lastWords || request.prompt
  if (state === 'limited') return end?.message ?? ''
  // Its end by a person was undone, and took something away.
  if (lifecycle === 'suspended' && end?.lost) return end.message
  const isOver = waiting !== undefined || lifecycle === 'suspended' || lifecycle === 'ended'
  return (isOver ? lastWords || waiting?.about || end?.message : doing) || request.prompt
}

/** The name, with the title that a person gave to the session. Both are accepted as a reference. */
export function shownName({ name, title }: Pick<CodingSession, 'name' | 'title'>): string {
  return title === undefined || title === name ? name : `${name} (${title})`
}
