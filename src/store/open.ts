// Which store the configuration asks for.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import { FileSessions } from './files/sessions-in-file.ts'
import { sessionsJsonPath } from './paths.ts'
import type { Postgres } from './postgres/connection.ts'
import { PostgresSessions } from './postgres/sessions.ts'
import { PostgresTranscripts } from './postgres/transcript-store.ts'
import type { StatePaths } from './paths.ts'
import type { SessionStore, TranscriptStore } from './session-store.ts'
import { SqliteSessions } from './sqlite/sessions.ts'
import { FileTranscripts } from './transcripts/transcript-file.ts'

export interface StoreParts {
  /** With `store: "postgres"`. */
  postgres?: Postgres
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
  return new PostgresSessions(agentId, connected(parts))
}

function connected({ postgres }: Pick<StoreParts, 'postgres'>): Postgres {
  if (postgres) return postgres
  throw new RockpoolError('unavailable', 'Sessions are in PostgreSQL, and this command does not use it.', {
    hint: 'Use the commands of `rockpool`, or set `store` to `sqlite` or `files`.',
  })
}

/** The transcripts of one agent, beside its sessions. */
export function openTranscriptStore(
  agentId: string,
  parts: Pick<StoreParts, 'paths' | 'clock' | 'postgres'> & {
    config: Pick<Config, 'durability' | 'store'>
    events: Events
  },
): TranscriptStore {
  const { paths, clock, events, config } = parts
  if (config.store === 'postgres')
    return new PostgresTranscripts(connected(parts), { agentId, dir: paths.sessions(agentId), clock, events })
  return new FileTranscripts({
    agentId,
    dir: paths.sessions(agentId),
    clock,
    events,
    durability: config.durability,
  })
}
