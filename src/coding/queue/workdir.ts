// The directory that a coding session works in: it must be there, and inside of the allowed ones.
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname, join, sep } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'

/** The real path of the directory. Claude reports a missing one as something else, so it is checked here. */
export function checkWorkdir(workdir: string, roots: string[]): string {
  let real: string
  try {
    real = realpathSync(workdir)
    if (!statSync(real).isDirectory()) throw new Error('not a directory')
  } catch (cause) {
    throw new RockpoolError('not-found', `${workdir} is not a directory.`, {
      hint: 'Give an existing repository.',
      cause,
    })
  }
  if (isInside(real, roots)) return real
  throw new RockpoolError('refused', `${real} is outside of coding.workspaceRoots.`, {
    hint: `Allowed: ${roots.join(', ')}.`,
  })
}

/** The root of the repository that a directory is in: the nearest folder with a `.git`, as a worktree has one, too. Outside
 *  of git it is the directory itself. */
export function repositoryRoot(directory: string): string {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false })) return folder
    if (dirname(folder) === folder) return directory
  }
}

/** A directory in which sessions may run. */
export function isAllowed(path: string, roots: string[]): boolean {
  return isDirectory(path) && isInside(realpathSync(path), roots)
}

function isInside(real: string, roots: string[]): boolean {
  const inside = (root: string): boolean =>
    real === root || real.startsWith(root.endsWith(sep) ? root : root + sep)
  return roots.length === 0 || roots.some(inside)
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}
