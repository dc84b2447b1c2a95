// Rockpool's own sessions as rows for discovery, by Claude's id: chats that Claude answers, and coding sessions. Cached until one
// of them changes, because every list of sessions reads them.
import type { CodingLifecycle, CodingSession } from '../domain/coding-session.ts'
import { sessionState } from '../domain/coding-state.ts'
import type { Clock } from '../domain/clock.ts'
import type { SessionStatus } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Session } from '../domain/session.ts'
import { ownerCheck } from './machines/owner.ts'
import { isContinuation } from '../discovery/transcript-facts.ts'
import { claudeIdOf, type RegistryRow, type RegistrySource } from '../discovery/registries.ts'
import type { Storage } from '../store/storage.ts'

interface OwnRowsParts {
  agentIds: () => string[]
  storage: Pick<Storage, 'sessions' | 'existingCoding'>
  clock: Clock
  events: Events
}

/** Other processes write too and send no event, so the cache expires. */
const cacheMs = 2_000

export function ownRows(parts: OwnRowsParts): RegistrySource {
  return cached(parts.events, parts.clock, async () => [...codingRows(parts), ...(await chatRows(parts))])
}

function cached(events: Events, clock: Clock, read: () => Promise<RegistryRow[]>): RegistrySource {
  let cache: { rows: RegistryRow[]; until: number } | undefined
  events.on(({ type }) => {
    if (type === 'session-changed' || type === 'session-deleted' || type === 'coding-changed')
      cache = undefined
  })
  return async () => {
    if (!cache || clock.monotonic() > cache.until) {
      const rows = await read()
      cache = { rows, until: clock.monotonic() + cacheMs }
    }
    return cache.rows
  }
}

async function chatRows(parts: OwnRowsParts): Promise<RegistryRow[]> {
  const pages = await Promise.all(
    parts.agentIds().map(async (agentId) => (await parts.storage.sessions(agentId).list()).sessions),
  )
  return pages.flat().flatMap(chatRow)
}

function chatRow({ agentId, entry }: Session): RegistryRow[] {
  const sessionId = claudeIdOf(entry)
  if (sessionId === undefined) return []
  const { label, estimatedCostUsd, sessionStartedAt } = entry
  return [
    {
      sessionId,
      source: 'rockpool',
      agentId,
      chat: entry.sessionId,
      label,
      totalCostUsd: estimatedCostUsd,
      createdAt: sessionStartedAt,
    },
  ]
}

function codingRows(parts: OwnRowsParts): RegistryRow[] {
  const store = parts.storage.existingCoding()
  if (!store) return []
  const ownerLives = ownerCheck(store, parts.clock)
  const runs = Map.groupBy(store.list(), ({ sdkSessionId }) => sdkSessionId)
  return [...runs].flatMap(([sdkSessionId, ofOne]) =>
    sdkSessionId === undefined ? [] : codingRow(sdkSessionId, ofOne, ownerLives),
  )
}

/** One row for all runs of a conversation, the latest run first: each resume is a run of its own. */
function codingRow(
  sessionId: string,
  runs: CodingSession[],
  ownerLives: (session: CodingSession) => boolean,
): RegistryRow {
  const latest = runs[0]!
  const live = runs.find(ownerLives)
  const { request } = latest
  const tasks = runs.map((run) => run.request.prompt)
  return {
    sessionId,
    source: 'rockpool',
    agentId: request.agentId,
    repoPath: request.workdir,
    label: runs.find((run) => run.request.label !== undefined)?.request.label,
    totalCostUsd: runs.reduce((sum, run) => sum + run.costUsd, 0),
    totalTurns: runs.reduce((sum, run) => sum + run.turns, 0),
    lastTask: tasks.find((task) => !isContinuation(task)) ?? request.prompt,
    budgetUsd: latest.budgetUsd,
    createdAt: runs.at(-1)!.createdAt,
    status: live && statusOf(live.lifecycle),
    // Until it is recovered, the row of a session whose owner died still says that it works.
    state: sessionState(
      live ?? { ...latest, lifecycle: latest.lifecycle === 'ended' ? 'ended' : 'suspended' },
    ),
    waitingFor: live?.waiting?.for,
  }
}

function statusOf(lifecycle: CodingLifecycle): SessionStatus {
  if (lifecycle === 'starting' || lifecycle === 'active') return 'busy'
  if (lifecycle === 'queued' || lifecycle === 'suspended' || lifecycle === 'ended') return 'stopped'
  return lifecycle === 'awaiting-input' ? 'idle' : 'waiting'
}
