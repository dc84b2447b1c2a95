// The writes of one session that must not be lost. While the disk is full, each is retried until there is room, and those who
// ask something of the session are told why it cannot be done now.
import type { Clock } from '../../domain/clock.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { RockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { notStored } from '../refusals.ts'

const retryMs = 1_000

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

  /** Resolves when the write has succeeded. Only a failing disk is waited for; other errors are thrown. */
  async insist<T>(write: () => Promise<T>): Promise<T> {
    for (;;) {
      try {
        const written = await write()
        this.#failure = undefined
        return written
      } catch (error) {
        if (asRockpoolError(error).code !== 'disk-failed' || this.#isGivenUp) throw error
        this.#fail(error)
      }
      await new Promise<void>((resolve) => void this.#parts.clock.after(retryMs, resolve))
    }
  }

  /** Resolves with the work, or throws as soon as the disk fails: the work goes on, but its caller need not wait. */
  async orFail<T>(work: Promise<T>): Promise<T> {
    const { promise, reject } = Promise.withResolvers<never>()
    // One of the two is not awaited to its end.
    for (const each of [promise, work]) each.catch(() => {})
    this.#onFailure.add(reject)
    if (this.#failure) reject(this.#failure)
    try {
      return await Promise.race([work, promise])
    } finally {
      this.#onFailure.delete(reject)
    }
  }

  /** The process ends: the next failure of a write is thrown. */
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
