// The directories that coding sessions work in, and the repositories of this machine: how other machines recognise them
// although they have them at other paths.
import { lstatSync, realpathSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { Config } from '../../domain/config.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { namesIn } from '../../store/disk/foreign-file.ts'
import { normalizedOrigin } from '../../domain/machine.ts'
import type { Repository } from '../../domain/machine.ts'
import { gitIn, stdoutOf } from '../../discovery/git.ts'
import type { Git, Variables } from '../../discovery/git.ts'
import { readGitStatus } from '../../discovery/git-status.ts'
import { isInside } from '../../discovery/repo-paths.ts'

/** The real path of the directory. Claude reports a missing directory as another error, so it is checked here. */
export function checkWorkdir(workdir: string, roots: string[]): string {
  let real: string
  try {
    real = realpathSync(workdir)
    if (!isDirectory(real)) throw new Error('not a directory')
  } catch (cause) {
    throw new RockpoolError('not-found', `${workdir} is not a directory.`, {
      hint: 'Name an existing repository with `--repo`. A session is resumed in its own folder, which must exist.',
      cause,
    })
  }
  if (isBelowRoots(real, roots)) return real
  throw new RockpoolError('refused', `${real} is outside of coding.workspaceRoots.`, {
    hint: `Allowed: ${roots.join(', ')}.`,
  })
}

/** May sessions run in this directory? */
export function isAllowed(path: string, roots: string[]): boolean {
  return isDirectory(path) && isBelowRoots(realpathSync(path), roots)
}

export function isDirectory(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() === true
}

/** Without configured roots every directory is allowed. */
function isBelowRoots(real: string, roots: string[]): boolean {
  return roots.length === 0 || roots.some((root) => isInside(real, root))
}

/** The root of the repository that a directory is in: the nearest folder with a `.git` (worktrees have one, too). Outside of
 *  git it is the directory itself. */
export function repositoryRoot(directory: string): string {
  for (let folder = directory; ; folder = dirname(folder)) {
    if (lstatSync(join(folder, '.git'), { throwIfNoEntry: false })) return folder
    if (dirname(folder) === folder) return directory
  }
}

/** A directory that may be a repository, with its name in the configuration. */
export interface PossibleRepository {
  path: string
  name?: string
}

/** The repository that a directory is in; undefined outside of git. */
export async function identifyRepository(
  { path, name }: PossibleRepository,
  variables: Variables,
): Promise<Repository | undefined> {
  const git = gitIn(path, variables)
  const top = await firstLine(git, ['rev-parse', '--show-toplevel'])
  if (top === undefined) return undefined
  const [url, rootCommit] = await Promise.all([
    firstLine(git, ['config', '--get', 'remote.origin.url']),
    firstCommit(git),
  ])
  const origin = url === undefined ? undefined : normalizedOrigin(url)
  return { path: top, name: top === path ? name : undefined, origin, rootCommit }
}

/** The checkout of a directory, to compare two machines. */
export interface CheckedOut {
  branch: string
  commit: string
  /** How many files differ from that commit. */
  uncommitted: number
}

export async function checkedOut(path: string, variables: Variables): Promise<CheckedOut> {
  const { git } = await readGitStatus(gitIn(path, variables))
  const changed = [...git.uncommittedChanges, ...git.stagedChanges, ...git.conflicts]
  const files = new Set(changed.map((line) => line.slice(line.indexOf(' ') + 1)))
  return { branch: git.currentBranch, commit: git.headCommitSha, uncommitted: files.size }
}

/** Where repositories of this machine may be: those that the configuration names, then those with sessions, newest first. */
export function possibleRepositories(
  { repos, defaultWorkdir, workspaceRoots }: Config['coding'],
  usedPaths: readonly string[],
): PossibleRepository[] {
  const paths = [
    ...(defaultWorkdir === undefined ? [] : [defaultWorkdir]),
    ...workspaceRoots.flatMap(repositoriesBelow),
    ...usedPaths,
  ]
  return [
    ...Object.entries(repos).map(([name, path]) => ({ path, name })),
    ...[...new Set(paths)].map((path) => ({ path })),
  ]
}

const deepest = 3
const mostBelow = 300

/** Repositories below a configured root, without those inside of other repositories. */
function repositoriesBelow(root: string): string[] {
  const found: string[] = []
  let level = [root]
  for (let depth = 0; depth <= deepest && level.length > 0 && found.length < mostBelow; depth++) {
    const next: string[] = []
    for (const folder of level.slice(0, mostBelow)) {
      const names = namesIn(folder)
      if (names.includes('.git')) found.push(folder)
      else next.push(...names.filter((name) => !name.startsWith('.')).map((name) => join(folder, name)))
    }
    level = next
  }
  return found.slice(0, mostBelow)
}

/** Joined histories have several root commits; sorting makes every machine take the same one. */
async function firstCommit(git: Git): Promise<string | undefined> {
  return (await linesOf(git, ['rev-list', '--max-parents=0', 'HEAD', '--'])).sort()[0]
}

async function firstLine(git: Git, args: string[]): Promise<string | undefined> {
  return (await linesOf(git, args))[0]
}

async function linesOf(git: Git, args: string[]): Promise<string[]> {
  const ran = await git(args)
  return (stdoutOf(ran) ?? '').split('\n').filter(Boolean)
}
