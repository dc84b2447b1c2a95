// Filters and sorts sessions, finds the one that a person names.
import { basename } from 'node:path'
import type { DiscoveredSession, SessionFilter, SessionSort } from '../domain/discovered-session.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import { mayReadSession } from '../rights/rights.ts'
import { isInside, realPath, worktreesOf } from './repo-paths.ts'

type Filtered = Pick<
  DiscoveredSession,
  'agentKind' | 'repoPath' | 'agentId' | 'source' | 'isRunning' | 'archived'
>

/** The sessions that the filter lets through, in their order; words are searched by `havingWords`. */
export function matching<T extends Filtered>(sessions: readonly T[], filter: SessionFilter): readonly T[] {
  const { repoPath, agentId, source, running, archived, agentKind = 'claude' } = filter
  const tests: Array<(session: T) => boolean> = []
  if (agentKind !== 'all') tests.push((session) => session.agentKind === agentKind)
  if (repoPath !== undefined) {
    const isInRepo = repoTest(repoPath)
    tests.push((session) => isInRepo(session.repoPath))
  }
  if (agentId !== undefined) tests.push((session) => session.agentId === agentId)
  if (source !== undefined) tests.push((session) => session.source === source)
  if (running !== undefined) tests.push((session) => session.isRunning === running)
  if (archived !== undefined) tests.push((session) => session.archived === archived)
  return tests.length === 0 ? sessions : sessions.filter((session) => tests.every((test) => test(session)))
}

/** The sessions in which all words of the search occur. */
export function havingWords(
  sessions: readonly DiscoveredSession[],
  search: string | undefined,
): readonly DiscoveredSession[] {
  const words = (search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return words.length === 0 ? sessions : sessions.filter((session) => hasAllWords(session, words))
}

interface Ranked extends Pick<
  DiscoveredSession,
  | ('sessionId' | 'isRunning' | 'costUsd' | 'messageCount' | 'contextTokens' | 'fileSizeBytes')
  | ('totalInputTokens' | 'totalOutputTokens' | 'cacheReadTokens' | 'cacheCreationTokens')
> {
  lastModified: Date | number
}

/** Running ones first, then by the wanted order; equal ones by id, so that pages do not overlap. */
export function sortSessions<T extends Ranked>(sessions: readonly T[], sort: SessionSort): T[] {
  const ranked = sessions.map((session) => ({ session, rank: ranks[sort](session) }))
  ranked.sort(
    (a, b) =>
      Number(b.session.isRunning) - Number(a.session.isRunning) ||
      b.rank - a.rank ||
      (a.session.sessionId < b.session.sessionId ? -1 : 1),
  )
  return ranked.map(({ session }) => session)
}

const ranks: Record<SessionSort, (session: Ranked) => number> = {
  recent: (session) => Number(session.lastModified),
  cost: (session) => session.costUsd,
  tokens: (session) =>
    session.totalInputTokens +
    session.totalOutputTokens +
    session.cacheReadTokens +
    session.cacheCreationTokens,
  messages: (session) => session.messageCount,
  context: (session) => session.contextTokens,
  size: (session) => session.fileSizeBytes,
}

/** One word is the name that lists show for a repository: the last part of its path. */
export function isRepoName(repo: string): boolean {
  return !/[/\\]|^\.+$/.test(repo)
}

/** Many sessions share a directory, so each directory is checked once. */
function repoTest(repoPath: string): (directory: string) => boolean {
  if (isRepoName(repoPath)) return (directory) => basename(directory) === repoPath
  const trees = worktreesOf(repoPath)
  const known = new Map<string, boolean>()
  return (directory) => {
    if (directory === '') return false
    let answer = known.get(directory)
    if (answer === undefined) {
      const real = realPath(directory)
      known.set(directory, (answer = trees.some((tree) => isInside(real, tree) || isInside(directory, tree))))
    }
    return answer
  }
}

function hasAllWords(session: DiscoveredSession, words: string[]): boolean {
  const text = [
    session.sessionId,
    session.agentKind,
    session.title,
    session.tag,
    session.label,
    session.branch,
    session.repoPath,
    session.firstMessage,
    session.lastPrompt,
    session.lastTask,
    session.slug,
  ]
    .join('\n')
    .toLowerCase()
  return words.every((word) => text.includes(word))
}

/** Whether `findOne` could choose the session. */
export function mayBeNamed(
  { sessionId, title }: Pick<DiscoveredSession, 'sessionId' | 'title'>,
  idOrTitle: string,
): boolean {
  const wanted = idOrTitle.trim().toLowerCase()
  return sessionId.toLowerCase().startsWith(wanted) || title?.toLowerCase().startsWith(wanted) === true
}

/** The one session with this id, this title, or a unique beginning of either. */
export function findOne(idOrTitle: string, sessions: readonly DiscoveredSession[]): DiscoveredSession {
  const wanted = idOrTitle.trim().toLowerCase()
  if (wanted === '') throw unknownSession(idOrTitle)
  const idOf = (session: DiscoveredSession): string => session.sessionId.toLowerCase()
  const titleOf = ({ title = '' }: DiscoveredSession): string => title.toLowerCase()
  const ways: Array<(session: DiscoveredSession) => boolean> = [
    (session) => idOf(session) === wanted,
    (session) => idOf(session).startsWith(wanted),
    (session) => titleOf(session) === wanted,
    (session) => titleOf(session).startsWith(wanted),
  ]
  const found = ways.map((way) => sessions.filter(way)).find(({ length }) => length > 0) ?? []
  if (found.length === 1) return found[0]!
  throw found.length === 0 ? unknownSession(idOrTitle) : ambiguousSession(idOrTitle, found)
}

export function unknownSession(id: string): RockpoolError {
  return new RockpoolError('not-found', `There is no session ${JSON.stringify(id.slice(0, 80))}.`, {
    hint: '`rockpool cc list` shows all of them; the beginning of an id is enough.',
  })
}

function ambiguousSession(id: string, found: DiscoveredSession[]): RockpoolError {
  const some = found.slice(0, 5).map((session) => session.sessionId)
  return new RockpoolError(
    'ambiguous',
    `${found.length} sessions begin with ${JSON.stringify(id.slice(0, 80))}.`,
    { hint: `Give more of it, or one of the ids ${some.join(', ')}${found.length > 5 ? ', …' : ''}.` },
  )
}

/** Candidates for a task here: own sessions of the same working tree that are not archived. */
export function candidatesOf(sessions: DiscoveredSession[], status: ProjectStatus, agentId?: string) {
  const here = treeFinder(status)
  const tree = here(status.repo.path)
  return sessions.filter(
    (session) => mayReadSession(session, agentId) && !session.archived && here(session.repoPath) === tree,
  )
}

/** Finds the worktree of a directory. A conversation in one worktree names files that another does not have. */
function treeFinder(status: ProjectStatus): (path: string) => string | undefined {
  const trees = status.git.worktrees.map(({ path }) => path).sort((a, b) => b.length - a.length)
  return (path) => trees.find((tree) => path === tree || path.startsWith(`${tree}/`))
}
