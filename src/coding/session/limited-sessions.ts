// Continues sessions that Claude's usage limit stopped, after the reset and if the owner switched it on
// (`coding.continueAfterLimit`): one after another, the most important first, as long as the usage windows have room. The row of a
// session changes with its resume, so that each continues once, whatever restarts meanwhile.
import type { CodingSession } from '../../domain/coding-session.ts'
import { isOn } from '../../domain/coding-session.ts'
import { isLimited } from '../../domain/coding-state.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { reservedUntil } from '../../domain/usage-window.ts'
import type { CodingParts } from '../coding-parts.ts'
import { resumeSession } from './resume-session.ts'
import type { RunningSessions } from './running-sessions.ts'

/** Claude's clock and ours differ. */
const afterResetMs = 30_000
/** The first session shows whether the window has room for the next. */
const betweenMs = 20_000
/** After an error that may pass, as of a database that is away. The other sessions come first. */
const retryMs = 300_000

const afterLimitPrompt =
  "Claude's usage limit is reset. Continue the task that you were working on where it was interrupted."

export class LimitedSessions {
  #parts: CodingParts
  #running: RunningSessions
  #lastAt = -Infinity
  /** When to try again a session that could not be resumed after a limit; Infinity if a person must resume it. Monotonic. */
  #retryAt = new Map<string, { limitedAt?: number; at: number }>()

  constructor(parts: CodingParts, running: RunningSessions) {
    this.#parts = parts
    this.#running = running
  }

  async continueNext(): Promise<void> {
    const { config, clock } = this.#parts
    if (config.continueAfterLimit !== true || clock.monotonic() - this.#lastAt < betweenMs) return
    const [next] = this.#due().toSorted(byImportance)
    if (!next || this.#hasNoRoom()) return
    this.#lastAt = clock.monotonic()
    try {
      await resumeSession(this.#parts, this.#running, next, afterLimitPrompt, {})
    } catch (error) {
      const { code, message, retryable } = asRockpoolError(error).report()
      const at = retryable ? clock.monotonic() + retryMs : Infinity
      this.#retryAt.set(next.id, { limitedAt: next.end?.at, at })
      this.#parts.log.warn(
        { event: 'limited-not-continued', coding: next.id, code, error: message },
        retryable
          ? 'A session could not continue after the usage limit; trying again in some minutes.'
          : 'A session could not continue after the usage limit; a person must resume it.',
      )
    }
  }

  #due(): CodingSession[] {
    const { store, owners, clock } = this.#parts
    const isReset = ({ end }: CodingSession): boolean =>
      end?.limit !== undefined && end.limit.until + afterResetMs <= clock.now()
    return store
      .list({ open: true })
      .filter((session) => isLimited(session) && isReset(session) && isOn(owners.machine, session))
      .filter((session) => this.#mayTry(session))
  }

  #mayTry({ id, end }: CodingSession): boolean {
    const failure = this.#retryAt.get(id)
    // Since the failure a person has resumed it, and it has reached a limit again.
    if (failure === undefined || failure.limitedAt !== end?.at) return true
    return failure.at <= this.#parts.clock.monotonic()
  }

  #hasNoRoom(): boolean {
    const { budget, clock, config } = this.#parts
    const now = clock.now()
    return reservedUntil(budget.usageWindows(now), config.reserve.percent, now) !== undefined
  }
}

/** A person waits for an answer to a message or a question; then the oldest. */
function byImportance(a: CodingSession, b: CodingSession): number {
  const waits = ({ inbox, expired }: CodingSession): number => (inbox.length > 0 || expired ? 0 : 1)
  return waits(a) - waits(b) || a.createdAt - b.createdAt
}
