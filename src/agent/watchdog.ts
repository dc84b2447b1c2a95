// Detects silence. Started for a turn, reset by every event, paused while a person is asked something.
import type { Clock } from '../domain/clock.ts'

export class Watchdog {
  #clock: Clock
  #onSilence: () => void
  #lastSign: number
  #limitMs = 0
  #extraMs = 0
  #holds = 0
  #cancel: (() => void) | undefined

  constructor(clock: Clock, onSilence: () => void) {
    this.#clock = clock
    this.#onSilence = onSilence
    this.#lastSign = clock.monotonic()
  }

  sign(): void {
    this.#lastSign = this.#clock.monotonic()
    this.#extraMs = 0
  }

  /** So much more silence is announced, until the next sign. */
  allow(ms: number): void {
    this.#extraMs = ms
  }

  hold(): () => void {
    this.#holds++
    return () => {
      this.#holds--
      this.sign()
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
    const left = this.#lastSign + this.#limitMs + this.#extraMs - this.#clock.monotonic()
    if (this.#holds === 0 && left <= 0) return this.#onSilence()
    const wait = this.#holds > 0 ? this.#limitMs : left
    this.#cancel = this.#clock.after(Math.max(wait, 1), () => this.#look())
  }
}
