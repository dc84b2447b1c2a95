// The changes of a coding session: the files of its repository now against the repository when the session began, with the
// commits in between. Git is asked as safely as in any stranger's repository, and everything is limited in size; see
// docs/decisions/0011-asking-git-about-strangers.md.
import { createHash } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { join } from 'node:path'
import type { RepositoryBase } from '../domain/coding-session.ts'
import { plainLine } from '../domain/text.ts'
import type { Card } from '../domain/transcript-views.ts'
import { gitIn, stdoutOf, withoutFilters, type Git, type Ran, type Variables } from '../discovery/git.ts'

const maxFiles = 300
const maxPatchChars = 200_000
const maxFileBytes = 200_000
/** The row of a session has them, so they are few. */
const maxDirty = 100
const maxNamed = 20
const reviewTimeoutMs = 10_000

interface ChangedFile {
  path: string
  change: 'added' | 'modified' | 'deleted'
  added?: number
  removed?: number
  /** A unified diff; empty for a binary file, or when it is too large. */
  patch: string
  note?: string
}

interface MadeCommit {
  commit: string
  author: string
  at: number
  subject: string
}

interface Changes {
  /** The working tree; undefined outside of git. */
  tree?: string
  files: ChangedFile[]
  commits: MadeCommit[]
  branch?: string
  /** Why something is missing. */
  problems: string[]
}

/** The repository as it is before the first turn; undefined outside of git. */
export async function readBase(workdir: string, variables: Variables): Promise<RepositoryBase | undefined> {
  const repo = await openRepository(workdir, variables)
  if (!repo) return undefined
  const commit = await headOf(repo.git)
  const paths = [...(await changedPaths(repo.git, commit)), ...(await untrackedPaths(repo.git))]
  const hashes = await Promise.all(
    paths.slice(0, maxDirty).map(async (path) => [path, await hashOf(join(repo.top, path))] as const),
  )
  return { commit, dirty: Object.fromEntries(hashes) }
}

/** `since`: when the session began; commits before that are not its own. */
export async function readChanges(
  workdir: string,
  base: RepositoryBase | undefined,
  since: number,
  variables: Variables,
): Promise<Changes> {
  const problems: string[] = []
  const repo = await openRepository(workdir, variables)
  if (!repo) return { files: [], commits: [], problems: [`${workdir} is not in a git repository.`] }
  const { git, top } = repo
  if (!base)
    problems.push('The commit where the session began is unknown; only uncommitted changes are shown.')
  const commit = base?.commit ?? (await headOf(git))
  const tracked = await trackedFiles(git, commit, problems)
  const untracked = await untrackedFiles(repo, problems)
  const unseen = await uncomparedFiles(repo)
  if (unseen.length > 0)
    problems.push(`The git index marks these files as not to be compared: ${listOf(unseen)}.`)
  const found = [...tracked, ...untracked].sort((a, b) => (a.path < b.path ? -1 : 1))
  const own = await withoutEarlier(top, found, base?.dirty ?? {})
  if (own.length > maxFiles) problems.push(`${own.length - maxFiles} more files have changed.`)
  const branch = firstLine(await git(['symbolic-ref', '--quiet', '--short', 'HEAD']))
  const commits = base?.commit === undefined ? [] : await commitsSince(git, base.commit, since)
  return { tree: top, files: withinSize(own.slice(0, maxFiles), problems), commits, branch, problems }
}

interface Repository {
  git: Git
  top: string
}

/** Git at the top of the repository, so that paths are relative to it. */
async function openRepository(workdir: string, variables: Variables): Promise<Repository | undefined> {
  const here = gitIn(workdir, variables, { timeoutMs: reviewTimeoutMs })
  const top = firstLine(await here(['rev-parse', '--show-toplevel']))
  if (top === undefined) return undefined
  // Otherwise the session could replace the commit where it began by another one.
  const more = { GIT_NO_REPLACE_OBJECTS: '1' }
  const git = gitIn(top, variables, { timeoutMs: reviewTimeoutMs, more })
  const filters = await withoutFilters(git)
  // A filter that cannot be switched off would run a program.
  return filters && { top, git: (args) => git([...filters, ...args]) }
}

