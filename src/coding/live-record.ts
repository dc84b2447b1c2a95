// A coding session while this process owns it: changed in memory at once, so that the next event sees it, and on disk in
// the same order; then everybody hears of it.
import type { CodingSession } from '../domain/coding.ts'
import type { CodingParts } from './parts.ts'
import { withWait } from './waited.ts'

export class LiveRecord {
  /** Owned by this process alone; others ask through the store. */
  readonly session: CodingSession
  #parts: Pick<CodingParts, 'store' | 'clock' | 'events' | 'log'>

  constructor(parts: Pick<CodingParts, 'store' | 'clock' | 'events' | 'log'>, session: CodingSession) {
    this.#parts = parts
    this.session = session
  }

  async change(change: Partial<CodingSession>): Promise<void> {
    const { store, clock, events } = this.#parts
    const now = clock.now()
    Object.assign(this.session, change, withWait(this.session, change, now), { lastActivityAt: now })
    await store.save(structuredClone(this.session))
    events.emit({ type: 'coding-changed', id: this.session.id, why: this.session.lifecycle })
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
