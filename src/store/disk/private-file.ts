// Small files that only the owner may read: tokens, and where the gateway listens. Made complete and with their
// mode in one step, whatever the umask.
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
import { errorCode, temporaryName } from './atomic-file.ts'

/** Writes or replaces the file; a reader sees the old or the new text, never a part. */
export function writePrivateFile(path: string, text: string | Uint8Array): void {
  const temporary = writeTemporary(path, text)
  renameSync(temporary, path)
  syncDirectoryNow(dirname(path))
}

/** Makes the file unless it is there; the text that is there now comes back. Two processes agree on one text. */
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

/** The text, or undefined when there is no such file. A mode that lets others read is put right. */
export function readPrivateFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    chmodSync(path, 0o600)
    return text
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
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

/** For the few writers that may not let anything else run in between. */
export function syncDirectoryNow(path: string): void {
  const directory = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY)
  try {
    fsyncSync(directory)
  } finally {
    closeSync(directory)
  }
}
