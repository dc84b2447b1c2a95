// The clocks of a running session: silence although nothing works, a turn that takes long, a person who does not
// come back. A tool that runs and a person who is asked are no silence.
import type { Clock } from '../../domain/clock.ts'
import { Timers } from './timers.ts'

const silenceMs = 15_000
const longRunMs = 10 * 60_000

export interface VigilActs {
  isBusy(): boolean
  /** Nothing works, and the stream did not say so. */
  onSilence(): void
  /** It did nothing for as long as its launch allows. */
  onStuck(seconds: number): void
  onLongRun(): void
  onIdle(): void
}

export class Vigil {
  #timers: Timers
  #acts: VigilActs
  #stuckSeconds: number | undefined
  #openTools = new Set<string>()

  constructor(clock: Clock, stuckSeconds: number | undefined, acts: VigilActs) {
    this.#timers = new Timers(clock)
    this.#stuckSeconds = stuckSeconds
    this.#acts = acts
  }

  turnBegan(): void {
    this.#timers.set('long-run', longRunMs, () => this.#acts.onLongRun())
    this.sign()
  }

  /** Something came from Claude. The stream says itself when Claude waits; this is the net below it. */
  sign(): void {
    const seconds = this.#stuckSeconds
    if (seconds !== undefined) {
      this.#timers.set('stuck', seconds * 1_000, () => {
        if (this.#openTools.size > 0) this.sign()
        else this.#acts.onStuck(seconds)
      })
    }
    this.#timers.set('silence', silenceMs, () => {
      if (this.#openTools.size === 0 && !this.#acts.isBusy()) this.#acts.onSilence()
    })
  }

  toolBegan(toolUseId: string): void {
    this.#openTools.add(toolUseId)
  }

  toolEnded(toolUseId: string): void {
    this.#openTools.delete(toolUseId)
  }

  personAsked(): void {
    this.#timers.cancel('stuck')
  }

  turnOver(): void {
    for (const name of ['silence', 'stuck', 'long-run']) this.#timers.cancel(name)
    this.#openTools.clear()
  }

  waitsForMessage(idleMs: number): void {
    this.#timers.set('idle', idleMs, () => this.#acts.onIdle())
  }

  messageCame(): void {
    this.#timers.cancel('idle')
  }

  end(): void {
    this.#timers.cancelAll()
  }
}
