// A coding session while this process owns it: changed in memory at once, so that the next event sees it, and on disk in
// the same order; then everybody hears of it.
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { CodingParts } from '../coding-parts.ts'
import { withWait } from './waiting-time.ts'

export class LiveRecord {
  /** Owned by this process alone; others ask through the store. */
  readonly session: CodingSession
  #parts: Pick<CodingParts, 'store' | 'clock' | 'events' | 'log'>
  #owner: CodingOwner | undefined
  #isLost = false
  #onLost: () => void

  /** `onLost`: this process was taken for dead, and others have the session. Nothing is written any more. */
  constructor(
    parts: Pick<CodingParts, 'store' | 'clock' | 'events' | 'log'>,
    session: CodingSession,
    onLost: () => void,
  ) {
    this.#parts = parts
    this.session = session
    this.#owner = session.owner
    this.#onLost = onLost
  }

  get isLost(): boolean {
    return this.#isLost
  }

  async change(change: Partial<CodingSession>): Promise<void> {
    const { store, clock, events } = this.#parts
    const now = clock.now()
    Object.assign(this.session, change, withWait(this.session, change, now), { lastActivityAt: now })
    if (this.#isLost) return
    try {
      await store.save(structuredClone(this.session), this.#owner)
    } catch (error) {
      if (asRockpoolError(error).code !== 'lock-lost') throw error
      if (!this.#isLost) this.#lose(error)
      return
    }
    events.emit({ type: 'coding-changed', id: this.session.id, why: this.session.lifecycle })
  }

  #lose(error: unknown): void {
    this.#isLost = true
    this.#parts.log.warn({ coding: this.session.id, error: String(error) }, 'A session is run by others now.')
    this.#onLost()
  }

  /** For those who cannot wait. What could not be stored is said, never lost silently. */
  later(change: Partial<CodingSession>): void {
    void this.settle(this.change(change))
  }

  settle(work: Promise<unknown>): Promise<void> {
    return work.then(
      () => {},
      (error: unknown) => {
        const about = { coding: this.session.id, error: String(error) }
        this.#parts.log.error(about, 'A change of a coding session was not stored.')
      },
    )
  }
}
