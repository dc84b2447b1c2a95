// The store cannot be reached at the moment. Nothing is wrong with what was asked of it: whoever hears this may wait and
// ask again, and must not count it as a failure of the turn or the message that it was about.
import type { Clock } from '../domain/clock.ts'
import { RockpoolError } from '../domain/errors.ts'

export class StoreAway extends RockpoolError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('unavailable', message, options)
  }
}

const patienceMs = 60_000
const pauseMs = 500

/** Work that may be done twice without harm: done again as a whole while the store is away, for a minute at most. */
export async function untilBack<T>(
  clock: Clock,
  work: () => Promise<T>,
  isOver: () => boolean = () => false,
): Promise<T> {
  const deadline = clock.monotonic() + patienceMs
  for (;;) {
    try {
      return await work()
    } catch (error) {
      const mayWait = error instanceof StoreAway && !isOver() && clock.monotonic() < deadline
      if (!mayWait) throw error
      await new Promise<void>((resolve) => void clock.after(pauseMs, resolve))
    }
  }
}
