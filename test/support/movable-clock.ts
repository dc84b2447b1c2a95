// A clock that moves when the test says so: timers fire in their order, and what they start gets its turn.
import type { Clock } from '../../src/domain/clock.ts'
import { settle } from './in-flight.ts'

export interface MovableClock extends Clock {
  /** Moves on; resolves when what was due has happened. */
  advance(ms: number): Promise<void>
}

export function makeMovableClock(start = Date.now()): MovableClock {
  let now = start
  let timers: Array<{ at: number; fn: () => void }> = []
  return {
    now: () => now,
    monotonic: () => now - start,
    after(ms, fn) {
      const timer = { at: now + ms, fn }
      timers.push(timer)
      return () => (timers = timers.filter((each) => each !== timer))
    },
    async advance(ms) {
      const until = now + ms
      // Timers that come again every moment would take for ever: those between two far points fire once.
      const step = Math.max(1, Math.floor(ms / 50))
      while (now < until) {
        now = Math.min(until, now + step)
        const due = timers.filter((timer) => timer.at <= now).sort((a, b) => a.at - b.at)
        timers = timers.filter((timer) => timer.at > now)
        for (const timer of due) timer.fn()
        if (due.length > 0) await settle()
      }
      await settle()
    },
  }
}
