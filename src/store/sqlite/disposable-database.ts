// Databases that can be thrown away, because all that is in them can be made again: an index, a copy.
import { rmSync } from 'node:fs'
import { RockpoolError } from '../../domain/errors.ts'

/** A database that is damaged or of a later version is deleted and created again; nothing of value is lost. */
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

/** No connection may have it open. */
export function removeDatabase(path: string): void {
  for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
}
