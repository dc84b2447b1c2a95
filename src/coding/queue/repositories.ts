// Which repositories this machine has, and how others recognise them although they lie elsewhere there.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { normalizedOrigin } from '../../domain/machine.ts'
import type { Repository } from '../../domain/machine.ts'
import { gitIn } from '../../discovery/git.ts'
import type { Git, Variables } from '../../discovery/git.ts'
import { readGitStatus } from '../../discovery/git-status.ts'

/** Where a repository may be, with its name in the configuration. */
export interface PossibleRepository {
  path: string
  name?: string
}

/** The repository that a directory is in; nothing outside of git. */
export async function identify(
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
  return {
    path: top,
    ...(name === undefined || top !== path ? {} : { name }),
    ...(origin === undefined ? {} : { origin }),
    ...(rootCommit === undefined ? {} : { rootCommit }),
  }
}

/** What is checked out in a directory, so that two machines can be compared. */
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

const deepest = 3
const mostBelow = 300

/** Repositories below a configured root, not looking into repositories themselves. */
export function repositoriesBelow(root: string): string[] {
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

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // A file, or a folder that is not ours to read: no repository of ours is in it.
    return []
  }
}

/** Several roots come of joined histories; which of them counts must be the same everywhere. */
async function firstCommit(git: Git): Promise<string | undefined> {
  const ran = await git(['rev-list', '--max-parents=0', 'HEAD', '--'])
  if (ran.kind !== 'done' || ran.code !== 0) return undefined
  return ran.stdout.trim().split('\n').sort()[0] || undefined
}

async function firstLine(git: Git, args: string[]): Promise<string | undefined> {
  const ran = await git(args)
  if (ran.kind !== 'done' || ran.code !== 0) return undefined
  return ran.stdout.split('\n')[0] || undefined
}
