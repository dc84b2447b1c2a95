// Detects silence: started for a turn, reset by every event, paused while a person is asked. A file of its own because
// conversation.ts is at the limit of length.
import type { Clock } from '../domain/clock.ts'

export class Watchdog {
  #clock: Clock
  #onSilence: () => void
  #lastEvent: number
  #limitMs = 0
  #extraMs = 0
  #holds = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, onSilence: () => void) {
    this.#clock = clock
    this.#onSilence = onSilence
    this.#lastEvent = clock.monotonic()
  }

  reset(): void {
    this.#lastEvent = this.#clock.monotonic()
    this.#extraMs = 0
  }

  /** Claude announced a pause: allows so much more silence until the next event. */
  allow(ms: number): void {
    this.#extraMs = ms
  }

  hold(): () => void {
    this.#holds++
    return () => {
      this.#holds--
      this.reset()
    }
  }

  start(limitMs: number): void {
    if (limitMs !== this.#limitMs) this.stop()
    this.#limitMs = limitMs
    this.#cancel ??= this.#clock.after(limitMs, () => this.#look())
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #look(): void {
    this.#cancel = undefined
    const left = this.#lastEvent + this.#limitMs + this.#extraMs - this.#clock.monotonic()
    if (this.#holds === 0 && left <= 0) return this.#onSilence()
    const wait = this.#holds > 0 ? this.#limitMs : left
    this.#cancel = this.#clock.after(Math.max(wait, 1), () => this.#look())
  }
}
