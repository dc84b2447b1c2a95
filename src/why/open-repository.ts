// Finds the repository of a file. A process costs the gateway more than all other work for an answer, so git is asked once for
// each folder, and then only the files are checked that would change its answer.
import { existsSync, statSync } from 'node:fs'
import { dirname, join, resolve } from 'node:path'
import { gitIn, runBounded, withoutFilters, type Run, type Variables } from '../discovery/git.ts'
import { isInside, realPath } from '../discovery/repo-paths.ts'
import type { Clock } from '../domain/clock.ts'
import { attempt, RockpoolError } from '../domain/errors.ts'
import { plainLine } from '../domain/text.ts'
import { readForeign } from '../store/disk/foreign-file.ts'
import { CommitGraph } from './commit-graph.ts'
import { dropOldest, gitTimeoutMs, Repository } from './repository.ts'

const mostRepositories = 20
const mostFolders = 200
const longestFile = 1 << 20
/** A name may stand for another name. */
const mostNames = 5

/** Git's answer about a folder, and the state of its files at that time. */
interface Place {
  /** The real path of the working tree. */
  root: string
  gitFolder: string
  /** Of the main working tree; the same as `gitFolder` there. */
  commonFolder: string
  filtersOff: string[] | undefined
  /** Undefined if the configuration is in other files, too. */
  stamp: string | undefined
}

/** Repositories that were asked about, so that a second question about the same file is answered at once. */
export class Repositories {
  readonly #variables: Variables
  readonly #graphs: string
  readonly #clock: Clock
  readonly #run: Run
  readonly #known = new Map<string, Repository>()
  readonly #places = new Map<string, Place>()

  /** `graphs`: a folder for commit graphs (commit-graph.ts). `run`: how git is started. */
  constructor(variables: Variables, graphs: string, clock: Clock, run = runBounded) {
    this.#run = run
    this.#variables = variables
    this.#graphs = graphs
    this.#clock = clock
  }

  /** The repository that a file or folder is in. */
  async open(path: string): Promise<Repository> {
    const folder = nearestFolder(path)
    const known = this.#places.get(folder)
    const place = known && isCurrent(folder, known) ? known : await this.#find(folder, path)
    this.#places.delete(folder)
    this.#places.set(folder, place)
    dropOldest(this.#places, mostFolders)
    const { root, commonFolder, filtersOff } = place
    const repository = this.#known.get(root) ?? this.#create(root, commonFolder)
    this.#known.set(root, repository)
    dropOldest(this.#known, mostRepositories)
    repository.look(headOf(place), filtersOff, textOf(join(commonFolder, 'shallow')).split('\n'))
    return repository
  }

  #create(root: string, commonFolder: string): Repository {
    const graph = new CommitGraph(this.#graphs, join(commonFolder, 'objects'), this.#clock)
    return new Repository(root, this.#variables, graph, this.#run)
  }

  async #find(folder: string, path: string): Promise<Place> {
    const git = gitIn(folder, this.#variables, { timeoutMs: gitTimeoutMs, run: this.#run })
    const wanted = ['--show-toplevel', '--absolute-git-dir', '--git-common-dir']
    const [ran, filtersOff] = await Promise.all([git(['rev-parse', ...wanted]), withoutFilters(git)])
    // No program below the folder is run, and all programs are below `/`.
    if (ran.kind === 'absent' && folder !== '/')
      throw new RockpoolError('unavailable', 'git is not installed.', { hint: 'Install git.' })
    const [root = '', gitFolder = '', common = ''] = ran.kind === 'done' ? ran.stdout.split('\n') : []
    if (!root.startsWith('/')) throw notFound(path, ran.kind === 'done' ? ran.stderr : '')
    const place = { root: realPath(root), gitFolder, commonFolder: resolve(folder, common), filtersOff }
    return { ...place, stamp: stampOf(place) }
  }
}

function notFound(path: string, stderr: string): RockpoolError {
  const reason = plainLine(stderr.split('\n')[0]?.replace(/^fatal: /, '') ?? '', 300)
  if (/dubious ownership/.test(reason))
    return new RockpoolError('refused', `git does not read the repository of ${path}: ${reason}.`, {
      hint: 'If you trust it: `git config --global --add safe.directory <its folder>`.',
    })
  if (/must be run in a work tree/.test(reason))
    return new RockpoolError('not-found', `${path} is in a repository without a working tree.`, {
      hint: 'Ask in a clone or a working tree of it.',
    })
  return new RockpoolError('not-found', `${path} is not in a git repository.`, {
    hint: 'Run the command inside of a repository, or name one with --repo.',
  })
}

/** True as long as git would say the same about the folder. */
function isCurrent(folder: string, place: Place): boolean {
  if (place.stamp === undefined || place.stamp !== stampOf(place)) return false
  // A repository may have been made between the folder and the root.
  for (let at = realPath(folder); at !== place.root; at = dirname(at))
    if (!isInside(at, place.root) || existsSync(join(at, '.git'))) return false
  return true
}

function stampOf({ root, gitFolder, commonFolder }: Omit<Place, 'stamp'>): string | undefined {
  const files = [join(commonFolder, 'config'), join(gitFolder, 'config.worktree')]
  // An included file could add a content filter unnoticed, and of a large file not all is read.
  if (files.some((file) => /\[include/i.test(textOf(file)) || sizeOf(file) > longestFile)) return undefined
  return [join(root, '.git'), gitFolder, ...files].map(changeOf).join('\n')
}

/** Changes with every change of HEAD: its name, and the commit that it stands for. */
function headOf({ gitFolder, commonFolder }: Place): string {
  const seen = [textOf(join(gitFolder, 'HEAD'))]
  for (let names = 0; names < mostNames; names++) {
    const name = /^ref: (.+)$/m.exec(seen.at(-1)!)?.[1]
    if (name === undefined) break
    seen.push(textOf(resolve(commonFolder, name)))
  }
  const tables = ['packed-refs', 'reftable/tables.list'].map((file) => changeOf(join(commonFolder, file)))
  return [...seen, ...tables].join('\n')
}

function changeOf(path: string): string {
  const stat = statSync(path, { throwIfNoEntry: false })
  // The time of a folder changes with every file in it.
  return stat?.isDirectory() ? `${stat.ino}` : `${stat?.ino} ${stat?.size} ${stat?.mtimeMs} ${stat?.ctimeMs}`
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

function textOf(path: string): string {
  return attempt(() => readForeign(path, longestFile).toString('utf8'), '')
}

/** The path itself, or the nearest folder above that exists. */
function nearestFolder(path: string): string {
  const isFolder = attempt(() => statSync(path).isDirectory(), false)
  return isFolder || path === dirname(path) ? path : nearestFolder(dirname(path))
}
