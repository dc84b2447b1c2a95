// Which folders git reads to describe a directory. A text file in the directory can lead git to any repository of the machine:
// `.git`, `commondir`, `objects/info/alternates`, or `core.worktree` in the configuration.
import { realpathSync } from 'node:fs'
import { isAbsolute, join, resolve } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { errorCode, ifThere } from '../store/disk/atomic-file.ts'
import { linksIn, namesIn, readForeign } from '../store/disk/foreign-file.ts'
import type { Git } from './git.ts'
import { isInside, isLinkedTree } from './repo-paths.ts'

const longestFile = 65_536
/** An object store may name others, which may name others. */
const mostStores = 20

/** The real paths of what git reads outside of the repository that the directory is in. A working tree that its repository knows
 *  (`git worktree add`) is in that repository. Empty outside of a repository. Undefined if it cannot be checked completely: then
 *  git could read any repository. */
export async function foreignGitFolders(directory: string, git: Git): Promise<string[] | undefined> {
  const wanted = ['--absolute-git-dir', '--git-common-dir', '--git-path', 'objects']
  // The last one fails without a working tree.
  const ran = await git(['rev-parse', ...wanted, '--show-toplevel'])
  if (ran.kind === 'absent') return []
  const lines = ran.kind === 'done' ? ran.stdout.split('\n') : []
  if (ran.kind === 'done' && lines.length < 4) return []
  // Without an answer, or with a line break in a name.
  if (lines.length < 4 || lines.length > 5 || directory.includes('\n')) return undefined
  return attempt(() => foreignAmong(lines.slice(0, -1).map((line) => realFolder(resolve(directory, line)))))
}

/** Throws if something cannot be read. */
function foreignAmong([gitFolder = '/', common = '/', objects = '/', tree]: string[]): string[] {
  const own = ownFolders({ gitFolder, common, tree })
  const stores = objectStores(objects)
  const links = [gitFolder, common, join(common, 'refs'), ...stores.flatMap(partsOf)].flatMap(linksIn)
  const read = [gitFolder, common, tree ?? gitFolder, ...links.map(realFolder), ...stores]
  return read.filter((folder) => !own.some((each) => isInside(folder, each)))
}

/** The folder that certainly belongs to the tree: its own `.git`, or the repository that has the tree in its list. */
function ownFolders({
  gitFolder,
  common,
  tree,
}: {
  gitFolder: string
  common: string
  tree?: string
}): string[] {
  if (tree && gitFolder === join(tree, '.git')) return [tree]
  return tree && isLinkedTree(tree, gitFolder, common) ? [tree, common] : []
}

/** The object store and all alternates. */
function objectStores(objects: string): string[] {
  const stores = new Set([objects])
  // The loop also visits what it adds.
  for (const store of stores) {
    for (const alternate of alternatesOf(store)) stores.add(alternate)
    if (stores.size > mostStores) throw new Error('Too many alternates.')
  }
  return [...stores]
}

function alternatesOf(store: string): string[] {
  const bytes = ifThere(() => readForeign(join(store, 'info', 'alternates'), longestFile + 1))
  if (bytes === undefined) return []
  if (bytes.length > longestFile) throw new Error('The list of alternates is too long.')
  const lines = checked(bytes.toString('utf8')).split('\n')
  // Git itself quotes no path here.
  if (lines.some((line) => line.startsWith('"'))) throw new Error('Quoted alternate.')
  return lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .flatMap((line) => {
      const path = isAbsolute(line) ? line : `${store}/${line}`
      // For `link/../other`, old versions of git remove `link/..` first, and new versions follow the link first.
      return [realFolder(resolve(path)), realFolder(path)]
    })
}

/** The folders of an object store in which git reads files. */
function partsOf(store: string): string[] {
  const loose = namesIn(store).filter((name) => /^[\da-f]{2}$/.test(name))
  return [store, ...['pack', 'info', 'info/commit-graphs', ...loose].map((name) => join(store, name))]
}

/** The path with its links resolved by the system, as git does it; unchanged if it does not exist. */
function realFolder(path: string): string {
  try {
    return checked(realpathSync.native(checked(path)))
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return path
    throw error
  }
}

/** Throws for text that is not what git reads: git reads any bytes, and only up to a NUL. */
function checked(text: string): string {
  if (/[\0\uFFFD]/.test(text)) throw new Error('Not readable as text.')
  return text
}
