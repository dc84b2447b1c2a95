// Resets, archives and deletes sessions. The transcript is always kept: a reset and a deletion archive it under a name
// with time and reason. sessions/archives.ts restores it.
import { randomUUID } from 'node:crypto'
import { RockpoolError } from '../domain/errors.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { readArchiveNote, writeArchiveNote } from './archives.ts'
import { changeEntry, emitChange, refuseBusy, requireSession, type SessionParts } from './session-parts.ts'

type ResetReason = 'new' | 'reset' | 'daily' | 'idle'

interface ResetResult {
  session: Session
  previous: SessionEntry
  /** The archive with the old transcript; absent if the session had none. */
  archived?: string
}

/** Starts a new conversation under the same key. The old one is archived, and every link to Claude's old one removed. */
export async function resetSession(
  parts: SessionParts,
  key: string,
  { reason = 'reset' }: { reason?: ResetReason } = {},
): Promise<ResetResult> {
  await refuseBusy(parts, key, 'reset')
  const old = await requireSession(parts, key)
  const hasTranscript = await noteUnlessForeign(parts, old, false)
  const entry = await changeEntry(parts, old, (current) => resetEntry(current, parts.clock.now(), reason))
  // After a crash here the old file is not archived; cleanup finds it as an orphan.
  const archived = hasTranscript ? await parts.transcripts.archive(transcriptOf(old), 'reset') : undefined
  emitChange(parts, key, `reset:${reason}`)
  return { session: { ...old, entry }, previous: old.entry, archived }
}

/** Removes a session from the lists. Nothing is lost, and a message to it brings it back. */
export async function archiveSession(parts: SessionParts, key: string): Promise<Session> {
  refuseMain(key, 'archived')
  await refuseBusy(parts, key, 'archived')
  const session = await requireSession(parts, key)
  const entry = await changeEntry(parts, session, ({ pinnedAt: _pin, ...current }) => ({
    ...current,
    archivedAt: parts.clock.now(),
  }))
  emitChange(parts, key, 'archived')
  return { ...session, entry }
}

interface DeleteResult {
  key: string
  /** The archive that can be restored. */
  archived?: string
  /** The ids that the search index has for it. */
  sessionIds: string[]
}

/** The transcript is archived before the row is deleted. `purge` also removes all archives. */
export async function deleteSession(
  parts: SessionParts,
  key: string,
  { purge = false }: { purge?: boolean } = {},
): Promise<DeleteResult> {
  refuseMain(key, 'deleted')
  await refuseBusy(parts, key, 'deleted')
  const session = await requireSession(parts, key)
  const { sessionId } = session.entry
  const hasTranscript = await noteUnlessForeign(parts, session, true)
  const ref = transcriptOf(session)
  const archived = hasTranscript ? await parts.transcripts.archive(ref, 'deleted') : undefined
  await (purge ? parts.sessions.purge(key) : parts.sessions.delete(key))
  parts.events.emit({ type: 'session-deleted', agentId: parts.sessions.agentId, key })
  const purged = purge ? await purgeArchives(parts, key, sessionId) : []
  return { key, sessionIds: [...new Set([sessionId, ...purged])], archived: purge ? undefined : archived }
}

/** Removes all archives of a key for good: of its present session and of every conversation before a reset. */
async function purgeArchives({ transcripts }: SessionParts, key: string, sessionId: string) {
  const purged: string[] = []
  for (const archive of await transcripts.archives()) {
    const isOurs =
      archive.sessionId === sessionId || (await readArchiveNote(transcripts, archive.name))?.key === key
    if (!isOurs) continue
    await transcripts.discard(archive.name)
    purged.push(archive.sessionId)
  }
  return purged
}

/** False if the row names a file that is not ours: the session changes, and the file is left alone. */
async function noteUnlessForeign(parts: SessionParts, session: Session, always: boolean): Promise<boolean> {
  try {
    await writeArchiveNote(parts.transcripts, session, always)
    return true
  } catch (error) {
    if (error instanceof RockpoolError && (error.code === 'refused' || error.code === 'input-invalid'))
      return false
    throw error
  }
}

function refuseMain(key: string, action: string): void {
  if (classifySessionKey(key).kind !== 'main') return
  throw new RockpoolError('refused', `The main session cannot be ${action}.`, { hint: 'Reset it instead.' })
}

/** Fields of the old conversation. A reset removes them; settings stay. Unknown fields stay, too: other programs wrote
 *  them, and most are settings. */
const conversationFields = new Set([
  // Links to a conversation of Claude's or of another program's.
  'sdkSessionId',
  'cliSessionIds',
  'claudeCliSessionId',
  'cliSessionBindings',
  'acp',
  'forkOfSdkSessionId',
  'sessionFile',
  'abortedLastRun',
  'abortCutoffMessageSid',
  'abortCutoffTimestamp',
  'inputTokens',
  'outputTokens',
  'cacheRead',
  'cacheWrite',
  'estimatedCostUsd',
  'authProfileOverrideCompactionCount',
  'memoryFlushAt',
  // Must be absent, not 0: a 0 that equals compactionCount would block the first flush for ever.
  'memoryFlushCompactionCount',
  'memoryFlushContextHash',
  'memoryFlushFailureCount',
  'memoryFlushLastFailedAt',
  'memoryFlushLastError',
  'fallbackNoticeSelectedModel',
  'fallbackNoticeActiveModel',
  'fallbackNoticeReason',
  'compactionCheckpoints',
  'contextBudgetStatus',
  'systemPromptReport',
  'skillsSnapshot',
  'forkedFromParent',
  'status',
  'startedAt',
  'endedAt',
  'runtimeMs',
  'restartRecoveryRuns',
  'pendingFinalDelivery',
  'liveModelSwitchPending',
  'quotaSuspension',
  'archivedAt',
])

function resetEntry(old: SessionEntry, now: number, reason: ResetReason): SessionEntry {
  return {
    ...Object.fromEntries(Object.entries(old).filter(([field]) => !conversationFields.has(field))),
    sessionId: randomUUID(),
    updatedAt: Math.max(old.updatedAt, now),
    sessionStartedAt: now,
    lastInteractionAt: now,
    systemSent: false,
    compactionCount: 0,
    totalTokens: 0,
    totalTokensFresh: true,
    previousSessionId: old.sessionId,
    resetReason: reason,
  }
}
