// Which store the configuration asks for.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { StatePaths } from './paths.ts'
import type { SessionStore, TranscriptStore } from './session-store.ts'
import { SqliteSessions } from './sqlite-sessions.ts'
import { FileTranscripts } from './transcript-file.ts'

export interface StoreParts {
  config: Pick<Config, 'store' | 'durability' | 'session'>
  paths: StatePaths
  clock: Clock
  log: Log
}

/** The store of one agent's sessions. Nothing is opened or made before the first call on it. */
export function openSessionStore(agentId: string, { paths, clock, log }: StoreParts): SessionStore {
  return new SqliteSessions({
    agentId,
    database: paths.sessionDatabase(agentId),
    mirror: paths.sessionsJson(agentId),
    clock,
    log: log.child({ agentId }),
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
