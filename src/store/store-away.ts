// The store cannot be reached at the moment. Nothing is wrong with what was asked of it: whoever hears this may wait and
// ask again, and must not count it as a failure of the turn or the message that it was about.
import { RockpoolError } from '../domain/errors.ts'

export class StoreAway extends RockpoolError {
  constructor(message: string, options: { hint?: string; cause?: unknown } = {}) {
    super('unavailable', message, options)
  }
}
