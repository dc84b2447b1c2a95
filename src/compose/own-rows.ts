// Our own rows for discovery: chats that Claude answers and coding sessions, by Claude's id. Read again only when one of
// them changed, because every list of sessions asks for them.
import type { CodingLifecycle, CodingSession } from '../domain/coding-session.ts'
import type { Clock } from '../domain/clock.ts'
import type { SessionStatus } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Session } from '../domain/session.ts'
import { ownership } from '../coding/session/run-state.ts'
import { claudeIdOf } from '../discovery/registry.ts'
import type { RegistryRow, RegistrySource } from '../discovery/registry.ts'
import type { App } from '../operations/app.ts'
import { codingStoreOf } from '../operations/cc/unstarted-sessions.ts'

export type OwnRowsParts = Pick<App, 'agentIds' | 'sessions' | 'database' | 'paths' | 'clock' | 'events'>

/** Another process may write too, and tells us nothing; so nothing is kept longer than this. */
const keptMs = 2_000

export function ownRows(parts: OwnRowsParts): RegistrySource {
  return remembered(parts.events, parts.clock, async () => [...codingRows(parts), ...(await chatRows(parts))])
}

function remembered(events: Events, clock: Clock, read: () => Promise<RegistryRow[]>): RegistrySource {
  let kept: { rows: RegistryRow[]; until: number } | undefined
  events.on(({ type }) => {
    if (type === 'session-changed' || type === 'session-deleted' || type === 'coding-changed')
      kept = undefined
  })
  return async () => {
    if (!kept || clock.monotonic() > kept.until) {
      const rows = await read()
      kept = { rows, until: clock.monotonic() + keptMs }
    }
    return kept.rows
  }
}

async function chatRows(parts: OwnRowsParts): Promise<RegistryRow[]> {
  const pages = await Promise.all(
    parts.agentIds().map(async (agentId) => (await parts.sessions(agentId).list()).sessions),
  )
  return pages.flat().flatMap(chatRow)
}

function chatRow({ agentId, entry }: Session): RegistryRow[] {
  const sessionId = claudeIdOf(entry)
  if (sessionId === undefined) return []
  const { label, estimatedCostUsd, updatedAt, sessionStartedAt } = entry
  return [
    {
      sessionId,
      source: 'rockpool',
      agentId,
      chat: entry.sessionId,
      label,
      totalCostUsd: estimatedCostUsd,
      createdAt: sessionStartedAt,
      lastUsedAt: updatedAt,
    },
  ]
}

function codingRows(parts: OwnRowsParts): RegistryRow[] {
  const store = codingStoreOf(parts)
  if (!store) return []
  const ownerLives = ownership(store, parts.clock)
  return store.list().flatMap((session) => codingRow(session, ownerLives(session)))
}

function codingRow(session: CodingSession, isAlive: boolean): RegistryRow[] {
  const { sdkSessionId, request } = session
  if (sdkSessionId === undefined) return []
  return [
    {
      sessionId: sdkSessionId,
      source: 'rockpool',
      agentId: request.agentId,
      repoPath: request.workdir,
      label: request.label,
      totalCostUsd: session.costUsd,
      totalTurns: session.turns,
      lastTask: request.prompt,
      budgetUsd: session.budgetUsd,
      createdAt: session.createdAt,
      lastUsedAt: session.lastActivityAt,
      status: isAlive ? statusOf(session.lifecycle) : undefined,
      waitingFor: session.waiting?.for,
    },
  ]
}

function statusOf(lifecycle: CodingLifecycle): SessionStatus {
  if (lifecycle === 'starting' || lifecycle === 'active') return 'busy'
  if (lifecycle === 'queued' || lifecycle === 'suspended' || lifecycle === 'ended') return 'stopped'
  return lifecycle === 'awaiting-input' ? 'idle' : 'waiting'
}