async function headOf(git: Git): Promise<string | undefined> {
  const commit = firstLine(await git(['rev-parse', '--verify', '--quiet', 'HEAD']))
  return commit !== undefined && /^[0-9a-f]{40,64}$/.test(commit) ? commit : undefined
}

const plainDiff = [
  'diff',
  '--no-ext-diff',
  '--no-textconv',
  '--no-renames',
  '--no-color',
  '--ignore-submodules=all',
]

async function changedPaths(git: Git, commit: string | undefined): Promise<string[]> {
  return commit === undefined ? [] : names(await git([...plainDiff, '--name-only', '-z', commit, '--']))
}

async function untrackedPaths(git: Git): Promise<string[]> {
  return names(await git(['ls-files', '--others', '--exclude-standard', '-z']))
}

async function trackedFiles(
  git: Git,
  commit: string | undefined,
  problems: string[],
): Promise<ChangedFile[]> {
  if (commit === undefined) return []
  const counted = await git([...plainDiff, '--numstat', '-z', commit, '--'])
  const states = names(await git([...plainDiff, '--name-status', '-z', commit, '--']))
  const patch = await git([...plainDiff, '--unified=3', commit, '--'])
  if (counted.kind !== 'done' || counted.code !== 0 || patch.kind !== 'done') {
    problems.push('Git could not compare the files with the commit where the session began.')
    return []
  }
  const patches = patchesIn(patch.stdout)
  const stateOf = new Map(states.flatMap((state, i) => (i % 2 === 0 ? [[states[i + 1]!, state]] : [])))
  return counted.stdout
    .split('\0')
    .filter(Boolean)
    .map((line, i) => {
      const [added = '-', removed = '-', ...path] = line.split('\t')
      const name = path.join('\t')
      const isBinary = added === '-'
      const change = ({ A: 'added', D: 'deleted' } as const)[stateOf.get(name) ?? ''] ?? 'modified'
      return isBinary
        ? { path: name, change, patch: '', note: 'binary' }
        : { path: name, change, added: Number(added), removed: Number(removed), patch: patches[i] ?? '' }
    })
}

/** One for each file, in their order. Only headers begin with `diff --git`: lines of files begin with a space, + or -. Of a file
 *  that became a link, git prints two patches with the same header. */
function patchesIn(output: string): string[] {
  const patches = new Map<string, string>()
  // A line ends with a line feed only; text of a file may have other separators.
  for (const patch of output.split(/(?<=\n)(?=diff --git )/)) {
    const header = patch.slice(0, patch.indexOf('\n'))
    patches.set(header, (patches.get(header) ?? '') + patch)
  }
  return [...patches.values()]
}

async function untrackedFiles({ git, top }: Repository, problems: string[]): Promise<ChangedFile[]> {
  const paths = await untrackedPaths(git)
  if (paths.length > maxFiles) problems.push(`${paths.length - maxFiles} more untracked files.`)
  return Promise.all(paths.slice(0, maxFiles).map((path) => newFile(top, path)))
}

/** Files of the working tree that the index marks as unchanged (a small letter) or as absent (`S`), even if their content has
 *  changed. */
async function uncomparedFiles({ git, top }: Repository): Promise<string[]> {
  const marked = names(await git(['ls-files', '-v', '-z'])).filter((line) => /^[a-zS] /.test(line))
  return marked.map((line) => line.slice(2)).filter((path) => existsSync(join(top, path)))
}

function listOf(paths: readonly string[]): string {
  const shown = paths.slice(0, maxNamed).map((path) => plainLine(path))
  return [...shown, ...(paths.length > maxNamed ? [`${paths.length - maxNamed} more`] : [])].join(', ')
}

async function newFile(top: string, path: string): Promise<ChangedFile> {
  const content = await readRegular(join(top, path), maxFileBytes)
  const about = { path, change: 'added' as const, patch: '' }
  if (content === undefined) return { ...about, note: 'not a readable file, or too large' }
  if (content.includes(0)) return { ...about, note: 'binary' }
  const lines = content.toString('utf8').split('\n')
  const endsOpen = lines.at(-1) !== ''
  if (!endsOpen) lines.pop()
  const body = lines.map((line) => `+${line}`).join('\n')
  const name = JSON.stringify(path).slice(1, -1)
  const patch = `diff --git a/${name} b/${name}\nnew file\n--- /dev/null\n+++ b/${name}\n@@ -0,0 +1,${lines.length} @@\n${body}\n${endsOpen ? '\\ No newline at end of file\n' : ''}`
  return { ...about, added: lines.length, removed: 0, patch: lines.length === 0 ? '' : patch }
}

