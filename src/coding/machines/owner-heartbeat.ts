// An owner of sessions says from time to time that it lives, for those who cannot see its process: other containers.
import type { CodingOwner } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import { nameOfOwner, ownerSignMs } from '../session/run-state.ts'

export class SignOfLife {
  #parts: Pick<CodingParts, 'store' | 'clock' | 'log'>
  #owner: CodingOwner
  #isNeeded: () => boolean
  #cancel: (() => void) | undefined

  constructor(
    parts: Pick<CodingParts, 'store' | 'clock' | 'log'>,
    owner: CodingOwner,
    isNeeded: () => boolean,
  ) {
    this.#parts = parts
    this.#owner = owner
    this.#isNeeded = isNeeded
  }

  /** Resolves when the first is on disk; others follow while they are needed. */
  async give(): Promise<void> {
    if (this.#cancel) return
    this.#cancel = this.#parts.clock.after(ownerSignMs, () => {
      this.#cancel = undefined
      if (!this.#isNeeded()) return
      this.give().catch((error: unknown) =>
        this.#parts.log.error(
          { event: 'heartbeat-failed', error: String(error) },
          'Could not write the heartbeat; other processes may consider this one dead.',
        ),
      )
    })
    await this.#parts.store.markOwner(nameOfOwner(this.#owner), this.#parts.clock.now())
  }

  stop(): void {
    this.#cancel?.()
  }
}
