// Ensures that one gateway runs for each state directory, with SQLite's lock on an empty database: the kernel releases it
// however the process ends, so there are no stale locks. Not in gateway-file.ts, which commands load and which must not load SQLite.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { errorText, RockpoolError } from '../../domain/errors.ts'
import { findRunningGateway } from '../gateway-file.ts'

/** The directory exists: `secureStateDirectory` has made and checked it. */
export function lockInstance(stateDir: string): { release(): void } {
  const database = openLock(stateDir)
  try {
    database.exec('PRAGMA locking_mode = EXCLUSIVE; BEGIN EXCLUSIVE')
  } catch (error) {
    database.close()
    throw alreadyRunning(stateDir, error)
  }
  return { release: () => database.close() }
}

function openLock(stateDir: string): DatabaseSync {
  const path = join(stateDir, 'gateway.lock')
  let database: DatabaseSync | undefined
  try {
    database = new DatabaseSync(path)
    chmodSync(path, 0o600)
    return database
  } catch (error) {
    database?.close()
    throw new RockpoolError('disk-failed', `${path} cannot be opened: ${errorText(error)}.`, {
      hint: `Give yourself ${stateDir} and what is in it (\`ls -la\` shows whose it is), or point ROCKPOOL_STATE_DIR at another directory.`,
      cause: error,
    })
  }
}

function alreadyRunning(stateDir: string, cause: unknown): RockpoolError {
  const other = findRunningGateway(stateDir)
  const where = other ? ` at ${other.url} (process ${other.process.pid})` : ''
  return new RockpoolError('locked', `A gateway already runs on ${stateDir}${where}.`, {
    hint: 'Use that one (`rockpool dashboard` opens it), stop it, or give this one another ROCKPOOL_STATE_DIR.',
    cause,
  })
}
