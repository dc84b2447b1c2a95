// Whose session is it? The operator owns the machine, so every session of a repository is theirs. An agent owns what a
// registry row or a trusted tag says is its own; what a message says about itself proves nothing.
import type { DiscoveredSession } from '../domain/discovered-session.ts'

/** `agentId` is absent for the operator. */
export function isOwn(session: DiscoveredSession, agentId: string | undefined): boolean {
  return agentId === undefined || session.agentId === agentId
}
