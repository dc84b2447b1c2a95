// How many messages a person has sent in the last minute. Held in memory, and bounded: ten thousand people at once.
import type { Clock } from '../domain/clock.ts'

const windowMs = 60_000
const maxSenders = 10_000

export interface TooMany {
  kind: 'over'
  /** The first message over the limit in this window: the person is told once. */
  isFirst: boolean
  /** How long until a message is accepted again. */
  waitMs: number
}

interface Pace {
  taken: number[]
  /** Whether the person has been told in this window. */
  told: boolean
}

export class SenderPace {
  #clock: Clock
  #senders = new Map<string, Pace>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts one more message, unless the sender has reached the limit. */
  count(sender: string, perMinute: number): { kind: 'within' } | TooMany {
    const now = this.#clock.monotonic()
    const before = this.#senders.get(sender)
    const taken = (before?.taken ?? []).filter((at) => now - at < windowMs)
    const pace: Pace = { taken, told: taken.length >= perMinute && before?.told === true }
    this.#remember(sender, pace)
    if (taken.length < perMinute) {
      taken.push(now)
      return { kind: 'within' }
    }
    const isFirst = !pace.told
    pace.told = true
    const countsAgain = taken[taken.length - Math.floor(perMinute)] ?? now
    return { kind: 'over', isFirst, waitMs: countsAgain + windowMs - now }
  }

  #remember(sender: string, pace: Pace): void {
    // Whoever spoke last comes last; the one at the front is forgotten.
    this.#senders.delete(sender)
    this.#senders.set(sender, pace)
    if (this.#senders.size <= maxSenders) return
    const [oldest] = this.#senders.keys()
    if (oldest !== undefined) this.#senders.delete(oldest)
  }
}
