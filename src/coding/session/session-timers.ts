// The timers of a running session: silence although no tool runs, a turn that takes long, no message from a person. A running
// tool and an open question are not silence.
import type { Clock } from '../../domain/clock.ts'

const silenceMs = 15_000
const longRunMs = 10 * 60_000

export interface TimerActions {
  isBusy(): boolean
  /** Nothing works, and the stream did not report that the turn is over. */
  onSilence(): void
  /** The session did nothing for as long as its launch allows. */
  onStuck(seconds: number): void
  onLongRun(): void
  onIdle(): void
}

type TimerName = 'silence' | 'stuck' | 'long-run' | 'idle'

export class SessionTimers {
  #clock: Clock
  #actions: TimerActions
  #stuckSeconds: number | undefined
  #cancel = new Map<TimerName, () => void>()
  #openTools = new Set<string>()

  constructor(clock: Clock, stuckSeconds: number | undefined, actions: TimerActions) {
    this.#clock = clock
    this.#stuckSeconds = stuckSeconds
    this.#actions = actions
  }

  turnStarted(): void {
    this.#start('long-run', longRunMs, () => this.#actions.onLongRun())
    this.activity()
  }

  /** Claude sent something. The stream reports when Claude waits; these timers catch the case that it does not. */
  activity(): void {
    const seconds = this.#stuckSeconds
    if (seconds !== undefined) {
      this.#start('stuck', seconds * 1_000, () => {
        if (this.#openTools.size > 0) this.activity()
        else this.#actions.onStuck(seconds)
      })
    }
    this.#start('silence', silenceMs, () => {
      if (this.#openTools.size === 0 && !this.#actions.isBusy()) this.#actions.onSilence()
    })
  }

  toolStarted(toolUseId: string): void {
    this.#openTools.add(toolUseId)
  }

  toolEnded(toolUseId: string): void {
    this.#openTools.delete(toolUseId)
  }

  questionAsked(): void {
    this.#stop('stuck')
  }

  turnEnded(): void {
    this.#stop('silence', 'stuck', 'long-run')
    this.#openTools.clear()
  }

  waitForMessage(idleMs: number): void {
    this.#start('idle', idleMs, () => this.#actions.onIdle())
  }

  messageArrived(): void {
    this.#stop('idle')
  }

  stopAll(): void {
    this.#stop(...this.#cancel.keys())
  }

  #start(name: TimerName, ms: number, action: () => void): void {
    this.#stop(name)
    this.#cancel.set(name, this.#clock.after(ms, action))
  }

  #stop(...names: TimerName[]): void {
    for (const name of names) {
      this.#cancel.get(name)?.()
      this.#cancel.delete(name)
    }
  }
}
