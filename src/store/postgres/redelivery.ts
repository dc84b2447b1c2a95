// Work is given to a process and marked as given in one step. When the answer to that step is lost, it counts as given and
// nobody has it. From then on nothing more is taken before all that was given counts as not given: else what came later
// would be given alone, and go first.
import { StoreUnavailable } from '../store-unavailable.ts'

export class Handing {
  #takeBack: () => Promise<void>
  /** How often an answer was lost, and how many of those have been seen to. */
  #doubts = 0
  #settled = 0
  #settling: Promise<void> | undefined

  /** `takeBack`: what was given to us and waits counts as not given. We know what we have. */
  constructor(takeBack: () => Promise<void>) {
    this.#takeBack = takeBack
  }

  /** A step that gives us work. */
  async surely<T>(step: () => Promise<T>): Promise<T> {
    while (this.#doubts > this.#settled) await (this.#settling ??= this.#settle())
    try {
      return await step()
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#doubts++
      throw error
    }
  }

  async #settle(): Promise<void> {
    const seenTo = this.#doubts
    try {
      await this.#takeBack()
      this.#settled = seenTo
    } finally {
      this.#settling = undefined
    }
  }
}
