// Whose session is it? The operator owns the machine, so every session of a repository is theirs. An
// agent owns what a registry row or a trusted tag says is its own; what a message says about itself proves nothing.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { ProjectStatus } from '../domain/project-status.ts'

/** `agentId` is absent for the operator. */
export function isOwn(session: DiscoveredSession, agentId: string | undefined): boolean {
  return agentId === undefined || session.agentId === agentId
}

/** Candidates for a task here: own sessions of the same working tree that are not archived. */
export function candidatesOf(
  sessions: DiscoveredSession[],
  status: ProjectStatus,
  agentId: string | undefined,
): DiscoveredSession[] {
  const here = treeFinder(status)
  const tree = here(status.repo.path)
  return sessions.filter(
    (session) => isOwn(session, agentId) && !session.archived && here(session.repoPath) === tree,
  )
}

/** Which worktree a directory is in. What was said in one tree names files that another tree does not have. */
function treeFinder(status: ProjectStatus): (path: string) => string | undefined {
  const trees = status.git.worktrees.map(({ path }) => path).sort((a, b) => b.length - a.length)
  return (path) => trees.find((tree) => path === tree || path.startsWith(`${tree}/`))
}
