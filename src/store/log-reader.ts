// Reads the end of our own log, and what came since.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { errorCode } from './disk/atomic-file.ts'

export interface LogPage {
  lines: string[]
  /** Where to continue reading: file and offset. */
  cursor: string
}

const maxBytes = 512 * 1024

/** The last lines, or those after a cursor. A log that was rotated since then is read from its beginning. */
export function readLog(path: string, limit: number, cursor?: string): LogPage {
  let file: number
  try {
    file = openSync(path, 'r')
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return { lines: [], cursor: '0:0' }
    throw error
  }
  try {
    const { ino, size } = fstatSync(file)
    const start = startOf(cursor, ino, size)
    const bytes = Buffer.alloc(Math.min(maxBytes, size - start))
    readSync(file, bytes, 0, bytes.length, size - bytes.length)
    const text = bytes.toString('utf8')
    const complete = text.slice(0, text.lastIndexOf('\n') + 1)
    const lines = complete.split('\n').slice(0, -1)
    const end = size - (bytes.length - Buffer.byteLength(complete))
    return { lines: lines.slice(-limit), cursor: `${ino}:${end}` }
  } finally {
    closeSync(file)
  }
}

function startOf(cursor: string | undefined, ino: number, size: number): number {
  const [sameIno, offset] = (cursor ?? '').split(':').map(Number)
  if (cursor === undefined) return Math.max(0, size - maxBytes)
  return sameIno === ino && offset !== undefined && offset <= size ? offset : 0
}
