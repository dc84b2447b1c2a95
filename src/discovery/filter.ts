// Filters and sorts sessions, and decides who owns one.
import type { DiscoveredSession, SessionFilter, SessionSort } from '../domain/discovered-session.ts'
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
    (session) =>
      session.agentKind === 'claude' &&
      isOwn(session, agentId) &&
      !session.archived &&
      here(session.repoPath) === tree,
  )
}

/** Finds the worktree of a directory. A conversation in one worktree names files that another does not have. */
function treeFinder(status: ProjectStatus): (path: string) => string | undefined {
  const trees = status.git.worktrees.map(({ path }) => path).sort((a, b) => b.length - a.length)
  return (path) => trees.find((tree) => path === tree || path.startsWith(`${tree}/`))
}
