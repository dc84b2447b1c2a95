// The row of a coding session while this process owns it. Every change is stored first and then applied in memory, one after
// the other, so that memory never says anything that the store does not.
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { CodingParts } from '../coding-parts.ts'
import { RetriedWrites } from './retried-writes.ts'
import { withWait } from './waiting-time.ts'

type Fields = Partial<CodingSession>
/** The new values of some fields, or a function of the row as it is when the change is made. */
export type Change = Fields | ((session: CodingSession) => Fields)
type Parts = Pick<CodingParts, 'store' | 'clock' | 'events' | 'log'>

export class LiveRecord {
  /** As it is stored. Only this process changes it; others ask through the store. */
  readonly session: CodingSession
  readonly writes: RetriedWrites
  #parts: Parts
  #owner: CodingOwner | undefined
  #changes: Promise<unknown> = Promise.resolve()
  #isLost = false
  #onLost: () => void

  /** `onLost`: another machine took this process for dead and owns the session now. Nothing more is written. */
  constructor(parts: Parts, session: CodingSession, onLost: () => void) {
    this.#parts = parts
    this.session = session
    this.writes = new RetriedWrites(parts, session.name)
    this.#owner = session.owner
    this.#onLost = onLost
  }

  get isLost(): boolean {
    return this.#isLost
  }

  /** For what has happened: resolves when it is stored, retrying while the disk is full. */
  change(change: Change): Promise<void> {
    return this.#enqueue(() => this.writes.insist(() => this.#store(change)))
  }

  /** For what somebody asks: throws when it cannot be stored now, and then nothing has changed. */
  async request(change: Change): Promise<void> {
    if (this.writes.failure) throw this.writes.failure
    await this.#enqueue(() => this.#store(change))
  }

  /** Resolves when all changes up to now are stored. */
  async settled(): Promise<void> {
    await this.#changes
  }

  /** For callers that cannot wait. A failure is logged. */
  later(change: Change): void {
    void this.settle(this.change(change))
  }

  settle(work: Promise<unknown>): Promise<void> {
    return work.then(
      () => {},
      (error: unknown) =>
        this.#parts.log.error(
          { event: 'coding-change-failed', coding: this.session.id, error: String(error) },
          'A change of a coding session could not be stored.',
        ),
    )
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    const done = this.#changes.then(work)
    this.#changes = done.catch(() => {})
    return done
  }

  async #store(change: Change): Promise<void> {
    if (this.#isLost) return
    const { store, clock, events } = this.#parts
    const now = clock.now()
    const fields = typeof change === 'function' ? change(this.session) : change
    const changed = { ...fields, ...withWait(this.session, fields, now), lastActivityAt: now }
    try {
      await store.save({ ...this.session, ...changed }, this.#owner)
    } catch (error) {
      if (asRockpoolError(error).code !== 'lock-lost') throw error
      return this.#lose(error)
    }
    Object.assign(this.session, changed)
    events.emit({ type: 'coding-changed', id: this.session.id, why: this.session.lifecycle })
  }

  #lose(error: unknown): void {
    this.#isLost = true
    this.#parts.log.warn(
      { event: 'coding-session-lost', coding: this.session.id, error: String(error) },
      'Another machine owns this coding session now; ending it here.',
    )
    this.#onLost()
  }
}
