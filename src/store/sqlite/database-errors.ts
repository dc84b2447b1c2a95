// Errors of SQLite as ours, with what to do about them.
import { RockpoolError } from '../../domain/errors.ts'
import { damagedHint } from '../../domain/json.ts'

/** Content that cannot be right although SQLite read it. */
export class DamagedContent extends Error {}

/** No Rockpool has more migrations than this: a higher version is a damaged byte. */
const highestSchema = 10_000

export function newerSchema(path: string, found: number, known: number): Error {
  if (found > highestSchema) return new DamagedContent(`its schema version is ${found}`)
  return new RockpoolError(
    'schema-newer',
    `${path} was written by a newer Rockpool (schema ${found}; this one knows ${known}).`,
    { hint: 'Update Rockpool, or point ROCKPOOL_STATE_DIR at another directory.' },
  )
}

export function isBusy(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  const code = 'errstr' in error ? String(error.errstr) : ''
  return /SQLITE_BUSY|database is locked/.test(`${code} ${error.message}`)
}

export function asDatabaseError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof RockpoolError) return error
  if (isBusy(error)) {
    return new RockpoolError('locked', `${path} is in use by another process.`, {
      hint: 'Try again in a moment.',
      cause: error,
    })
  }
  if (isDamage(error)) {
    return new RockpoolError('damaged', `${path} is damaged and cannot be read.`, {
      hint: damagedHint,
      cause: error,
    })
  }
  if (error.message.startsWith('ELOOP:')) {
    return new RockpoolError(
      'disk-failed',
      `${path} is a link, and links in the state directory are not followed.`,
      {
        hint: 'Put the file itself there. If it is an index, remove the link: the index is built again.',
        cause: error,
      },
    )
  }
  if (/disk is full|disk I\/O|readonly|unable to open|^E[A-Z]+:/.test(error.message)) {
    return new RockpoolError('disk-failed', `${path}: ${error.message}.`, {
      hint: 'Check free space and permissions.',
      cause: error,
    })
  }
  return error
}

/** Our statements fit our tables, so a missing or duplicate table or column means that the stored schema is damaged. */
function isDamage(error: Error): boolean {
  if (error instanceof DamagedContent) return true
  const isFromSqlite = 'code' in error && error.code === 'ERR_SQLITE_ERROR'
  return (
    /malformed|not a database|corrupt|too large to be represented/.test(error.message) ||
    (isFromSqlite && /no such (table|column|index)|has no column|already exists/.test(error.message))
  )
}
