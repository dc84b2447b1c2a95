// Time is passed in, so that tests can move it. Wall time decides dates; monotonic time decides how long to wait.

export interface Clock {
  /** Wall time in milliseconds since 1970. */
  now(): number
  /** Milliseconds on a clock that never jumps. */
  monotonic(): number
  /** Runs `fn` after `ms`; the returned function cancels it. A waiting timer does not keep the process alive. */
  after(ms: number, fn: () => void): () => void
}

export const systemClock: Clock = {
  now: () => Date.now(),
  // As `performance.now()`, without loading all that measures performance.
  monotonic: () => process.uptime() * 1000,
  after(ms, fn) {
    const timer = setTimeout(fn, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
}
