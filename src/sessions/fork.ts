// Forks: a session that starts with the conversation of another one. Threads fork their chat; people fork any session.
import { randomUUID } from 'node:crypto'
import { RockpoolError } from '../domain/errors.ts'
import { parentOfThreadKey } from '../domain/session-key-forms.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { TranscriptRef } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { changeEntry, refuseBusy, requireSession, emitChange, newEntry } from './session-parts.ts'
import type { SessionParts } from './session-parts.ts'

/**
 * At the first message of a thread its session gets the chat's conversation. Does nothing if that was done before, or if
 * the chat has no conversation or one of more than `parentForkMaxTokens` (0 means no limit).
 */
export async function forkThread(
  parts: SessionParts,
  thread: Session,
  options: { parentForkMaxTokens: number; parentKey?: string },
): Promise<Session> {
  const parentKey = options.parentKey ?? thread.entry.parentSessionKey ?? parentOfThreadKey(thread.key)
  if (thread.entry.forkedFromParent || parentKey === undefined || parentKey === thread.key) return thread
  const parent = await parts.sessions.get(parentKey)
  if (!parent || isTooLong(parent, options.parentForkMaxTokens)) return thread
  if (await parts.transcripts.exists(transcriptOf(thread))) return thread
  const forked = await forkTranscript(parts, { key: parentKey, entry: parent }, thread.entry.sessionId)
  if (!forked) return thread
  const entry = await changeEntry(parts, thread, (current) => ({
    ...current,
    ...childFields(parentKey, parent, forked),
  }))
  emitChange(parts, thread.key, 'forked')
  return { ...thread, entry }
}

/** A person's fork, under a new key, from any point of the conversation. */
export async function forkSession(
  parts: SessionParts,
  key: string,
  options: { leafId?: string; label?: string; parentForkMaxTokens: number; force?: boolean },
): Promise<Session> {
  await refuseBusy(parts, key, 'forked')
  const parent = await requireSession(parts, key)
  const { force, parentForkMaxTokens: most } = options
  if (!force && isTooLong(parent.entry, most))
    throw new RockpoolError(
      'refused',
      `Session ${key} has ${parent.entry.totalTokens} tokens; a fork copies at most ${most}.`,
      { hint: 'Compact it first, fork from an earlier entry, or use --force.' },
    )
  const sessionId = randomUUID()
  const forked = await forkTranscript(parts, parent, sessionId, options.leafId)
  if (!forked) throw new RockpoolError('not-found', `Session ${key} has no transcript to fork.`)
  const fork: Session = {
    key: `agent:${parts.sessions.agentId}:dashboard:${sessionId}`,
    agentId: parts.sessions.agentId,
    entry: newEntry(parts.clock.now(), {
      ...Object.fromEntries(inherited.map((field) => [field, parent.entry[field]])),
      ...childFields(key, parent.entry, forked),
      sessionId,
      label: options.label,
      // Claude cannot be forked at an earlier point of our transcript; the new session is seeded from our transcript.
      ...(options.leafId === undefined ? {} : { forkOfSdkSessionId: undefined }),
    }),
  }
  await parts.sessions.update(fork.key, () => fork.entry)
  emitChange(parts, fork.key, 'created')
  return fork
}

async function forkTranscript(
  parts: SessionParts,
  parent: { key: string; entry: SessionEntry },
  sessionId: string,
  leafId?: string,
): Promise<TranscriptRef | undefined> {
  const ref = transcriptOf(parent)
  if (!(await parts.transcripts.exists(ref))) return undefined
  return parts.transcripts.fork(ref, { sessionId, leafId })
}

/** With `forkOfSdkSessionId` the first turn forks Claude's conversation, too. */
function childFields(parentKey: string, parent: SessionEntry, forked: TranscriptRef): Partial<SessionEntry> {
  return {
    sessionFile: forked.file,
    parentSessionKey: parentKey,
    forkedFromParent: true,
    forkOfSdkSessionId: parent.sdkSessionId,
  }
}

const inherited = ['thinkingLevel', 'verboseLevel', 'reasoningLevel', 'modelOverride', 'providerOverride']

function isTooLong({ totalTokens = 0 }: SessionEntry, max: number): boolean {
  return max > 0 && totalTokens > max
}
