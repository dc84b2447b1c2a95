// Names that only one process of this user on this machine may hold: a bot's token is polled by one Rockpool, even if several
// run with different state directories.
import { mkdirSync, chmodSync, lstatSync } from 'node:fs'
import { join } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { FileLock } from './file-lock.ts'
import { errorCode } from './atomic-file.ts'

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

/** Creates the folder for held names, which all Rockpools of a user share. It is in a place where all users may write, so a
 *  folder of another user is refused. */
export function openMachineFolder(path: string): string {
  try {
    mkdirSync(path, { mode: 0o700 })
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw notOurs(path, 'cannot be made', error)
  }
  // A symbolic link is refused: its owner could change its target later.
  const { uid, mode } = checkedStats(path)
  const self = process.getuid?.()
  if (self !== undefined && uid !== self) throw notOurs(path, `belongs to another user (uid ${uid})`)
  if ((mode & 0o077) !== 0) chmodSync(path, 0o700)
  return path
}

function checkedStats(path: string): { uid: number; mode: number } {
  const stats = lstatSync(path)
  if (!stats.isDirectory()) throw notOurs(path, 'is no folder')
  return stats
}

function notOurs(path: string, why: string, cause?: unknown): RockpoolError {
  const message = `${path} ${why}, so Rockpool cannot ensure that only one process receives for a bot.`
  return new RockpoolError('refused', message, {
    hint: 'Remove it, or ask its owner to remove it; then start again.',
    cause,
  })
}
