// What SQLite says, in our words and with what to do.
import { RockpoolError } from '../../domain/errors.ts'

export function newerSchema(path: string, found: number, known: number): RockpoolError {
  return new RockpoolError(
    'schema-newer',
    `${path} was written by a newer Rockpool (schema ${found}; this one knows ${known}).`,
    { hint: 'Update Rockpool, or point ROCKPOOL_STATE_DIR at another directory.' },
  )
}

export function isBusy(error: unknown): boolean {
  return error instanceof Error && /SQLITE_BUSY|database is locked/.test(`${codeOf(error)} ${error.message}`)
}

function codeOf(error: Error): string {
  return 'errstr' in error ? String(error.errstr) : ''
}

/** SQLite's errors in our words; the file is left as it is. */
export function asDatabaseError(error: unknown, path: string): unknown {
  if (!(error instanceof Error) || error instanceof RockpoolError) return error
  if (isBusy(error)) {
    return new RockpoolError('locked', `${path} is in use by another process.`, {
      hint: 'Try again in a moment.',
      cause: error,
    })
  }
  if (/malformed|not a database|corrupt/.test(error.message)) {
    return new RockpoolError('damaged', `${path} cannot be read: ${error.message}.`, {
      hint: 'Run `rockpool doctor`. Nothing was changed.',
      cause: error,
    })
  }
  if (/disk is full|disk I\/O|readonly|unable to open|^E[A-Z]+:/.test(error.message)) {
    return new RockpoolError('disk-failed', `${path}: ${error.message}.`, {
      hint: 'Check free space and permissions.',
      cause: error,
    })
  }
  return error
}
