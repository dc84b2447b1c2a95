// What git knows about lines: which commit wrote each, and which lines a commit added. The repository may be hostile, so git runs
// as everywhere (discovery/git.ts): no program of the repository is started, and nothing from outside becomes an option.
import { existsSync, statSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { gitIn, withoutFilters, type Git, type Ran, type Variables } from '../discovery/git.ts'
import { hashOfLine } from '../discovery/line-hash.ts'
import { isInside, realPath, worktreesOf } from '../discovery/repo-paths.ts'
import { attempt, RockpoolError } from '../domain/errors.ts'
import { plainLine } from '../domain/text.ts'

/** A line of a file now, and the commit that wrote it. */
export interface BlamedLine {
  /** Counted from 1, in the file as it is now. */
  line: number
  text: string
  /** Undefined for a line that is not committed. */
  sha: string | undefined
  /** The file and the line in that commit. */
  file: string
  lineInCommit: number
}

export interface CommitInfo {
  sha: string
  subject: string
  author: string
  email: string
  /** Seconds since 1970. A rebase keeps the author's date and changes the committer's. */
  authoredAt: number
  committedAt: number
}

export interface AddedLine {
  file: string
  /** In the file after the commit. */
  line: number
  /** Lines that were added next to each other have the same number. */
  hunk: number
  text: string
  hash: number | undefined
}

export interface CommitDiff extends CommitInfo {
  added: AddedLine[]
}

const timeoutMs = 20_000
const format = '--format=%x01%H%x00%an%x00%ae%x00%at%x00%ct%x00%s%x00'
const patchOptions = [
  '--no-color',
  '--no-ext-diff',
  '--no-textconv',
  '--no-show-signature',
  '--submodule=short',
  '--diff-merges=first-parent',
  '--src-prefix=a/',
  '--dst-prefix=b/',
  '--unified=0',
  '--find-renames',
  '--ignore-all-space',
]
const settings = ['-c', 'core.quotePath=false', '-c', 'blame.ignoreRevsFile=', '-c', 'diff.noprefix=false']
/** Commits of which the diff is kept in memory. */
const mostKept = 300
/** Files whose lines are kept in memory. */
const mostBlamed = 50
const mostRepositories = 20

/** Repositories that were asked about, so that a second question about the same file is answered at once. */
export class Repositories {
  readonly #variables: Variables
  readonly #known = new Map<string, Repository>()

  constructor(variables: Variables) {
    this.#variables = variables
  }

  /** The repository that a file or folder is in. */
  async open(path: string): Promise<Repository> {
    const ask = gitIn(nearestFolder(path), this.#variables, timeoutMs)
    // Without a commit there is no HEAD, and the first line is there all the same.
    const ran = await ask(['rev-parse', '--show-toplevel', '--verify', '--quiet', 'HEAD'])
    const [root = '', head = ''] = ran.kind === 'done' ? ran.stdout.split('\n') : []
    if (!root.startsWith('/'))
      throw new RockpoolError('not-found', `${path} is not in a git repository.`, {
        hint: 'Run the command inside of a repository, or name one with --repo.',
      })
    const real = realPath(root)
    const repository = this.#known.get(real) ?? new Repository(real, this.#variables)
    this.#known.set(real, repository)
    dropOldest(this.#known, mostRepositories)
    repository.look(head)
    return repository
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  for (const key of map.keys()) if (map.size > most) map.delete(key)
}

export class Repository {
  /** The real path of the working tree. */
  readonly root: string
  /** This working tree and all others of the repository. */
  trees: string[] = []
  readonly #git: Git
  readonly #variables: Variables
  /** Commits never change. By hash and files. */
  readonly #diffs = new Map<string, CommitDiff>()
  /** Blame reads the whole history of a file, so its answer is kept as long as neither the file nor HEAD has changed. */
  readonly #blames = new Map<string, { stamp: string; lines: Promise<BlamedLine[] | undefined> }>()
  #head = ''
  #filtersOff: Promise<string[] | undefined> | undefined
  readonly #places = new Map<string, Promise<'same' | 'other' | 'gone'>>()

  constructor(root: string, variables: Variables) {
    this.root = root
    this.#variables = variables
    this.#git = gitIn(root, variables, timeoutMs)
  }

  static async open(path: string, variables: Variables): Promise<Repository> {
    return new Repositories(variables).open(path)
  }

  /** Called before every question: the repository may have changed since the last one. */
  look(head: string): void {
    this.#head = head
    this.trees = worktreesOf(this.root)
    this.#filtersOff = undefined
    this.#places.clear()
  }

  /** The path in the repository; undefined outside of it. */
  relativePath(path: string): string | undefined {
    const inside = relative(this.root, join(realPath(dirname(path)), basename(path)))
    return inside === '' || inside.startsWith('..') ? undefined : inside
  }

  /** The lines of a file as it is now; undefined if git does not know the file. */
  blame(file: string): Promise<BlamedLine[] | undefined> {
    const stat = statSync(join(this.root, file), { throwIfNoEntry: false })
    const stamp = [this.#head, stat?.ino, stat?.size, stat?.mtimeMs].join(' ')
    const known = this.#blames.get(file)
    if (known?.stamp === stamp) return known.lines
    const lines = this.#blame(file)
    this.#blames.delete(file)
    this.#blames.set(file, { stamp, lines })
    dropOldest(this.#blames, mostBlamed)
    lines.catch(() => this.#blames.delete(file))
    return lines
  }

  async #blame(file: string): Promise<BlamedLine[] | undefined> {
    const options = ['--porcelain', '-w', '-M', '-C', '--no-textconv', '--', file]
    const ran = await this.#git([...settings, ...(await this.#noFilters()), 'blame', ...options])
    if (ran.kind === 'done' && ran.code === 0) return parseBlame(ran.stdout)
    const stderr = ran.kind === 'done' ? ran.stderr : ''
    if (/no such path|no such ref|bad revision 'HEAD'|cannot stat|does not have any commits/i.test(stderr))
      return undefined
    throw gitFailed('git blame', ran)
  }

  /** The commit that a name means: a hash, a branch, `HEAD~2`. Undefined if there is none. */
  async resolve(name: string): Promise<string | undefined> {
    const args = ['rev-parse', '--verify', '--quiet', '--end-of-options', `${name}^{commit}`]
    return /^[0-9a-f]{40,64}/.exec(textOf(await this.#git(args)) ?? '')?.[0]
  }

  /** The added lines of these commits, in all files or in these. */
  async diffs(shas: readonly string[], files: readonly string[] = []): Promise<Map<string, CommitDiff>> {
    const keyOf = (sha: string): string => [sha, ...files].join('\0')
    const unknown = shas.filter((sha) => !this.#diffs.has(keyOf(sha)))
    if (unknown.length > 0) {
      const paths = files.length > 0 ? files.map((file) => `:(top,literal)${file}`) : []
      const ran = await this.#git([...settings, 'show', format, ...patchOptions, ...unknown, '--', ...paths])
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
    const ran = await this.#git([...settings, 'show', '--no-patch', format, ...alive, '--'])
    return parseDiffs(textOf(ran) ?? '')
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
      identityOf(gitIn(real, this.#variables, timeoutMs)),
    ])
    return theirs.some((mark) => ours.includes(mark)) ? 'same' : 'other'
  }

  async #noFilters(): Promise<string[]> {
    const filtersOff = await (this.#filtersOff ??= withoutFilters(this.#git))
    if (filtersOff) return filtersOff
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
  const urls = (textOf(remotes) ?? '').split('\n').map((line) => line.split(' ')[1] ?? '')
  return [...(textOf(roots) ?? '').split('\n'), ...urls.map(withoutAccount)].filter((mark) => mark !== '')
}

/** `https://me:token@host/a.git` and `https://host/a` are the same remote. */
function withoutAccount(url: string): string {
  return url.replace(/^(\w+:\/\/)[^@/]*@/, '$1').replace(/\.git\/?$/, '')
}

/** The path itself, or the nearest folder above that exists. */
function nearestFolder(path: string): string {
  const isFolder = attempt(() => statSync(path).isDirectory(), false)
  return isFolder || path === dirname(path) ? path : nearestFolder(dirname(path))
}

function parseBlame(output: string): BlamedLine[] {
  const lines: BlamedLine[] = []
  const files = new Map<string, string>()
  let [sha, lineInCommit, line] = ['', 0, 0]
  for (const text of output.split('\n')) {
    const head = /^([0-9a-f]{40,64}) (\d+) (\d+)/.exec(text)
    if (text.startsWith('\t')) {
      const isCommitted = !/^0+$/.test(sha)
      const file = files.get(sha) ?? ''
      lines.push({ line, text: text.slice(1), sha: isCommitted ? sha : undefined, file, lineInCommit })
    } else if (head) {
      sha = head[1]!
      lineInCommit = Number(head[2])
      line = Number(head[3])
    } else if (text.startsWith('filename ')) files.set(sha, text.slice('filename '.length))
  }
  return lines
}

function parseDiffs(output: string): CommitDiff[] {
  return output
    .split('\x01')
    .slice(1)
    .map((part) => {
      const [sha, author, email, authoredAt, committedAt, subject, ...patch] = part.split('\0')
      return {
        sha: sha!,
        subject: plainLine(subject ?? '', 400),
        author: plainLine(author ?? '', 200),
        email: plainLine(email ?? '', 200),
        authoredAt: Number(authoredAt),
        committedAt: Number(committedAt),
        added: parseAdded(patch.join('\0')),
      }
    })
}

function parseAdded(patch: string): AddedLine[] {
  const added: AddedLine[] = []
  let file = ''
  let [line, hunk, left] = [0, 0, 0]
  for (const text of patch.split('\n')) {
    if (left > 0 && text.startsWith('+')) {
      added.push({ file, line: line++, hunk, text: text.slice(1), hash: hashOfLine(text.slice(1)) })
      left--
      continue
    }
    if (left > 0 && (text.startsWith('-') || text.startsWith('\\'))) continue
    const start = /^@@ -\S+ \+(\d+)(?:,(\d+))? @@/.exec(text)
    if (start) {
      line = Number(start[1])
      left = Number(start[2] ?? 1)
      hunk++
    } else if (text.startsWith('+++ b/')) file = text.slice('+++ b/'.length).replace(/\t$/, '')
  }
  return added
}

export function outOfRange(file: string, line: number, length: number): RockpoolError {
  return new RockpoolError('not-found', `${file} has ${length} lines; there is no line ${line}.`, {
    hint: length === 0 ? 'The file is empty.' : `Ask for a line from 1 to ${length}.`,
  })
}

function textOf(ran: Ran): string | undefined {
  return ran.kind === 'done' && ran.code === 0 ? ran.stdout : undefined
}

function gitFailed(what: string, ran: Ran): RockpoolError {
  if (ran.kind === 'absent')
    return new RockpoolError('unavailable', 'git is not installed.', { hint: 'Install git.' })
  if (ran.kind === 'timed-out')
    return new RockpoolError('timed-out', `${what} gave no answer within ${ran.afterMs / 1000} s.`)
  const reason = ran.kind === 'failed' ? ran.reason : plainLine(ran.stderr.replace(/^fatal: /, ''), 300)
  return new RockpoolError('unavailable', `${what} failed: ${reason}`)
}
