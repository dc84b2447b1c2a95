// Clocks that the test moves: timers fire in their order, and the work that they start runs before the next one.
import { systemClock } from '../../src/domain/clock.ts'
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

export interface SkippingClock extends Clock {
  /** What becomes due by this happens at once. */
  skip(ms: number): void
}

/** The real time, of which a test can skip a part: for parts that also wait for processes. */
export function makeSkippingClock(): SkippingClock {
  let skippedMs = 0
  const timers = new Set<{ at: number; fire: () => void }>()
  const clock: SkippingClock = {
    now: () => systemClock.now() + skippedMs,
    monotonic: () => systemClock.monotonic() + skippedMs,
    after(ms, fn) {
      const timer = { at: clock.monotonic() + ms, fire: () => stop() && fn() }
      const cancel = systemClock.after(ms, timer.fire)
      const stop = (): boolean => {
        cancel()
        return timers.delete(timer)
      }
      timers.add(timer)
      return () => void stop()
    },
    skip(ms) {
      skippedMs += ms
      const due = [...timers].filter((timer) => timer.at <= clock.monotonic())
      for (const timer of due.sort((a, b) => a.at - b.at)) timer.fire()
    },
  }
  return clock
}
