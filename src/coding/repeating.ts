// Something that is done again and again until it is stopped. What goes wrong is said, and it goes on.
import type { CodingParts } from './coding-parts.ts'

export class Repeating {
  #parts: Pick<CodingParts, 'clock' | 'log'>
  #everyMs: number
  #work: () => Promise<unknown>
  #cancel = (): void => {}
  #isStopped = false

  constructor(parts: Pick<CodingParts, 'clock' | 'log'>, everyMs: number, work: () => Promise<unknown>) {
    this.#parts = parts
    this.#everyMs = everyMs
    this.#work = work
  }

  /** The first time now, or after some time. */
  start(afterMs = 0): void {
    this.#cancel()
    if (this.#isStopped) return
    this.#cancel = this.#parts.clock.after(afterMs, () => {
      this.#work()
        .catch((error: unknown) =>
          this.#parts.log.error(
            { event: 'coding-upkeep-failed', error: String(error) },
            'Periodic maintenance of coding sessions failed; it runs again at the next interval.',
          ),
        )
        .finally(() => this.start(this.#everyMs))
    })
  }

  stop(): void {
    this.#isStopped = true
    this.#cancel()
  }
}
