// A folder that all Rockpools of one user on a machine share, whatever their state directories: what only one of them may
// have is held there. It lies where everybody may write and always in the same place, so it must really be ours.
import { chmodSync, lstatSync, mkdirSync } from 'node:fs'
import { RockpoolError } from '../../domain/errors.ts'
import { errorCode } from './atomic-file.ts'

/**
 * Creates the folder for held names, which all Rockpools of a user share. It is in a place where everybody may write, so a
 * folder of another user is refused.
 */
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
  return new RockpoolError('refused', `${path} ${why}, so Rockpool cannot ensure that only one process receives for a bot.`, {
    hint: 'Remove it, or ask its owner to remove it; then start again.',
    ...(cause === undefined ? {} : { cause }),
  })
}
