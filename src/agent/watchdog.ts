// Detects a turn that makes no progress: Claude sends nothing for too long, or writes at one answer without end. Paused while a
// question waits for a person.
import type { Clock } from '../domain/clock.ts'
import type { TurnEvent } from '../domain/turn.ts'

export interface SilenceLimits {
  seconds: number
  /** While a tool or a sub-agent runs. */
  toolSeconds: number
  answerMinutes: number
}

export class TurnWatchdog {
  #limits: SilenceLimits
  #silence: Watchdog
  /** Reset by every finished block: endless text, or a connection that only sends pings, is no progress. */
  #answer: Watchdog

  constructor(clock: Clock, limits: SilenceLimits, on: { silence: () => void; endlessAnswer: () => void }) {
    this.#limits = limits
    this.#silence = new Watchdog(clock, on.silence)
    this.#answer = new Watchdog(clock, on.endlessAnswer)
  }

  messageReceived(): void {
    this.#silence.reset()
  }

  eventReceived(event: TurnEvent): void {
    if (event.type !== 'text-delta') this.#answer.reset()
    if (event.type === 'retry') this.#silence.allow(event.delayMs)
  }

  promptSent(): void {
    this.#silence.reset()
    this.#answer.reset()
  }

  /** Returns the function that ends the pause. */
  hold(): () => void {
    const releases = [this.#silence.hold(), this.#answer.hold()]
    return () => releases.forEach((release) => release())
  }

  /** Starts or stops watching as the state of the conversation requires. */
  update({ isTurnRunning, usesTools }: { isTurnRunning: boolean; usesTools: boolean }): void {
    if (!isTurnRunning) return this.stop()
    const { seconds, toolSeconds, answerMinutes } = this.#limits
    this.#silence.start((usesTools ? toolSeconds : seconds) * 1_000)
    if (usesTools) this.#answer.stop()
    else this.#answer.start(answerMinutes * 60_000)
  }

  stop(): void {
    this.#silence.stop()
    this.#answer.stop()
  }
}

class Watchdog {
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

  /** Claude announced a pause: allows this much additional silence until the next event. */
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
    this.#cancel ??= this.#clock.after(limitMs, () => this.#check())
  }

  stop(): void {
    this.#cancel?.()
    this.#cancel = undefined
  }

  #check(): void {
    this.#cancel = undefined
    const left = this.#lastEvent + this.#limitMs + this.#extraMs - this.#clock.monotonic()
    if (this.#holds === 0 && left <= 0) return this.#onSilence()
    const wait = this.#holds > 0 ? this.#limitMs : left
    this.#cancel = this.#clock.after(Math.max(wait, 1), () => this.#check())
  }
}
