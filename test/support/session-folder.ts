// One agent's sessions and transcripts in a folder that is gone after the test: real SQLite, real files.
import { onTestFinished } from 'vitest'
import type { Clock } from '../../src/domain/clock.ts'
import { makeEvents } from '../../src/domain/events.ts'
import type { RockpoolEvent } from '../../src/domain/events.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { Session, SessionEntry } from '../../src/domain/session.ts'
import { emitChange, newEntry } from '../../src/sessions/session-parts.ts'
import type { SessionParts } from '../../src/sessions/session-parts.ts'
import { statePaths } from '../../src/store/paths.ts'
import { SqliteSessions } from '../../src/store/sqlite/sessions.ts'
import { FileTranscripts } from '../../src/store/transcripts/transcript-file.ts'
import { transcriptFolder } from './transcript-folder.ts'

/** A clock that a test sets; it never moves by itself. */
export function handClock(start: number): Clock & { set(now: number): void } {
  let now = start
  return { now: () => now, monotonic: () => now, after: () => () => {}, set: (next) => (now = next) }
}

export function sessionFolder(start = Date.UTC(2026, 2, 1, 12)) {
  const { root, dir } = transcriptFolder()
  const clock = handClock(start)
  const events = makeEvents((error) => {
    throw error
  })
  const heard: RockpoolEvent[] = []
  events.on((event) => heard.push(event))
  const paths = statePaths(root)
  const sessions = new SqliteSessions({
    agentId: 'main',
    database: paths.sessionDatabase('main'),
    mirror: paths.sessionsJson('main'),
    clock,
    log: silentLog,
  })
  onTestFinished(() => sessions.close())
  const transcripts = new FileTranscripts({ agentId: 'main', dir, clock, events })
  const busy = new Set<string>()
  const parts: SessionParts = { sessions, transcripts, clock, events, isBusy: (key) => busy.has(key) }
  return { root, dir, paths, clock, sessions, transcripts, parts, busy, heard }
}

/** The session with this key; a new one if there is none. */
export async function openSession(
  parts: SessionParts,
  key: string,
  fields: Partial<SessionEntry> = {},
): Promise<Session & { isNew: boolean }> {
  let isNew = false
  const entry = await parts.sessions.update(key, (existing) => {
    isNew = existing === undefined
    return existing ? undefined : newEntry(parts.clock.now(), fields)
  })
  if (isNew) emitChange(parts, key, 'created')
  return { key, agentId: parts.sessions.agentId, entry: entry!, isNew }
}
