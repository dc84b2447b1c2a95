// Asks git about lines: which commit wrote each, and which lines a commit added. The repository may be hostile, so git runs
// as everywhere (discovery/git.ts): no program of the repository is started, and nothing from outside becomes an option.
import { existsSync, lstatSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { gitIn, stdoutOf, type Git, type Ran, type Run, type Variables } from '../discovery/git.ts'
import { isInside, realPath, worktreesOf } from '../discovery/repo-paths.ts'
import { RockpoolError } from '../domain/errors.ts'
import { plainLine } from '../domain/text.ts'
import type { CommitGraph } from './commit-graph.ts'
import { commitFormat, parseBlame, parseChanges, parseDiffs } from './git-lines.ts'
import type { BlamedLine, Changes, CommitDiff, CommitInfo, LineRange } from './git-lines.ts'

export interface BlameOptions {
  range?: LineRange
  /** Commits that changed only the form of lines, so that earlier commits wrote them. */
  formatters?: readonly string[]
  /** Lines that came from another file of the commit belong to the commit that wrote them there. Takes much longer. */
  withCopies: boolean
}

export const gitTimeoutMs = 20_000
/** Of what git prints: all lines of a file of 32 MB. */
const mostBytes = 64 << 20
const patchOptions = [
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--submodule=short',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--unified=0',
  '--find-renames',
  '--ignore-all-space',
]
const showOptions = ['--no-show-signature', '--diff-merges=first-parent']
const settings = ['-c', 'core.quotePath=false', '-c', 'blame.ignoreRevsFile=', '-c', 'diff.noprefix=false']
/** Letters and digits of lines that git takes for moved. With its own limit of 20, a new import is taken for a copy of an old one. */
const fewestMoved = 40
/** Commits of which the diff is kept in memory. */
const mostKept = 300
/** Files whose lines are kept in memory. */
const mostBlamed = 50
export function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) if (map.size > most) map.delete(key)
}

export class Repository {
  /** The real path of the working tree. */
  readonly root: string
  /** This working tree and all others of the repository. */
  trees: string[] = []
  readonly #git: Git
  /** Git that knows our commit graph. */
  readonly #gitWithGraph: Git
  readonly #graph: CommitGraph
  readonly #variables: Variables
  readonly #run: Run
  /** Commits never change. By hash and files. */
  readonly #diffs = new Map<string, CommitDiff>()
  /** Blame reads the whole history of a file, so its answer is kept as long as neither the file nor HEAD has changed. */
  readonly #blames = new Map<string, { stamp: string; lines: Promise<BlamedLine[] | undefined> }>()
  #head = ''
  #firstHere: readonly string[] = []
  #filtersOff: string[] | undefined
  readonly #places = new Map<string, Promise<'same' | 'other' | 'gone'>>()

  constructor(root: string, variables: Variables, graph: CommitGraph, run: Run) {
    this.root = root
    this.#variables = variables
    this.#graph = graph
    this.#run = run
    const options = { timeoutMs: gitTimeoutMs, maxBytes: mostBytes, run }
    this.#git = gitIn(root, variables, options)
    this.#gitWithGraph = gitIn(root, variables, { ...options, more: graph.variables })
  }

  /** Called before every question: the repository may have changed since the last one. `head`: changes with HEAD. `filtersOff`:
   *  arguments for git. `firstHere`: commits whose parents a shallow clone does not have. */
  look(head: string, filtersOff: string[] | undefined, firstHere: readonly string[]): void {
    this.#firstHere = firstHere
    this.#head = head
    this.trees = worktreesOf(this.root)
    this.#filtersOff = filtersOff
    this.#places.clear()
  }

  /** What people must know about a commit at which a shallow clone begins: git shows all older lines as its own. */
  noteOn(sha: string | undefined): string {
    return sha !== undefined && this.#firstHere.includes(sha)
      ? ' The history of this clone begins with this commit, so an earlier one may have written it: `git fetch --unshallow` gets the rest.'
      : ''
  }

