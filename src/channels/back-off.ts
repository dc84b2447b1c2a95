// Exponential back-off between retries, with jitter; a stop cuts the wait short.
import type { Clock } from '../domain/clock.ts'

const firstMs = 1_000
const longestMs = 60_000

/** How long to wait before try number `attempt` (from 1): between half and all of 1 s, 2 s, 4 s … 60 s. */
export function backOffMs(attempt: number, random: () => number = Math.random): number {
  const ceiling = Math.min(longestMs, firstMs * 2 ** (attempt - 1))
  return ceiling * (0.5 + random() / 2)
}

/** Resolves after `ms`, or at once when `signal` fires. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  if (signal.aborted) return Promise.resolve()
  return new Promise((resolve) => {
    const cancel = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
    function done(): void {
      cancel()
      signal.removeEventListener('abort', done)
      resolve()
    }
  })
}
