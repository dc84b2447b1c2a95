// The error for a store that cannot be reached at the moment. The request itself is fine: callers may wait and retry, and must
// not treat this as a failure of the turn or the message.
import { sleep } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'

export class StoreUnavailable extends RockpoolError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('unavailable', message, options)
  }
}

const patienceMs = 60_000
const pauseMs = 500

/** Retries idempotent work while the store is unavailable, for at most a minute. */
export async function retryWhileUnavailable<T>(
  clock: Clock,
  work: () => Promise<T>,
  isOver: () => boolean = () => false,
): Promise<T> {
  const deadline = clock.monotonic() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const mayWait = error instanceof StoreUnavailable && !isOver() && clock.monotonic() < deadline
      if (!mayWait) throw error
      await sleep(clock, pauseMs)
    }
  }
}
