// Coding sessions of ours that never got to Claude: queued, just starting, or failed before the first word. There is no
// transcript of them, so no scan finds them; a list of all sessions shows them all the same.
import { ownerCheck } from '../../coding/machines/owner.ts'
import { matching, sortSessions } from '../../discovery/filter.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import type { DiscoveredSession, SessionFilter, SessionList } from '../../domain/discovered-session.ts'
import type { App } from '../app.ts'

/** Every session: those that left a transcript, and ours that have none. */
export async function listEverySession(app: App, filter: SessionFilter): Promise<SessionList> {
  const own = matching(neverBegun(app), filter)
  if (own.length === 0) return app.discovery().list(filter)
  const { limit, offset = 0, ...which } = filter
  const { sessions, unreadable } = await app.discovery().list(which)
  const all = sortSessions([...own, ...sessions], filter.sort ?? 'recent')
  const page = all.slice(offset, limit === undefined ? undefined : offset + limit)
  return { total: all.length, sessions: page, unreadable }
}

function neverBegun(app: App): DiscoveredSession[] {
  return (app.storage.existingCoding()?.list({ neverBegun: true }) ?? []).map((session) =>
    withoutTranscript(app, session),
  )
}

/** What is known of a session without a transcript. */
export function withoutTranscript(
  app: Pick<App, 'storage' | 'clock'>,
  session: CodingSession,
): DiscoveredSession {
  const { id, name, request, createdAt, lastActivityAt } = session
  return {
    ...nothingCounted,
    ...stateOf(session, ownerCheck(app.storage.coding, app.clock)(session)),
    sessionId: id,
    source: 'rockpool',
    agentId: request.agentId,
    repoPath: request.workdir,
    firstMessage: request.prompt.slice(0, 200).toWellFormed(),
    lastTask: request.prompt.slice(0, 200).toWellFormed(),
    lastModified: new Date(lastActivityAt),
    createdAt: new Date(createdAt),
    label: request.label,
    title: name,
    model: request.model,
    permissionMode: request.permissionMode,
  }
}

function stateOf(
  session: CodingSession,
  isOwned: boolean,
): Pick<DiscoveredSession, 'isRunning' | 'status' | 'waitingFor'> {
  const isOpen = session.lifecycle !== 'ended' && session.lifecycle !== 'suspended' && isOwned
  if (!isOpen) return { isRunning: false, status: 'stopped' }
  if (session.lifecycle === 'queued')
    return { isRunning: true, status: 'waiting', waitingFor: 'its turn in the queue' }
  return { isRunning: true, status: session.waiting ? 'waiting' : 'busy', waitingFor: session.waiting?.for }
}

const noTokens = { inputTokens: 0, outputTokens: 0, cacheReadTokens: 0, cacheCreationTokens: 0 }

const nothingCounted = {
  branch: '',
  messageCount: 0,
  promptCount: 0,
  replyCount: 0,
  lineCount: 0,
  fileSizeBytes: 0,
  totalInputTokens: 0,
  totalOutputTokens: 0,
  cacheReadTokens: 0,
  cacheCreationTokens: 0,
  contextTokens: 0,
  contextWindow: 0,
  compactionCount: 0,
  subagentCount: 0,
  subagentTokens: noTokens,
  costUsd: 0,
  costGuessed: false,
  archived: false,
  cacheTtlMinutes: 0 as const,
  warm: false,
  cacheCreation5mTokens: 0,
  cacheCreation1hTokens: 0,
  apiErrorCount: 0,
  damagedLines: 0,
  overlongLines: 0,
  configDir: '',
  filePath: '',
}
