// After a failure of the disk, work is stored and in no queue: a turn that could not be begun or ended, a message whose sender
// got an error. This continues such work, in order, as soon as the disk works again. Where several processes share the lanes,
// shared-lanes.ts does this.
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { TurnQueue } from './turn-queue.ts'

const pauseMs = 500

export interface FailedWorkParts {
  clock: Clock
  log: Log
  queue: TurnQueue
  /** Enqueues what was stored before this time and is in no queue. Later work may be about to be enqueued. */
  recover: (before: number) => Promise<void>
}

export class FailedWork {
  #parts: FailedWorkParts
  /** Lanes whose inputs are taken from the inbox again, in order. */
  #lanes = new Set<string>()
  #cancel: (() => void) | undefined
  /** Something failed while a recovery was pending. */
  #mustRecoverAgain = false
  #isClosed = false

  constructor(parts: FailedWorkParts) {
    this.#parts = parts
  }

  /** A turn failed: the inputs of its lane wait in the inbox for the recovery. */
  laneFailed(lane: string): void {
    this.#lanes.add(lane)
    this.#parts.queue.forget(lane)
    this.recoverSoon()
  }

  /** No input of this lane may be enqueued before the recovery. */
  holds(lane: string): boolean {
    return this.#lanes.has(lane)
  }

  /** Called when the inbox was read: the lanes are free. */
  release(): void {
    this.#lanes.clear()
  }

  recoverSoon(): void {
    if (this.#isClosed) return
    if (this.#cancel) this.#mustRecoverAgain = true
    this.#cancel ??= this.#parts.clock.after(pauseMs, () => void this.#recover())
  }

  async #recover(): Promise<void> {
    const { clock, log, recover } = this.#parts
    let isDone = false
    try {
      await recover(clock.now() - pauseMs)
      isDone = true
    } catch (error) {
      log.warn(
        { event: 'recovery-failed', error: String(error) },
        'Could not continue stored work after a failure of the disk; retrying.',
      )
    }
    this.#cancel = undefined
    if (isDone && !this.#mustRecoverAgain) return
    this.#mustRecoverAgain = false
    this.recoverSoon()
  }

  close(): void {
    this.#isClosed = true
    this.#cancel?.()
  }
}
