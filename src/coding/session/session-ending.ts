// The end of a running coding session: it happens once, is stored, and is then told.
import type { CodingLifecycle, CodingSession, CodingStatus, EndReason } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { ended } from './session-changes.ts'

export interface HowItEnds {
  status: CodingStatus
  lifecycle: CodingLifecycle
  reason: EndReason
  message: string
}

export class SessionEnding {
  /** Resolves when the session has ended, was suspended, or belongs to another machine. */
  readonly over: Promise<CodingSession>
  #parts: Pick<CodingParts, 'clock' | 'notifications'>
  #record: LiveRecord
  #beforeStored: () => Promise<void>
  #stop = new AbortController()
  #ending: Promise<void> | undefined
  #finish!: (session: CodingSession) => void

  /** `beforeStored` ends the timers and stores the rest of the output. */
  constructor(
    parts: Pick<CodingParts, 'clock' | 'notifications'>,
    record: LiveRecord,
    beforeStored: () => Promise<void>,
  ) {
    this.#parts = parts
    this.#record = record
    this.#beforeStored = beforeStored
    this.over = new Promise((resolve) => (this.#finish = resolve))
  }

  /** Fires when the session is about to end. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  get isOver(): boolean {
    return this.#stop.signal.aborted
  }

  stop(): void {
    this.#stop.abort()
  }

  /** The first caller decides how the session ends. */
  once(end: () => Promise<void>): Promise<void> {
    this.stop()
    return (this.#ending ??= end())
  }

  /** Resolves when the end is stored. Throws when the disk is full: the end is stored when there is room. */
  async stored(): Promise<void> {
    if (this.#ending) await this.#record.writes.orFail(this.#ending)
  }

  async write({ status, lifecycle, reason, message }: HowItEnds): Promise<void> {
    await this.#beforeStored()
    const end = { reason, message, at: this.#parts.clock.now() }
    await this.#record.change(ended({ status, lifecycle, end }))
    this.finish()
    if (!this.#record.isLost) await this.#parts.notifications.onSessionComplete(this.#record.session)
  }

  finish(): void {
    this.#finish(this.#record.session)
  }
}
