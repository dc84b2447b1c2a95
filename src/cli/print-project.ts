// `rockpool project`: the state of a repository, and its documents.
import { printableText } from '../domain/text.ts'
import type { OutputOf } from '../rpc/client.ts'
import { ago, bytes, oneLine, pairs, styled, table } from './print.ts'
import type { Page, Printers } from './print.ts'

type ProjectStatus = OutputOf<'project.status'>
/** The sessions of a project are rows of `cc list`. */
type Session = OutputOf<'cc.list'>['sessions'][number]

const maxShown = 8

export const printers: Printers = {
  'project.status': printStatus,
  'project.docs': ({ docs }, page) => {
    if (docs.length === 0) return styled(page, 'dim', 'There are no documents here.')
    return table(page, docs, {
      DOCUMENT: { value: (doc) => doc.path, min: 20 },
      SIZE: { value: (doc) => bytes(doc.bytes), align: 'right', min: 6, style: 'dim' },
    })
  },
  'project.doc': ({ text, isCut }, page) => {
    const shown = printableText(text).trimEnd()
    return isCut ? `${shown}\n${styled(page, 'yellow', '… only the beginning is shown')}` : shown
  },
}

function printStatus(status: ProjectStatus, page: Page): string {
  const title = styled(page, 'bold', oneLine(status.repo.name))
  const blocks = [
    `${title}  ${styled(page, 'dim', oneLine(status.repo.path))}`,
    status.repo.isGitRepo ? printGit(status, page) : styled(page, 'dim', 'Not a git repository.'),
    printChanges(status, page),
    printGithub(status, page),
    printSessions(status, page),
    status.problems.map((problem) => styled(page, 'yellow', `! ${oneLine(problem)}`)).join('\n'),
  ]
  return blocks.filter((block) => block !== '').join('\n\n')
}

function printGit({ repo, git, docs }: ProjectStatus, page: Page): string {
  const { upstream } = git
  const ahead = upstream && `${upstream.name}, ${upstream.ahead} ahead, ${upstream.behind} behind`
  const others = git.worktrees
    .filter(({ path }) => path !== repo.path)
    .map(({ path, branch }) => `${path}${branch ? ` (${branch})` : ''}`)
  const present = [
    docs.hasClaudeMd && 'CLAUDE.md',
    docs.hasReadme && 'README',
    docs.hasTodo && 'TODO',
    docs.hasSpecs && `${docs.specFiles.length} specs`,
  ]
  return pairs(page, {
    branch: git.currentBranch || '-',
    upstream: ahead,
    head: `${git.headCommitSha.slice(0, 8)} ${git.headCommitMessage}`.trim() || '-',
    stashes: git.stashCount > 0 ? String(git.stashCount) : undefined,
    worktrees: others.length > 0 ? others.join('\n') : undefined,
    documents: present.filter(Boolean).join(', ') || undefined,
  })
}

function printChanges({ git }: ProjectStatus, page: Page): string {
  const lists: Array<[string, string[], 'red' | 'green' | 'yellow']> = [
    ['Conflicts', git.conflicts, 'red'],
    ['Staged', git.stagedChanges, 'green'],
    ['Not staged', git.uncommittedChanges, 'yellow'],
  ]
  return lists
    .filter(([, lines]) => lines.length > 0)
    .map(([name, lines, color]) => {
      const shown = lines.slice(0, maxShown).map((line) => `  ${styled(page, color, oneLine(line))}`)
      if (lines.length > maxShown) shown.push(styled(page, 'dim', `  … ${lines.length - maxShown} more`))
      return [`${name} (${lines.length})`, ...shown].join('\n')
    })
    .join('\n')
}

function printGithub({ github }: ProjectStatus, page: Page): string {
  if (!github) return ''
  const prs = github.openPrs.map(
    (pr) => `  #${pr.number} ${oneLine(pr.title)} ${styled(page, 'dim', oneLine(pr.branch))}`,
  )
  const checks = github.failingChecks.map(
    (check) => `  ${styled(page, 'red', oneLine(`${check.name}: ${check.status}`))}`,
  )
  return [
    `Pull requests (${prs.length})`,
    ...prs,
    ...(checks.length > 0 ? [`Failing checks (${checks.length})`, ...checks] : []),
  ].join('\n')
}

function printSessions({ sessions }: ProjectStatus, page: Page): string {
  const { active, recent } = sessions as Record<keyof typeof sessions, Session[]>
  const shown = [...active, ...recent.filter((one) => !one.isRunning)]
  if (shown.length === 0) return styled(page, 'dim', 'No sessions here yet.')
  return table(page, shown, {
    SESSION: { value: (one) => one.sessionId.slice(0, 8), min: 8 },
    STATE: {
      value: (one) => one.waitingFor ?? one.status,
      style: (one) => (one.isRunning ? (one.status === 'waiting' ? 'yellow' : 'green') : 'dim'),
    },
    BRANCH: (one) => one.branch || '-',
    AGE: { value: (one) => ago(Date.parse(one.lastModified), page.now), min: 8 },
    ABOUT: (one) => one.title ?? one.lastTask ?? one.firstMessage,
  })
}
