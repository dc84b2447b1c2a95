// So many at a time; the others wait in the order in which they came, and when too many wait, further ones are refused.
import { RockpoolError } from './errors.ts'

export class AtMost {
  readonly #atOnce: number
  readonly #waitingLimit: number
  #running = 0
  #waiting: Array<() => void> = []

  constructor(atOnce: number, waitingLimit: number) {
    this.#atOnce = atOnce
    this.#waitingLimit = waitingLimit
  }

  /** Nothing runs and nothing waits. */
  get isIdle(): boolean {
    return this.#running === 0 && this.#waiting.length === 0
  }

  async run<T>(work: () => Promise<T>): Promise<T> {
    if (this.#running >= this.#atOnce) await this.#turn()
    else this.#running++
    try {
      return await work()
    } finally {
      const next = this.#waiting.shift()
      // The next one takes over the place of this one.
      if (next) next()
      else this.#running--
    }
  }

  #turn(): Promise<void> {
    if (this.#waiting.length >= this.#waitingLimit)
      throw new RockpoolError('busy', `${this.#waiting.length} requests of this kind wait already.`, {
        hint: 'Try again in a moment.',
      })
    return new Promise((resolve) => this.#waiting.push(resolve))
  }
}
