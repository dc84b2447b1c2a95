// Which store the configuration asks for.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Log } from '../domain/log.ts'
import type { StatePaths } from './paths.ts'
import type { SessionStore } from './session-store.ts'
import { SqliteSessions } from './sqlite-sessions.ts'

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
