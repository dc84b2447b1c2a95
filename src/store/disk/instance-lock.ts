// Ensures that one gateway runs for each state directory, with SQLite's lock on an empty database: the kernel releases it
// however the process ends, so there are no stale locks. Not in gateway-file.ts, which commands load and which must not load SQLite.
import { chmodSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { RockpoolError } from '../../domain/errors.ts'
import { findRunningGateway } from '../gateway-file.ts'

export function lockInstance(stateDir: string): { release(): void } {
  mkdirSync(stateDir, { recursive: true, mode: 0o700 })
  const path = join(stateDir, 'gateway.lock')
  const database = new DatabaseSync(path)
  chmodSync(path, 0o600)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw alreadyRunning(stateDir, error)
  }
  return { release: () => database.close() }
}

function alreadyRunning(stateDir: string, cause: unknown): RockpoolError {
  const other = findRunningGateway(stateDir)
  const where = other ? ` at ${other.url} (process ${other.process.pid})` : ''
  return new RockpoolError('locked', `A gateway already runs on ${stateDir}${where}.`, {
    hint: 'Use that one (`rockpool dashboard` opens it), stop it, or give this one another ROCKPOOL_STATE_DIR.',
    cause,
  })
}
