// All working trees of a repository, read from git's own files: no program runs, whatever the repository says.
import { readdirSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { realPath } from './slug.ts'
import { readForeign } from '../store/disk/foreign-file.ts'

/** The directory itself and, if it is a working tree of git's, all its sisters. Real paths, this one first. */
export function worktreesOf(repoPath: string): string[] {
  const here = realPath(repoPath)
  const common = commonFolder(here)
  if (common === undefined) return [here]
  const linked = namesIn(join(common, 'worktrees')).flatMap((name) => {
    // Holds the path of the tree's `.git` file.
    const gitFile = readText(join(common, 'worktrees', name, 'gitdir'))
    return gitFile === undefined ? [] : [realPath(dirname(resolve(common, 'worktrees', name, gitFile)))]
  })
  return [...new Set([here, realPath(dirname(common)), ...linked])]
}

/** `.git` of the main tree, found from any tree. */
function commonFolder(tree: string): string | undefined {
  const dotGit = join(tree, '.git')
  if (isFolder(dotGit)) return dotGit
  const pointer = /^gitdir: (.+)$/m.exec(readText(dotGit) ?? '')?.[1]
  if (pointer === undefined) return undefined
  const folder = resolve(tree, pointer)
  const common = readText(join(folder, 'commondir'))
  return common === undefined ? undefined : resolve(folder, common)
}

function isFolder(path: string): boolean {
  try {
    return statSync(path).isDirectory()
  } catch {
    // Not there, or no name that a folder can have.
    return false
  }
}

function readText(path: string): string | undefined {
  try {
    return readForeign(path, 4_096).toString('utf8').trim()
  } catch {
    // Not there, or not a file: then it names nothing.
    return undefined
  }
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    // A repository without further trees has no such folder.
    return []
  }
}
