// The row of a coding session while this process owns it. Every change is stored first and then applied in memory, one after
// the other, so that memory never differs from the store. While the disk is full, writes are retried until there is room.
import { KeyedQueue, sleep } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import type { CodingBase } from '../coding-parts.ts'
import { notStored } from '../refusals.ts'
import { withWaitingTime } from './session-changes.ts'

type Fields = Partial<CodingSession>
/** The new values of some fields, or a function of the row as it is when the change is made. */
type Change = Fields | ((session: CodingSession) => Fields)

export class LiveRecord {
  /** As it is stored. Only this process changes it; other processes send requests through the store. */
  readonly session: CodingSession
  readonly writes: RetriedWrites
  #parts: CodingBase
  #owner: CodingOwner | undefined
  #changes = new KeyedQueue()
  #isLost = false
  #onLost: () => void

  /** `onLost`: another machine considered this process dead and owns the session now. Nothing more is written. */
  constructor(parts: CodingBase, session: CodingSession, onLost: () => void) {
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
    return this.#enqueue(() => this.writes.retry(() => this.#store(change)))
  }

  /** For what a caller asks for: throws when it cannot be stored now, and then nothing has changed. */
  async request(change: Change): Promise<void> {
    if (this.writes.failure) throw this.writes.failure
    await this.#enqueue(() => this.#store(change))
  }

  /** Resolves when all changes up to now are stored. */
  settled(): Promise<void> {
    return this.#enqueue(async () => {})
  }

  /** For callers that cannot wait. A failure is logged. */
  later(change: Change): void {
    void this.logFailure(this.change(change))
  }

  logFailure(work: Promise<unknown>): Promise<void> {
    return work.then(
      () => {},
      (error: unknown) =>
        this.#parts.log.error(
          { event: 'coding-change-failed', coding: this.session.id, error: String(error) },
          'Could not store or report a change of a coding session; its row or its notices may be out of date.',
        ),
    )
  }

  #enqueue(work: () => Promise<void>): Promise<void> {
    return this.#changes.run('', work)
  }

  async #store(change: Change): Promise<void> {
    if (this.#isLost) return
    const { store, clock, events } = this.#parts
    const now = clock.now()
    const fields = typeof change === 'function' ? change(this.session) : change
    const changed = { lastActivityAt: now, ...fields, ...withWaitingTime(this.session, fields, now) }
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

const retryMs = 1_000

/** Writes of one session that must not be lost. */
export class RetriedWrites {
  #parts: { clock: Clock; log: Log }
  #name: string
  #failure: RockpoolError | undefined
  #onFailure = new Set<(error: RockpoolError) => void>()
  #isGivenUp = false

  constructor(parts: { clock: Clock; log: Log }, name: string) {
    this.#parts = parts
    this.#name = name
  }

  /** Why nothing can be stored now; undefined while writes succeed. */
  get failure(): RockpoolError | undefined {
    return this.#failure
  }

  /** Resolves when the write has succeeded. Retries while the disk fails; throws other errors. */
  async retry<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const written = await write()
        this.#failure = undefined
        return written
      } catch (error) {
        if (asRockpoolError(error).code !== 'disk-failed' || this.#isGivenUp) throw error
        this.#fail(error)
      }
      await sleep(this.#parts.clock, retryMs)
    }
  }

  /** Resolves with the work, or throws as soon as the disk fails: the work continues, but its caller need not wait. */
  async orFail<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    // Only one of the two is awaited to its end.
    for (const each of [promise, work]) each.catch(() => {})
    this.#onFailure.add(reject)
    if (this.#failure) reject(this.#failure)
    try {
      return await Promise.race([work, promise])
    } finally {
      this.#onFailure.delete(reject)
    }
  }

  /** Called before the process ends: the next failing write is not retried. */
  giveUp(): void {
    this.#isGivenUp = true
  }

  #fail(error: unknown): void {
    const isNew = this.#failure === undefined
    this.#failure = notStored(this.#name, error)
    if (isNew)
      this.#parts.log.error(
        { event: 'coding-write-failed', name: this.#name, error: String(error) },
        'A change of a coding session cannot be stored; retrying until there is room.',
      )
    for (const reject of this.#onFailure) reject(this.#failure)
  }
}
