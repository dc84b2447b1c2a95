// Paths of repositories: the folder that Claude Code keeps for one, its real path, and all its working trees.
import { existsSync, lstatSync, realpathSync } from 'node:fs'
import { dirname, join, resolve, sep } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { namesIn, readForeign } from '../store/disk/foreign-file.ts'

const longest = 200

/**
 * The name of Claude Code's folder for a directory, computed from its real path. Two directories may share one name, so the
 * `cwd` in the records decides which directory a transcript belongs to.
 */
export function repoPathToSlug(repoPath: string): string {
  const path = realPath(repoPath)
  const slug = path.replaceAll(/[^a-zA-Z0-9]/g, '-')
  return slug.length <= longest ? slug : `${slug.slice(0, longest)}-${shortHash(path)}`
}

/** The directory with its links resolved; unchanged when it does not exist. */
export function realPath(path: string): string {
  const absolute = resolve(path)
  // A deleted directory may still have sessions, under its last name.
  return attempt(() => realpathSync(absolute), absolute)
}

/** True for the repository itself and every directory in it. By path segments: `/a/bc` is not in `/a/b`. */
export function isInside(directory: string, repoPath: string): boolean {
  return directory === repoPath || directory.startsWith(repoPath.endsWith(sep) ? repoPath : repoPath + sep)
}

function shortHash(text: string): string {
  let hash = 0
  // UTF-16 units, as Claude Code counts them, not code points.
  for (let i = 0; i < text.length; i++) hash = ((hash << 5) - hash + text.charCodeAt(i)) | 0 // oxlint-disable-line unicorn/prefer-code-point
  return Math.abs(hash).toString(36)
}

/**
 * The directory itself and, in a git repository, all its other working trees; real paths, this one first. Reads git's own
 * files and runs no program, because the repository is not trusted.
 */
export function worktreesOf(repoPath: string): string[] {
  const here = realPath(repoPath)
  const common = commonFolder(here)
  if (common === undefined) return [here]
  const linked = namesIn(join(common, 'worktrees')).flatMap((name) => {
    const folder = join(common, 'worktrees', name)
    const tree = treeOf(folder)
    // A deleted tree may still have sessions. One that exists must belong to this repository.
    return tree !== undefined && (!existsSync(tree) || gitFolderOf(tree) === folder) ? [tree] : []
  })
  return [...new Set([here, realPath(dirname(common)), ...linked])]
}

/** `.git` of the main tree, found from any tree that belongs to it. */
function commonFolder(tree: string): string | undefined {
  const dotGit = join(tree, '.git')
  // Fails if it does not exist, or the name is invalid.
  if (attempt(() => lstatSync(dotGit).isDirectory())) return dotGit
  const folder = gitFolderOf(tree)
  const named = folder && readText(join(folder, 'commondir'))
  if (folder === undefined || named === undefined) return undefined
  const common = realPath(resolve(folder, named))
  return isLinkedTree(tree, folder, common) ? common : undefined
}

/** Does the repository at `common` have this tree in its list? A `.git` file alone can name every repository. All are real paths. */
export function isLinkedTree(tree: string, gitFolder: string, common: string): boolean {
  return dirname(gitFolder) === join(common, 'worktrees') && treeOf(gitFolder) === tree
}

/** The folder that the `.git` file of a linked tree names. */
function gitFolderOf(tree: string): string | undefined {
  const pointer = /^gitdir: (.+)$/m.exec(readText(join(tree, '.git')) ?? '')?.[1]
  return pointer === undefined ? undefined : realPath(resolve(tree, pointer))
}

/** The linked tree that this folder of a repository is for. */
function treeOf(gitFolder: string): string | undefined {
  // Holds the path of the tree's `.git` file.
  const gitFile = readText(join(gitFolder, 'gitdir'))
  return gitFile === undefined ? undefined : realPath(dirname(resolve(gitFolder, gitFile)))
}

function readText(path: string): string | undefined {
  // Fails if it does not exist, or is not a file.
  return attempt(() => readForeign(path, 4_096).toString('utf8').trim())
}
