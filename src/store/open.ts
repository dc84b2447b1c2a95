// Opens the storage that the configuration names: PostgreSQL, or the SQLite databases and files of this machine. This choice
// is made here and nowhere else.
import { existsSync } from 'node:fs'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Events } from '../domain/events.ts'
import { LazyParts, lazily } from '../domain/lazy-parts.ts'
import type { Log } from '../domain/log.ts'
import type { Environment } from './config-file.ts'
import { FileSessions } from './files/sessions-in-file.ts'
import { localMediaPath } from './media/media-names.ts'
import { checkAgentId, sessionsJsonPath, statePaths, type StatePaths } from './paths.ts'
import type { SessionStore, TranscriptStore } from './session-store.ts'
import { ApprovalStore } from './sqlite/approval-store.ts'
import { CodingStore } from './sqlite/coding-store.ts'
import { decisionsIn } from './sqlite/decisions.ts'
import { SqlitePeople } from './sqlite/people.ts'
import { SqliteSessions } from './sqlite/sessions.ts'
import { ScheduleStore } from './sqlite/schedule-store.ts'
import { SpendStore } from './sqlite/spend-store.ts'
import { sqliteSql } from './sqlite/sql.ts'
import { openStateDatabase } from './sqlite/state-database.ts'
import { purgeWork, sqliteWork } from './sqlite/work.ts'
import { UsageStore } from './sqlite/usage-store.ts'
import type { Storage, StorageParts } from './storage.ts'
import { answersIn } from './tables/answers.ts'
import { MailStore } from './tables/mail.ts'
import { replyMapIn } from './tables/reply-map.ts'
import { FileTranscripts } from './transcripts/transcript-file.ts'

/** Connects to nothing and creates nothing before the first use of a part. */
export async function openStorage(parts: StorageParts): Promise<Storage> {
  if (parts.config.store !== 'postgres') return openLocalStorage(parts)
  const { openSharedStorage } = await import('./postgres/open.ts')
  return openSharedStorage(parts)
}

/** The paths of the state directory. With PostgreSQL the tables of this machine are a copy of the shared ones. */
export function pathsOf({ stateDir }: Pick<Environment, 'stateDir'>, { store }: Config): StatePaths {
  const paths = statePaths(stateDir)
  return store === 'postgres' ? { ...paths, database: paths.sharedCopy } : paths
}

function openLocalStorage(parts: StorageParts): Storage {
  const { paths, clock, environment } = parts
  const lazy = new LazyParts()
  const database = lazy.open(() => openStateDatabase(paths.database))
  const sessionParts = { ...parts, sessionCacheTtlMs: environment.sessionCacheTtlMs }
  const coding = lazy.once(() => new CodingStore(database()))
  return lazily<Storage>({
    sessions: () => lazy.openEach((agentId) => openSessionStore(checkAgentId(agentId), sessionParts)),
    transcripts: () => lazy.openEach((agentId) => openTranscriptStore(checkAgentId(agentId), parts)),
    work: () => sqliteWork(database(), clock),
    people: () => new SqlitePeople(database(), clock),
    coding,
    existingCoding: () => () => (existsSync(paths.database) ? coding() : undefined),
    approvals: () => new ApprovalStore(database()),
    spend: () => new SpendStore(database()),
    usage: () => new UsageStore(database()),
    schedules: () => new ScheduleStore(database()),
    mail: () => new MailStore(sqliteSql(database())),
    decisions: () => decisionsIn(database()),
    answers: () => answersIn(sqliteSql(database()), clock),
    replyMap: () => replyMapIn(sqliteSql(database())),
    notes: () => ({ sync: nothing, give: nothing, refresh: nothing }),
    media: () => ({
      give: nothing,
      bring: async (path) => localMediaPath(paths.media, path),
      remove: nothing,
      forget: nothing,
    }),
    purge: () => (session) => purgeWork(database(), session),
    cluster: () => undefined,
    close: () => () => lazy.close(),
  })
}

async function nothing(): Promise<void> {
  // The files of this machine are the only copy.
}

interface SessionStoreParts {
  config: Pick<Config, 'store' | 'session'>
  paths: StatePaths
  clock: Clock
  log: Log
  /** How long file mode may reuse what it has read (`OPENCLAW_SESSION_CACHE_TTL_MS`). */
  sessionCacheTtlMs?: number
}

/** The sessions of one agent on this machine. Nothing is opened or created before the first call on the store. */
export function openSessionStore(agentId: string, parts: SessionStoreParts): SessionStore {
  const { config, paths, clock, sessionCacheTtlMs } = parts
  const log = parts.log.child({ agentId })
  if (config.store === 'files') {
    const path = sessionsJsonPath(agentId, paths, config.session.store)
    return new FileSessions({ agentId, path, clock, log, cacheTtlMs: sessionCacheTtlMs })
  }
  const database = paths.sessionDatabase(agentId)
  return new SqliteSessions({ agentId, database, mirror: paths.sessionsJson(agentId), clock, log })
}

export function openTranscriptStore(
  agentId: string,
  parts: { paths: StatePaths; clock: Clock; config: Pick<Config, 'durability'>; events: Events },
): TranscriptStore {
  const { paths, clock, events, config } = parts
  const dir = paths.sessions(agentId)
  return new FileTranscripts({ agentId, dir, clock, events, durability: config.durability })
}
