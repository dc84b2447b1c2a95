// Keeps the store small. `planCleanup` lists what would be removed and why; `applyCleanup` does it. A busy, pinned or
// main session is never in a plan, and every session is archived before it is deleted.
import type { SessionConfig } from '../domain/config/session-settings.ts'
import { errorText } from '../domain/errors.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import type { Session } from '../domain/session.ts'
import type { TranscriptArchive, TranscriptRef } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { deleteSession } from './lifecycle.ts'
import type { SessionParts } from './session-parts.ts'

interface CleanupPlan {
  /** Sessions to delete; their transcripts become archives. */
  sessions: Array<{ key: string; sessionId: string; updatedAt: number; why: 'age' | 'count' | 'disk' }>
  /** Transcripts without a session; they become archives. */
  orphans: Array<TranscriptRef & { bytes: number }>
  /** Archives to remove for good. */
  archives: Array<TranscriptArchive & { why: 'age' | 'disk' }>
  /** Sessions that stay although they are over a limit, and why. */
  spared: Array<{ key: string; why: 'busy' | 'pinned' | 'main' }>
  bytes: number
  bytesAfter: number
}

type CleanupLimits = SessionConfig['maintenance']

const dayMs = 86_400_000
/** A transcript without a row is an orphan only after this time: a transcript is written before its row. */
const youngMs = 3_600_000
/** Over `maxDiskBytes`, cleanup frees space down to this share of it. */
const diskTarget = 0.8

export async function planCleanup(parts: SessionParts, limits: CleanupLimits): Promise<CleanupPlan> {
  const now = parts.clock.now()
  const sessions: Session[] = []
  for await (const session of parts.sessions.entries()) sessions.push(session)
  sessions.sort((a, b) => a.entry.updatedAt - b.entry.updatedAt)
  const transcripts = await parts.transcripts.list()
  const archives = await parts.transcripts.archives()
  const plan: CleanupPlan = {
    sessions: [],
    orphans: orphansAmong(transcripts, sessions, now),
    archives: archives.filter(({ at }) => at < now - limits.pruneAfterDays * dayMs).map(because('age')),
    spared: [],
    bytes: sum(transcripts) + sum(archives),
    bytesAfter: 0,
  }
  await planSessions(parts, plan, sessions, limits, now)
  plan.bytesAfter = plan.bytes - sum(plan.archives)
  if (limits.maxDiskBytes !== undefined && plan.bytes > limits.maxDiskBytes) {
    await planDisk(parts, plan, { sessions, transcripts, archives, target: limits.maxDiskBytes * diskTarget })
  }
  return plan
}

/** Deletes what the plan names. Resolves to one text for each failure. */
export async function applyCleanup(parts: SessionParts, plan: CleanupPlan): Promise<string[]> {
  const failed: string[] = []
  const attempt = async (what: string, fn: () => Promise<unknown>): Promise<void> => {
    await fn().catch((error: unknown) => {
      failed.push(`${what}: ${errorText(error)}`)
    })
  }
  for (const { key, sessionId, updatedAt } of plan.sessions) {
    await attempt(key, async () => {
      const entry = await parts.sessions.get(key)
      // A session that was used since the plan was made is not old any more.
      if (entry?.sessionId === sessionId && entry.updatedAt === updatedAt) await deleteSession(parts, key)
    })
  }
  for (const ref of plan.orphans)
    await attempt(ref.sessionId, () => parts.transcripts.archive(ref, 'deleted'))
  for (const { name } of plan.archives) await attempt(name, () => parts.transcripts.discard(name))
  return failed
}

async function planSessions(
  parts: SessionParts,
  plan: CleanupPlan,
  oldestFirst: Session[],
  limits: CleanupLimits,
  now: number,
): Promise<void> {
  let count = oldestFirst.length
  for (const { key, entry } of oldestFirst) {
    const isOld = entry.updatedAt < now - limits.pruneAfterDays * dayMs
    if (!isOld && count <= limits.maxEntries) return
    const spared = await reasonToSpare(parts, { key, entry })
    if (spared) plan.spared.push({ key, why: spared })
    else {
      count--
      const { sessionId, updatedAt } = entry
      plan.sessions.push({ key, sessionId, updatedAt, why: isOld ? 'age' : 'count' })
    }
  }
}

async function planDisk(
  parts: SessionParts,
  plan: CleanupPlan,
  all: {
    sessions: Session[]
    transcripts: Array<TranscriptRef & { bytes: number }>
    archives: TranscriptArchive[]
    target: number
  },
): Promise<void> {
  const gone = new Set(plan.archives.map(({ name }) => name))
  for (const archive of all.archives.filter(({ name }) => !gone.has(name)).reverse()) {
    if (plan.bytesAfter <= all.target) return
    plan.archives.push({ ...archive, why: 'disk' })
    plan.bytesAfter -= archive.bytes
  }
  const bytesOf = Map.groupBy(all.transcripts, ({ sessionId }) => sessionId)
  // These become archives now; the next cleanup removes them if the disk is still full then.
  const planned = new Set(plan.sessions.map(({ key }) => key))
  for (const session of all.sessions) {
    if (plan.bytesAfter <= all.target) return
    const { key, entry } = session
    if (planned.has(key) || (await reasonToSpare(parts, session))) continue
    plan.sessions.push({ key, sessionId: entry.sessionId, updatedAt: entry.updatedAt, why: 'disk' })
    plan.bytesAfter -= sum(bytesOf.get(entry.sessionId) ?? [])
  }
}

async function reasonToSpare(
  parts: SessionParts,
  { key, entry }: Pick<Session, 'key' | 'entry'>,
): Promise<'busy' | 'pinned' | 'main' | undefined> {
  const { kind } = classifySessionKey(key)
  if (kind === 'main' || kind === 'global') return 'main'
  if (entry.pinnedAt !== undefined) return 'pinned'
  if (entry.status === 'running' || (await parts.isBusy?.(key))) return 'busy'
  return undefined
}

/** Orphaned only if no session references it by id or by file name. */
export function orphansAmong<File extends TranscriptRef & { changedAt: number }>(
  files: File[],
  sessions: Session[],
  now: number,
): File[] {
  const ids = new Set(sessions.map(({ entry }) => entry.sessionId))
  const names = new Set(sessions.map((session) => baseName(transcriptOf(session).file ?? '')))
  return files.filter(
    ({ sessionId, file = '', changedAt }) =>
      changedAt < now - youngMs && !ids.has(sessionId) && !names.has(baseName(file)),
  )
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf('/') + 1)
}

function because<Why extends string>(why: Why): <T>(thing: T) => T & { why: Why } {
  return (thing) => ({ ...thing, why })
}

function sum(files: Array<{ bytes: number }>): number {
  return files.reduce((total, { bytes }) => total + bytes, 0)
}
