// Filters and sorts sessions, finds the one that a person names, and decides who owns one.
import type { DiscoveredSession, SessionFilter, SessionSort } from '../domain/discovered-session.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import { isInside, realPath, worktreesOf } from './repo-paths.ts'

export function matching(sessions: DiscoveredSession[], filter: SessionFilter): DiscoveredSession[] {
  const isInRepo = filter.repoPath === undefined ? undefined : repoTest(filter.repoPath)
  const words = (filter.search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  const { agentKind = 'claude' } = filter
  return sessions.filter(
    (session) =>
      (agentKind === 'all' || session.agentKind === agentKind) &&
      (isInRepo === undefined || isInRepo(session.repoPath)) &&
      (filter.agentId === undefined || session.agentId === filter.agentId) &&
      (filter.source === undefined || session.source === filter.source) &&
      (filter.running === undefined || session.isRunning === filter.running) &&
      (filter.archived === undefined || session.archived === filter.archived) &&
      (words.length === 0 || hasAllWords(session, words)),
  )
}

/** Running ones first, then by the wanted order; equal ones by id, so that pages do not overlap. */
export function sortSessions(sessions: DiscoveredSession[], sort: SessionSort): DiscoveredSession[] {
  const ranked = sessions.map((session) => ({ session, rank: ranks[sort](session) }))
  ranked.sort(
    (a, b) =>
      Number(b.session.isRunning) - Number(a.session.isRunning) ||
      b.rank - a.rank ||
      (a.session.sessionId < b.session.sessionId ? -1 : 1),
  )
  return ranked.map(({ session }) => session)
}

const ranks: Record<SessionSort, (session: DiscoveredSession) => number> = {
  recent: (session) => session.lastModified.getTime(),
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

/** Many sessions share a directory, so each directory is checked once. */
function repoTest(repoPath: string): (directory: string) => boolean {
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

/** The one session with this id, this title, or a unique beginning of either. */
export function theOne(idOrTitle: string, sessions: DiscoveredSession[]): DiscoveredSession {
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

function unknownSession(id: string): RockpoolError {
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

/**
 * The operator (no `agentId`) owns every session. An agent owns what a registry row or a trusted tag says; what a message says
 * about itself proves nothing.
 */
export function isOwn(session: DiscoveredSession, agentId: string | undefined): boolean {
  return agentId === undefined || session.agentId === agentId
}

/** Candidates for a task here: own sessions of the same working tree that are not archived. */
export function candidatesOf(sessions: DiscoveredSession[], status: ProjectStatus, agentId?: string) {
  const here = treeFinder(status)
  const tree = here(status.repo.path)
  return sessions.filter(
    (session) => isOwn(session, agentId) && !session.archived && here(session.repoPath) === tree,
  )
}

/** Finds the worktree of a directory. A conversation in one worktree names files that another does not have. */
function treeFinder(status: ProjectStatus): (path: string) => string | undefined {
  const trees = status.git.worktrees.map(({ path }) => path).sort((a, b) => b.length - a.length)
  return (path) => trees.find((tree) => path === tree || path.startsWith(`${tree}/`))
}
