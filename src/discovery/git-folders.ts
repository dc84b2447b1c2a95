// Which folders git reads to describe a directory. A text file in the directory can lead git to any repository of the machine: `.git`,
// `commondir`, `objects/info/alternates`, or `core.worktree` in the configuration.
import { join, resolve } from 'node:path'
import { attempt } from '../domain/errors.ts'
import { linksIn, readForeign } from '../store/disk/foreign-file.ts'
import type { Git } from './git.ts'
import { isInside, isLinkedTree, realPath } from './repo-paths.ts'

const longestFile = 65_536
/** An object store may name others, which may name others. */
const mostStores = 20

/** The real paths of what git reads outside of the repository that the directory is in. A working tree that its repository knows (`git
 *  worktree add`) is in that repository. Empty outside of a repository. */
export async function foreignGitFolders(directory: string, git: Git): Promise<string[]> {
  const wanted = ['--absolute-git-dir', '--git-common-dir', '--git-path', 'objects']
  // The last one fails without a working tree.
  const ran = await git(['rev-parse', ...wanted, '--show-toplevel'])
  if (ran.kind === 'absent') return []
  const lines = ran.kind === 'done' ? ran.stdout.split('\n') : []
  if (ran.kind === 'done' && lines.length < 4) return []
  // Without an answer, or with a line break in a name, it could be anywhere.
  if (lines.length < 4 || lines.length > 5 || directory.includes('\n')) return ['/']
  const paths = lines.slice(0, -1).map((line) => realPath(resolve(directory, line)))
  const [gitFolder = '/', common = '/', objects = '/', tree] = paths
  const own = ownFolders({ gitFolder, common, tree })
  const links = [gitFolder, common, join(common, 'refs'), objects, join(objects, 'pack')].flatMap(linksIn)
  const read = [gitFolder, common, tree ?? gitFolder, ...links.map(realPath), ...objectStores(objects)]
  return read.filter((folder) => !own.some((each) => isInside(folder, each)))
}

/** What belongs to the tree without doubt: its own `.git`, or the repository that has the tree in its list. */
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
  const stores = [objects]
  for (let at = 0; at < stores.length && stores.length < mostStores; at++) {
    const store = stores[at]!
    const text = attempt(
      () => readForeign(join(store, 'info', 'alternates'), longestFile).toString('utf8'),
      '',
    )
    const named = text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))
    stores.push(...named.map((line) => realPath(resolve(store, unquoted(line)))))
  }
  return stores
}

/** Git quotes a path with special characters. One that we cannot read could be anywhere. */
function unquoted(line: string): string {
  return line.startsWith('"') ? attempt(() => String(JSON.parse(line)), '/') : line
}
