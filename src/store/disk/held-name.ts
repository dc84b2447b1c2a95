// Names that only one process of this user on this machine may hold: a bot's token is polled by one Rockpool, even if several
// run with different state directories.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { FileLock } from './file-lock.ts'

/** Resolves to a function that releases the name. Rejects with `locked` at once if another live process holds it. */
export function holdName(folder: string, name: string): Promise<() => Promise<void>> {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = new FileLock(join(folder, name), { timeoutMs: 100 })
  return new Promise((resolve, reject) => {
    const held = lock.hold(name, () => {
      return new Promise<void>((giveBack) => {
        resolve(async () => {
          giveBack()
          await held
        })
      })
    })
    held.catch((error: unknown) => reject(inUse(name, error)))
  })
}

function inUse(name: string, error: unknown): unknown {
  if (!(error instanceof RockpoolError) || error.code !== 'locked') return error
  return new RockpoolError('locked', `${name} is in use by another process: ${error.message}`, {
    hint: 'Stop the other Rockpool, or give this one a bot of its own.',
    cause: error,
  })
}
