// The complete lines of a file from an offset on, with bounded memory whatever the length of a line.
import { readSync } from 'node:fs'

export interface FileLine {
  /** Where the line begins in the file. */
  offset: number
  /** 1 for the first line of this reading; over-long ones that were passed over are counted. */
  number: number
  /** Its bytes without the newline; valid until the next line is asked for. */
  bytes: Buffer
}

export interface ReadSoFar {
  /** Just after the last complete line: where the next reading begins. */
  end: number
  /** Lines passed, over-long ones included. */
  lines: number
  /** Lines that were too long to look at. */
  skipped: number
}

const chunkBytes = 1 << 20

/** An unfinished last line is left for the next time. Lines over `maxLineBytes` are passed over, never held. */
export function* linesOfFile(
  fd: number,
  from: number,
  maxLineBytes = 8 << 20,
): Generator<FileLine, ReadSoFar> {
  let buffer = Buffer.allocUnsafe(chunkBytes)
  let held = 0 // bytes of an unfinished line at the beginning of the buffer
  let lineStart = from // its offset in the file
  let position = from // where to read next
  let overlong = false
  const soFar: ReadSoFar = { end: from, lines: 0, skipped: 0 }
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
