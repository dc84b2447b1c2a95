// Slows down guessing: after so many failures within a minute, a source is locked out for five minutes.
import type { Clock } from '../domain/clock.ts'

export interface LimitClass {
  /** Failures within a minute that are let through. */
  failures: number
}

const windowMs = 60_000
const lockoutMs = 300_000
const maxKeys = 10_000

interface Tries {
  failures: number
  since: number
  lockedUntil: number
}

export class Limiter {
  #tries = new Map<string, Tries>()
  #clock: Clock

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Seconds to wait before this key may try again; 0 when it may now. Asked before a credential is looked at. */
  lockedFor(key: string): number {
    const found = this.#tries.get(key)
    return found ? Math.max(0, Math.ceil((found.lockedUntil - this.#clock.monotonic()) / 1000)) : 0
  }

  fail(key: string, { failures }: LimitClass): void {
    const now = this.#clock.monotonic()
    let found = this.#tries.get(key)
    if (!found || now - found.since > windowMs) {
      found = { failures: 0, since: now, lockedUntil: found?.lockedUntil ?? 0 }
      if (this.#tries.size >= maxKeys) this.#forgetOne(now)
      this.#tries.set(key, found)
    }
    found.failures++
    if (found.failures >= failures) found.lockedUntil = now + lockoutMs
  }

  /** A key that is locked stays: else a flood of other addresses would open the door again. */
  #forgetOne(now: number): void {
    for (const [key, tries] of this.#tries) {
      if (tries.lockedUntil > now) continue
      this.#tries.delete(key)
      return
    }
  }
}
