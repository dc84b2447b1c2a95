// Small files that only the owner may read: tokens, and where the gateway listens. Made complete and with their
// mode in one step, whatever the umask.
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { randomBytes } from 'node:crypto'
import { dirname } from 'node:path'

/** Writes or replaces the file; a reader sees the old or the new text, never a part. */
export function writePrivateFile(path: string, text: string | Uint8Array): void {
  const temporary = writeTemporary(path, text)
  renameSync(temporary, path)
  syncFolder(path)
}

/** Makes the file unless it is there; the text that is there now comes back. Two processes agree on one text. */
export function makePrivateFile(path: string, text: string): string {
  const found = readPrivateFile(path)
  if (found !== undefined) return found
  const temporary = writeTemporary(path, text)
  try {
    linkSync(temporary, path)
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'EEXIST')) throw error
  } finally {
    rmSync(temporary, { force: true })
  }
  syncFolder(path)
  return readPrivateFile(path) ?? text
}

/** The text, or undefined when there is no such file. A mode that lets others read is put right. */
export function readPrivateFile(path: string): string | undefined {
  try {
    const text = readFileSync(path, 'utf8')
    chmodSync(path, 0o600)
    return text
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined
    throw error
  }
}

function writeTemporary(path: string, text: string | Uint8Array): string {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const temporary = `${path}.${randomBytes(8).toString('hex')}.tmp`
  const file = openSync(temporary, 'wx', 0o600)
  try {
    writeFileSync(file, text)
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  return temporary
}

function syncFolder(path: string): void {
  const folder = openSync(dirname(path), 'r')
  try {
    fsyncSync(folder)
  } finally {
    closeSync(folder)
  }
}