  /** The path in the repository; undefined outside of it. */
  relativePath(path: string): string | undefined {
    const inside = relative(this.root, join(realPath(dirname(path)), basename(path)))
    return inside === '' || inside.startsWith('..') ? undefined : inside
  }

  /** The lines of a file as it is now, or some of them; undefined if git does not know the file. */
  async blame(
    file: string,
    { range, formatters = [], withCopies }: BlameOptions,
  ): Promise<BlamedLine[] | undefined> {
    const stat = lstatSync(join(this.root, file), { throwIfNoEntry: false })
    const stamp = [this.#head, stat?.ino, stat?.size, stat?.mtimeMs].join(' ')
    const wholeKey = [file, withCopies, ...formatters].join('\0')
    const whole = this.#blames.get(wholeKey)
    if (whole?.stamp === stamp) return (await whole.lines)?.slice((range?.from ?? 1) - 1, range?.to)
    const key = range ? `${wholeKey}\0${range.from}-${range.to}` : wholeKey
    const known = this.#blames.get(key)
    if (known?.stamp === stamp) return known.lines
    const limits = [
      ...(withCopies ? ['-C'] : []),
      ...(range ? ['-L', `${range.from},${range.to}`] : []),
      ...formatters.map((sha) => `--ignore-rev=${sha}`),
    ]
    const lines = this.#blame(file, limits)
    this.#blames.delete(key)
    this.#blames.set(key, { stamp, lines })
    dropOldest(this.#blames, mostBlamed)
    lines.catch(() => this.#blames.delete(key))
    return lines
  }

  async #blame(file: string, limits: readonly string[]): Promise<BlamedLine[] | undefined> {
    const options = ['--porcelain', '-w', `-M${fewestMoved}`, '--no-textconv', ...limits, '--', file]
    if (!this.#graph.isReady) await this.#graph.write(this.#gitWithGraph)
    const ran = await this.#gitWithGraph([...settings, ...this.#noFilters(), 'blame', ...options])
    if (ran.kind === 'done' && ran.code === 0) return parseBlame(ran.stdout)
    const stderr = ran.kind === 'done' ? ran.stderr : ''
    if (/no such path|no such ref|bad revision 'HEAD'|cannot stat|does not have any commits/i.test(stderr))
      return undefined
    throw gitFailed('git blame', ran)
  }

  /** The lines of a file that are not committed; undefined if git does not know the file. */
  async uncommitted(file: string): Promise<Changes | undefined> {
    const options = ['diff', 'HEAD', ...patchOptions, '--', `:(top,literal)${file}`]
    const text = stdoutOf(await this.#git([...settings, ...this.#noFilters(), ...options]))
    return text === undefined ? undefined : parseChanges(text)
  }

  /** The commit that a name means: a hash, a branch, `HEAD~2`. Undefined if there is none. */
  async resolve(name: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    return /^[0-9a-f]{40,64}/.exec(stdoutOf(await this.#git(args)) ?? '')?.[0]
  }

  /** The last commit that removed a file; undefined if none did. */
  async removal(file: string): Promise<string | undefined> {
    const options = ['log', '-1', '--format=%H', '--diff-filter=D', '--', `:(top,literal)${file}`]
    return stdoutOf(await this.#gitWithGraph([...settings, ...options]))?.trim() || undefined
  }

  /** The added lines of these commits, in all files or in these. */
  async diffs(shas: readonly string[], files: readonly string[] = []): Promise<Map<string, CommitDiff>> {
    const keyOf = (sha: string): string => [sha, ...files].join('\0')
    const unknown = shas.filter((sha) => !this.#diffs.has(keyOf(sha)))
    if (unknown.length > 0) {
      const paths = files.length > 0 ? files.map((file) => `:(top,literal)${file}`) : []
      const ran = await this.#git([
        ...settings,
        'show',
        commitFormat,
        ...showOptions,
        ...patchOptions,
        ...unknown,
        '--',
        ...paths,
      ])
      if (ran.kind !== 'done' || ran.code !== 0) throw gitFailed('git show', ran)
      for (const diff of parseDiffs(ran.stdout)) this.#diffs.set(keyOf(diff.sha), diff)
    }
    const found = new Map(
      shas.flatMap((sha) => {
        const diff = this.#diffs.get(keyOf(sha))
        return diff ? [[sha, diff] as const] : []
      }),
    )
    dropOldest(this.#diffs, mostKept)
    return found
  }

  /** Which of these commits are part of HEAD. Short hashes are completed. */
  async inHead(shas: readonly string[]): Promise<CommitInfo[]> {
    if (shas.length === 0) return []
    const resolved = await Promise.all(shas.map((sha) => this.resolve(sha)))
    const known = [...new Set(resolved)].filter((sha) => sha !== undefined)
    const checked = await Promise.all(
      known.map(async (sha) => {
        const ran = await this.#git(['merge-base', '--is-ancestor', sha, 'HEAD'])
        return ran.kind === 'done' && ran.code === 0 ? [sha] : []
      }),
    )
    const alive = checked.flat()
    if (alive.length === 0) return []
    const ran = await this.#git([...settings, 'show', '--no-patch', commitFormat, ...alive, '--'])
    return parseDiffs(stdoutOf(ran) ?? '')
  }

  /** Whether a folder that was a repository once is this one: by its place, its first commits, or its remote. */
  place(folder: string): Promise<'same' | 'other' | 'gone'> {
    const known = this.#places.get(folder) ?? this.#placeOf(folder)
    this.#places.set(folder, known)
    return known
  }

  async #placeOf(folder: string): Promise<'same' | 'other' | 'gone'> {
    const real = realPath(folder)
    if (this.trees.includes(real)) return 'same'
    // Claude Code makes working trees inside of the repository, and removes them.
    if (!existsSync(real)) return this.trees.some((tree) => isInside(real, tree)) ? 'same' : 'gone'
    const [ours, theirs] = await Promise.all([
      identityOf(this.#git),
      identityOf(gitIn(real, this.#variables, { timeoutMs: gitTimeoutMs, run: this.#run })),
    ])
    return theirs.some((mark) => ours.includes(mark)) ? 'same' : 'other'
  }

  #noFilters(): string[] {
    if (this.#filtersOff) return this.#filtersOff
    throw new RockpoolError('refused', `A content filter of ${this.root} cannot be switched off.`, {
      hint: 'Rename the filter in the configuration of the repository: its name contains "=".',
    })
  }
}

/** Marks by which copies of a repository recognise each other. */
async function identityOf(git: Git): Promise<string[]> {
  const [roots, remotes] = await Promise.all([
    git(['rev-list', '--max-parents=0', 'HEAD', '--']),
    git(['config', '--get-regexp', '^remote\\..*\\.url$']),
  ])
  const urls = (stdoutOf(remotes) ?? '').split('\n').map((line) => line.split(' ')[1] ?? '')
  return [...(stdoutOf(roots) ?? '').split('\n'), ...urls.map(withoutAccount)].filter((mark) => mark !== '')
}

/** `https://me:token@host/a.git` and `https://host/a` are the same remote. */
function withoutAccount(url: string): string {
  return url.replace(/^(\w+:\/\/)[^@/]*@/, '$1').replace(/\.git\/?$/, '')
}

export function outOfRange(file: string, line: number, length: number): RockpoolError {
  return new RockpoolError(
    'not-found',
    `${file} has ${length === 1 ? '1 line' : `${length} lines`}; there is no line ${line}.`,
    {
      hint: length === 0 ? 'The file is empty.' : `Ask for a line from 1 to ${length}.`,
    },
  )
}

function gitFailed(what: string, ran: Ran): RockpoolError {
  if (ran.kind === 'absent')
    return new RockpoolError('unavailable', 'git is not installed.', { hint: 'Install git.' })
  if (ran.kind === 'timed-out')
    return new RockpoolError('timed-out', `${what} gave no answer within ${ran.afterMs / 1000} s.`)
  const reason = ran.kind === 'failed' ? ran.reason : plainLine(ran.stderr.replace(/^fatal: /, ''), 300)
  return new RockpoolError('unavailable', `${what} failed: ${reason}`)
}
