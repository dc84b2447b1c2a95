// The parts of one agent, as the functions of sessions/ take them.
import type { SessionParts } from '../../sessions/session-parts.ts'
import type { App } from '../app.ts'

/** What the functions of sessions/ work with, for one agent. */
export function partsOf(app: App, { agentId }: { agentId: string }): SessionParts {
  const { clock, events } = app
  return {
    sessions: app.storage.sessions(agentId),
    transcripts: app.storage.transcripts(agentId),
    clock,
    events,
    isBusy: async (key) => (app.gateway ? (await app.conversations()).converse.queue.isBusy(key) : false),
  }
}
