// Which store the configuration asks for.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import { FileSessions } from './file-sessions.ts'
import { sessionsJsonPath } from './paths.ts'
import type { StatePaths } from './paths.ts'
import type { SessionStore, TranscriptStore } from './session-store.ts'
import { SqliteSessions } from './sqlite-sessions.ts'
import { FileTranscripts } from './transcript-file.ts'

export interface StoreParts {
  config: Pick<Config, 'store' | 'session'>
  paths: StatePaths
  clock: Clock
  log: Log
  /** How long file mode may use again what it has read (`OPENCLAW_SESSION_CACHE_TTL_MS`). */
  sessionCacheTtlMs?: number
}

/** The store of one agent's sessions. Nothing is opened or made before the first call on it. */
export function openSessionStore(agentId: string, parts: StoreParts): SessionStore {
  const { config, paths, clock, sessionCacheTtlMs } = parts
  const log = parts.log.child({ agentId })
  const database = paths.sessionDatabase(agentId)
  if (config.store === 'sqlite')
    return new SqliteSessions({ agentId, database, mirror: paths.sessionsJson(agentId), clock, log })
  if (config.store === 'files') {
    const path = sessionsJsonPath(agentId, paths, config.session.store)
    return new FileSessions({ agentId, path, clock, log, cacheTtlMs: sessionCacheTtlMs })
  }
  throw new RockpoolError('unavailable', 'Sessions in PostgreSQL are not part of this build.', {
    hint: 'Set `store` to `sqlite` or `files`.',
  })
}

/** The transcripts of one agent, beside its sessions. */
export function openTranscriptStore(
  agentId: string,
  parts: Pick<StoreParts, 'paths' | 'clock'> & { config: Pick<Config, 'durability'>; events: Events },
): TranscriptStore {
  const { paths, clock, events, config } = parts
  return new FileTranscripts({
    agentId,
    dir: paths.sessions(agentId),
    clock,
    events,
    durability: config.durability,
  })
}
