// Reads the complete lines of a file from an offset on, with bounded memory for lines of any length.
import { fstatSync, readSync } from 'node:fs'

interface FileLine {
  offset: number
  /** 1 for the first line that is read; skipped over-long lines are counted. */
  number: number
  /** The bytes without the newline; valid until the next line is read. */
  bytes: Buffer
}

export interface ReadProgress {
  /** The end of the last complete line: the offset for the next read. */
  end: number
  lines: number
  skipped: number
}

const chunkBytes = 1 << 20

/** An incomplete last line is left for the next read. Lines over `maxLineBytes` are skipped and never held in memory. */
export function* linesOfFile(
  fd: number,
  from: number,
  maxLineBytes = 8 << 20,
): Generator<FileLine, ReadProgress> {
  // One byte more than is left, so that the end of a small file is seen without a larger buffer.
  let buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(1, fstatSync(fd).size - from + 1)))
  let held = 0 // bytes of an unfinished line at the beginning of the buffer
  let lineStart = from // its offset in the file
  let position = from // where to read next
  let overlong = false
  const soFar: ReadProgress = { end: from, lines: 0, skipped: 0 }
  for (;;) {
    if (held === buffer.length) {
      if (buffer.length >= maxLineBytes) [held, overlong] = [0, true]
      else buffer = Buffer.concat([buffer], Math.min(buffer.length * 2, maxLineBytes))
    }
    const got = readSync(fd, buffer, held, buffer.length - held, position)
    if (got === 0) return soFar
    position += got
    const filled = held + got
    let start = 0
    for (
      let newline = buffer.indexOf(10, held);
      newline !== -1 && newline < filled;
      newline = buffer.indexOf(10, start)
    ) {
      if (overlong) soFar.skipped++
      else yield { offset: lineStart, number: soFar.lines + 1, bytes: buffer.subarray(start, newline) }
      overlong = false
      start = newline + 1
      lineStart = position - (filled - start)
      soFar.end = lineStart
      soFar.lines++
    }
    held = overlong ? 0 : filled - start
    if (held > 0 && start > 0) buffer.copyWithin(0, start, filled)
  }
}
