// The end of a running coding session: it happens once, is stored, and is then announced. Also the reasons and texts of an end.
import type {
  CodingLifecycle,
  CodingSession,
  CodingStatus,
  EndReason,
  UsageLimit,
} from '../../domain/coding-session.ts'
import { shellWord } from '../../domain/text.ts'
import type { TurnEnd, TurnFailure } from '../../domain/turn.ts'
import type { SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { launchCommand } from '../refusals.ts'
import { ended, suspendedIdle } from './session-changes.ts'

export class SessionEnding {
  /** Resolves when the session has ended, was suspended, or belongs to another machine. */
  readonly over: Promise<CodingSession>
  #parts: Pick<SessionParts, 'clock' | 'notifications'>
  #record: LiveRecord
  #beforeStored: () => Promise<void>
  #stop = new AbortController()
  #ending: Promise<void> | undefined
  #finish!: (session: CodingSession) => void

  /** `beforeStored` ends the timers and stores the rest of the output. */
  constructor(
    parts: Pick<SessionParts, 'clock' | 'notifications'>,
    record: LiveRecord,
    beforeStored: () => Promise<void>,
  ) {
    this.#parts = parts
    this.#record = record
    this.#beforeStored = beforeStored
    this.over = new Promise((resolve) => (this.#finish = resolve))
  }

  /** Fires when the session is about to end. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted
  }

  stop(reason?: string): void {
    this.#stop.abort(reason)
  }

  /** The first caller decides how the session ends. */
  once(end: () => Promise<void>, reason?: string): Promise<void> {
    this.stop(reason)
    return (this.#ending ??= end())
  }

  /** Resolves when the end is stored. Throws when the disk is full: the end is stored when there is room. */
  async stored(): Promise<void> {
    if (this.#ending) await this.#record.writes.orFail(this.#ending)
  }

  async write(
    status: CodingStatus,
    lifecycle: CodingLifecycle,
    reason: EndReason,
    message: string,
    limit?: UsageLimit,
  ): Promise<void> {
    await this.#store((session, at) =>
      ended(session, { status, lifecycle, end: { reason, message, limit, at } }),
    )
    if (!this.#record.isLost) await this.#parts.notifications.onSessionComplete(this.#record.session)
  }

  async suspendIdle(reason: EndReason): Promise<void> {
    await this.#store((session, at) => suspendedIdle(session, reason, at))
  }

  async #store(end: (session: CodingSession, at: number) => Partial<CodingSession>): Promise<void> {
    await this.#beforeStored()
    const at = this.#parts.clock.now()
    await this.#record.change((session) => end(session, at))
    this.finish()
  }

  finish(): void {
    this.#finish(this.#record.session)
  }
}

export function reasonOfFailure(why: TurnFailure): EndReason {
  if (why === 'process-died') return 'crash'
  return why === 'budget-reached' ? 'budget' : 'turn-failed'
}

/** For a process that ended while the session waited. */
export function reasonOfExit(why: string): EndReason {
  if (why === 'evicted') return 'idle-timeout'
  return why === 'closed' ? 'shutdown' : 'crash'
}

/** The limit that stopped the turn, if Claude reported when it is reset: then the session can continue after that. */
export function limitOf({ why, retryAt, window }: Failed): UsageLimit | undefined {
  return why === 'rate-limited' && retryAt !== undefined ? { until: retryAt, window } : undefined
}

type Failed = Extract<TurnEnd, { kind: 'failed' }>

/** The reason of the end, and the next step: a session that has ended accepts no messages and no chat commands. */
export function failureText(
  { why, message, what = message }: Failed,
  { id, name, sdkSessionId }: Pick<CodingSession, 'id' | 'name' | 'sdkSessionId'>,
): string {
  const launch = launchCommand({ id })
  const resume = `\`${sdkSessionId === undefined ? launch : `rockpool cc resume ${shellWord(name)}`}\``
  const advice: Partial<Record<TurnFailure, string>> = {
    'context-full': `Launch a new session: \`${launch}\`.`,
    'session-missing': `Launch a new session: \`${launch}\`.`,
    'model-unknown': `Launch it again with another model: \`${launch} --model sonnet\`.`,
    unreachable: `Check the network connection, then continue: ${resume}.`,
    overloaded: `Continue in a few minutes: ${resume}.`,
    'api-error': `Continue: ${resume}; if that does not help, look at \`rockpool doctor\`.`,
  }
  return `${what} ${advice[why] ?? `Then continue: ${resume}.`}`
}
