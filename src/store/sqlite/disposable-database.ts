// Databases that can be thrown away, because all that is in them can be made again: an index, a copy.
import { rmSync } from 'node:fs'
import { RockpoolError } from '../../domain/errors.ts'

/** One that is damaged or of a later version is no loss: it is thrown away, and opened anew. */
export function openOrMakeAnew<T>(open: () => T, throwAway: (error: RockpoolError) => void): T {
  try {
    return open()
  } catch (error) {
    const isUseless =
      error instanceof RockpoolError && (error.code === 'damaged' || error.code === 'schema-newer')
    if (!isUseless) throw error
    throwAway(error)
    return open()
  }
}

/** Nobody may have it open. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