/** Leaves out files that had changed before the session began and are still the same. */
async function withoutEarlier(
  top: string,
  files: ChangedFile[],
  dirty: Record<string, string>,
): Promise<ChangedFile[]> {
  const own: ChangedFile[] = []
  for (const file of files) {
    const before = Object.hasOwn(dirty, file.path) ? dirty[file.path] : undefined
    if (before === undefined) own.push(file)
    else if (before !== (await hashOf(join(top, file.path))))
      own.push({ ...file, note: 'had uncommitted changes before the session; the diff includes them' })
  }
  return own
}

async function hashOf(path: string): Promise<string> {
  const content = await readRegular(path, 5_000_000)
  return content === undefined ? 'none' : createHash('sha256').update(content).digest('hex').slice(0, 16)
}

/** Follows no link, and does not wait for a pipe. */
async function readRegular(path: string, maxBytes: number): Promise<Buffer | undefined> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK
  const file = await open(path, flags).catch(() => undefined)
  try {
    const stat = await file?.stat()
    return stat?.isFile() && stat.size <= maxBytes ? await file!.readFile() : undefined
  } finally {
    await file?.close()
  }
}

/** The list stays whole; beyond the limit files have no patch. */
function withinSize(files: ChangedFile[], problems: string[]): ChangedFile[] {
  let room = maxPatchChars
  const shown = files.map((file) => {
    room -= file.patch.length
    return room >= 0 || file.patch === '' ? file : { ...file, patch: '', note: 'too large to show' }
  })
  if (room < 0) problems.push('The diff is too large to show as a whole.')
  return shown
}

async function commitsSince(git: Git, base: string, since: number): Promise<MadeCommit[]> {
  const format = '--format=%H%x1f%an%x1f%ct%x1f%s'
  const ran = await git(['log', '-z', '--max-count=100', format, `${base}..HEAD`, '--'])
  return names(ran)
    .map((line) => line.split('\u001f'))
    .map(([commit = '', author = '', seconds = '', subject = '']) => ({
      commit,
      author,
      at: Number(seconds) * 1_000,
      subject,
    }))
    .filter(({ at }) => at >= since - 1_000)
}

function names(ran: Ran): string[] {
  return (stdoutOf(ran) ?? '').split('\0').filter(Boolean)
}

function firstLine(ran: Ran): string | undefined {
  return stdoutOf(ran)?.split('\n')[0] || undefined
}

interface TestRun {
  command: string
  at: number
  outcome: 'passed' | 'failed' | 'unknown'
}

const testCommand =
  /(?:^|[\s;&|(])(?:(?:npm|pnpm|yarn|bun)\s+(?:run\s+)?(?:t|test|check|lint)\b[\w:-]*|(?:npx\s+)?(?:vitest|jest|mocha|ava|playwright|cypress|pytest|tox|nox|rspec|phpunit|ctest|tsc|eslint|mypy|ruff)\b|cargo\s+(?:test|nextest|clippy|check)|go\s+(?:test|vet)|(?:make|just|rake|gradle|\.\/gradlew|mvn)\s+[\w:-]*(?:test|check|verify|lint)[\w:-]*|(?:dotnet|swift|mix|zig\s+build|deno|node)\s+(?:--)?test\b|python[\d.]*\s+-m\s+(?:pytest|unittest))/

/** Commands that look like tests, with their outcome: Claude Code marks the result of a command that failed. */
export function testRuns(cards: readonly Card[]): TestRun[] {
  const results = new Map(
    cards.flatMap((card) => (card.kind === 'result' ? [[card.toolUseId, card.isError === true]] : [])),
  )
  return cards.flatMap(({ kind, tool, toolUseId, at }) => {
    const command = kind === 'tool' && tool?.name === 'Bash' ? tool.input['command'] : undefined
    if (typeof command !== 'string' || !testCommand.test(command)) return []
    const hasFailed = results.get(toolUseId)
    const outcome = hasFailed === undefined ? 'unknown' : hasFailed ? 'failed' : 'passed'
    return [{ command: command.slice(0, 500).toWellFormed(), at, outcome }]
  })
}
