// The git part of a project's status: independent git commands run at the same time, five seconds for each. A command that
// fails leaves its fields empty and a line in `problems`.
import { plainLine } from '../domain/text.ts'
import type { Commit, GitStatus, Worktree } from '../domain/project-status.ts'
import { stdoutOf, withoutFilters, type Git, type Ran } from './git.ts'

const maxListed = 1_000

interface GitAnswer {
  isGitRepo: boolean
  git: GitStatus
  problems: string[]
}

export async function readGitStatus(git: Git): Promise<GitAnswer> {
  const problems: string[] = []
  const ask = (what: string, args: string[]): Promise<Ran> => noteProblem(git(args), what, problems)
  const [inside, branch, log, changes, stash, upstreamName, upstreamCounts, worktrees] = await Promise.all([
    ask('git rev-parse', ['rev-parse', '--git-dir']),
    ask('git symbolic-ref', ['symbolic-ref', '--quiet', 'HEAD']),
    // Git itself truncates the columns, so that a message of many megabytes does no harm.
    ask('git log', [
      'log',
      '-z',
      '-n',
      '10',
      '--format=%H%x00%<(400,trunc)%an%x00%aI%x00%<(400,trunc)%s',
      '--',
    ]),
    readChanges(git, ask, problems),
    ask('git stash', ['rev-list', '--walk-reflogs', '--count', 'refs/stash', '--']),
    ask('git upstream', ['rev-parse', '--symbolic-full-name', '@{upstream}', '--']),
    ask('git upstream', ['rev-list', '--left-right', '--count', '@{upstream}...HEAD', '--']),
    ask('git worktree', ['worktree', 'list', '--porcelain', '-z']),
  ])
  const isGitRepo = stdoutOf(inside) !== undefined
  if (!isGitRepo && inside.kind === 'done') problems.push(...refusalOf(inside))
  const commits = parseCommits(stdoutOf(log) ?? '')
  return {
    isGitRepo,
    problems,
    git: {
      currentBranch: isGitRepo ? branchName(branch) : '',
      headCommitSha: commits[0]?.sha ?? '',
      headCommitMessage: commits[0]?.message ?? '',
      ...changes,
      stashCount: Number(stdoutOf(stash) ?? 0),
      recentCommits: commits,
      ...upstreamOf(stdoutOf(upstreamName), stdoutOf(upstreamCounts)),
      worktrees: parseWorktrees(stdoutOf(worktrees) ?? ''),
    },
  }
}

type Ask = (what: string, args: string[]) => Promise<Ran>
type Changes = Pick<GitStatus, 'uncommittedChanges' | 'stagedChanges' | 'conflicts'>

async function readChanges(git: Git, ask: Ask, problems: string[]): Promise<Changes> {
  const filtersOff = await withoutFilters(git)
  if (filtersOff === undefined) {
    problems.push('changes were not looked for: a content filter of the repository cannot be switched off')
    return parseChanges('')
  }
  // `dirty`: only the commit of a submodule counts; git would have to run inside it to know more.
  const ran = await ask('git status', [
    ...filtersOff,
    'status',
    '--porcelain=v2',
    '-z',
    '--untracked-files=normal',
    '--ignore-submodules=dirty',
    '--',
  ])
  return parseChanges(stdoutOf(ran) ?? '')
}

/** The output of `git status --porcelain=v2 -z`. The old name of a renamed file is a record of its own. */
function parseChanges(output: string): Changes {
  const changes: Changes = { uncommittedChanges: [], stagedChanges: [], conflicts: [] }
  // What follows the last NUL is empty, or a record that was cut off.
  const records = output.split('\0').slice(0, -1)
  for (let at = 0; at < records.length; at++) {
    const record = records[at]!
    const kind = record[0]
    if (kind === '?') add(changes.uncommittedChanges, '??', record.slice(2))
    if (kind === 'u') add(changes.conflicts, '', pathAfter(record, 10))
    if (kind !== '1' && kind !== '2') continue
    const [staged, unstaged] = [record[2]!, record[3]!]
    const path = kind === '1' ? pathAfter(record, 8) : `${records[++at]} -> ${pathAfter(record, 9)}`
    if (staged !== '.') add(changes.stagedChanges, staged, path)
    if (unstaged !== '.') add(changes.uncommittedChanges, unstaged, path)
  }
  return changes
}

function add(list: string[], code: string, path: string): void {
  if (list.length === maxListed) list.push('… and more')
  if (list.length < maxListed) list.push(plainLine(`${code} ${path}`, 500))
}

function pathAfter(record: string, fields: number): string {
  return record.split(' ').slice(fields).join(' ')
}

function parseCommits(output: string): Commit[] {
  const fields = output.split('\0')
  const commits: Commit[] = []
  for (let at = 0; at + 3 < fields.length; at += 4) {
    const [sha, author, date, message] = fields.slice(at, at + 4).map((field) => plainLine(field))
    commits.push({ sha: sha!, message: message!, author: author!, date: date! })
  }
  return commits
}

function parseWorktrees(output: string): Worktree[] {
  return output
    .split('\0\0')
    .filter((block) => block.startsWith('worktree '))
    .map((block) => {
      const lines = block.split('\0')
      const value = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name} `))?.slice(name.length + 1)
      const has = (name: string): boolean =>
        lines.some((line) => line === name || line.startsWith(`${name} `))
      const branch = value('branch')
      return {
        path: plainLine(value('worktree') ?? '', 4_096),
        head: value('HEAD'),
        branch: branch && plainLine(shortRef(branch)),
        locked: has('locked') || undefined,
        prunable: has('prunable') || undefined,
      }
    })
}

function upstreamOf(name: string | undefined, counts: string | undefined): Pick<GitStatus, 'upstream'> {
  const [behind, ahead] = (counts ?? '').trim().split('\t').map(Number)
  if (name === undefined || ahead === undefined || behind === undefined) return {}
  const ref = plainLine(shortRef(name.split('\n')[0]!))
  return { upstream: { name: ref, ahead, behind } }
}

/** A detached head has no branch; Claude Code then writes `HEAD`. */
function branchName(ran: Ran): string {
  return plainLine(shortRef(stdoutOf(ran)?.trim() ?? 'HEAD'))
}

function shortRef(ref: string): string {
  return ref.replace(/^refs\/(heads|remotes)\//, '')
}

async function noteProblem(running: Promise<Ran>, what: string, problems: string[]): Promise<Ran> {
  const ran = await running
  const note = (words: string): void => {
    if (!problems.includes(words)) problems.push(words)
  }
  if (ran.kind === 'timed-out') note(`${what} gave no answer within ${ran.afterMs / 1000} s`)
  if (ran.kind === 'absent') note('git is not installed')
  if (ran.kind === 'failed') note(`${what} could not be run: ${ran.reason}`)
  return ran
}

/** A folder that is not a repository is not a problem; a repository that git refuses is. */
function refusalOf(ran: { stderr: string }): string[] {
  if (/not a git repository/i.test(ran.stderr)) return []
  return [`git refused: ${plainLine(ran.stderr.replace(/^fatal: /, ''), 300)}`]
}
