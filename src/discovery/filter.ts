// Which sessions are wanted, and in which order.
import type { DiscoveredSession, SessionFilter, SessionSort } from '../domain/discovered-session.ts'
import { isInside, realPath } from './slug.ts'
import { worktreesOf } from './worktrees.ts'

export function matching(sessions: DiscoveredSession[], filter: SessionFilter): DiscoveredSession[] {
  const isInRepo = filter.repoPath === undefined ? undefined : repoTest(filter.repoPath)
  const words = (filter.search ?? '').toLowerCase().split(/\s+/).filter(Boolean)
  return sessions.filter(
    (session) =>
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

/** Directories repeat over sessions, so each is looked at once. */
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
