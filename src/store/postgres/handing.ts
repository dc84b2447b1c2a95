// Work is given to a process and marked as given in one step. When the answer to that step is lost, it counts as given and
// nobody has it: from then on it is in doubt what we were given, until it was asked for once more.
import { StoreAway } from '../store-away.ts'

export class Handing {
  #isInDoubt = false

  /** `work` is told whether something may have been given to us that we never heard of. */
  async surely<T>(work: (mayHaveMore: boolean) => Promise<T>): Promise<T> {
    const mayHaveMore = this.#isInDoubt
    this.#isInDoubt = false
    try {
      return await work(mayHaveMore)
    } catch (error) {
      this.#isInDoubt ||= mayHaveMore || error instanceof StoreAway
      throw error
    }
  }
}
