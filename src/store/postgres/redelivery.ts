// The database marks work as handed out in the same step in which a process receives it. When the reply to such a step is lost,
// the work is marked although no process has it. Then nothing more is received before every mark of this process is reset:
// otherwise later work would arrive alone and overtake it.
import { StoreUnavailable } from '../store-unavailable.ts'

export class Redelivery {
  #resetMarks: () => Promise<unknown>
  /** How many replies were lost, and after how many of them the marks have been reset. */
  #lost = 0
  #resolved = 0
  #resolving: Promise<void> | undefined

  /** `resetMarks`: marks pending work of this process as not handed out. The process recognizes work that it has. */
  constructor(resetMarks: () => Promise<unknown>) {
    this.#resetMarks = resetMarks
  }

  async receive<T>(step: () => Promise<T>): Promise<T> {
    while (this.#lost > this.#resolved) await (this.#resolving ??= this.#resolve())
    try {
      return await step()
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#lost++
      throw error
    }
  }

  async #resolve(): Promise<void> {
    const lost = this.#lost
    try {
      await this.#resetMarks()
      this.#resolved = lost
    } finally {
      this.#resolving = undefined
    }
  }
}
