// Small files that only their owner may read, such as tokens. Created with content and mode in one step, independent of the
// umask.
import {
  chmodSync,
  closeSync,
  constants,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { dirname } from 'node:path'
import { RockpoolError } from '../../domain/errors.ts'
import { asFileError, errorCode, ifThere, temporaryName } from './atomic-file.ts'
import { closeAtEnd } from './foreign-file.ts'

/** Writes or replaces the file; a reader sees the old or the new text, never a part. */
export function writePrivateFile(path: string, text: string | Uint8Array): void {
  const temporary = writeTemporary(path, text)
  renameSync(temporary, path)
  syncDirectoryNow(dirname(path))
}

/** Creates the file unless it exists, and returns its text. Two processes that do this at once get the same text. */
export function makePrivateFile(path: string, text: string): string {
  const found = readPrivateFile(path)
  if (found !== undefined) return found
  const temporary = writeTemporary(path, text)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  syncDirectoryNow(dirname(path))
  return readPrivateFile(path) ?? text
}

/** The text; undefined if there is no such file. Corrects a mode that lets others read the file. */
export function readPrivateFile(path: string): string | undefined {
  try {
    return ifThere(() => {
      const text = readFileSync(path, 'utf8')
      chmodSync(path, 0o600)
      return text
    })
  } catch (error) {
    if (errorCode(error) !== 'EISDIR') throw asFileError(error, path)
    const hint = 'Move the folder away.'
    throw new RockpoolError('damaged', `${path} is a folder and must be a file.`, { hint, cause: error })
  }
}

function writeTemporary(path: string, text: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = temporaryName(path)
  const file = openSync(temporary, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } catch (error) {
    rmSync(temporary, { force: true })
    throw error
  } finally {
    closeSync(file)
  }
  return temporary
}

/** Synchronous, for writers that must not be interrupted by other work of this process. */
export function syncDirectoryNow(path: string): void {
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  using _ = closeAtEnd(directory)
  fsyncSync(directory)
}
