// How many messages a person has sent in the last minute. Held in memory, and bounded: ten thousand people at once.
import type { Clock } from '../domain/clock.ts'

const windowMs = 60_000
const maxSenders = 10_000

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

  /** Counts one more. `just-over` comes once, so that the person is told once. */
  count(sender: string, perMinute: number): 'within' | 'just-over' | 'over' {
    const now = this.#clock.monotonic()
    const before = this.#senders.get(sender)
    const taken = (before?.taken ?? []).filter((at) => now - at < windowMs)
    const pace: Pace = { taken, told: taken.length >= perMinute && before?.told === true }
    this.#remember(sender, pace)
    if (taken.length < perMinute) {
      taken.push(now)
      return 'within'
    }
    if (pace.told) return 'over'
    pace.told = true
    return 'just-over'
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
