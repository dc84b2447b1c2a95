// Named timers of one coding session; setting one again replaces it, and all of them end together.
import type { Clock } from '../../domain/clock.ts'

export class Timers {
  #clock: Clock
  #running = new Map<string, () => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  set(name: string, ms: number, fn: () => void): void {
    this.cancel(name)
    this.#running.set(name, this.#clock.after(ms, fn))
  }

  cancel(name: string): void {
    this.#running.get(name)?.()
    this.#running.delete(name)
  }

  cancelAll(): void {
    for (const name of this.#running.keys()) this.cancel(name)
  }
}
