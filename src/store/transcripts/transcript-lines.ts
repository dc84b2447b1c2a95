// Reads the lines of a file from either end with bounded memory: a line may be longer than the longest string. Lines come in
// batches, one for each piece of the file, so that millions of empty lines are cheap and the event loop is not blocked.
import type { FileHandle } from 'node:fs/promises'

export interface Line {
  offset: number
  bytes: number
  /** Its bytes; undefined if the line is too long. */
  content: Buffer | undefined
  /** Was there a newline after it? Only the last line of a file may have none. */
  ended: boolean
  /** Counted from 1; 0 if read from the end. */
  number: number
}

/** Longer lines are skipped and never held in memory. */
export const maxLineBytes = 8 << 20

const newline = 10
const pieceBytes = 256 << 10

/** Lines from a position on. Empty lines are counted and skipped. */
export async function* linesForward(file: FileHandle, from = 0): AsyncGenerator<Line[]> {
  const unfinished = new LinePieces()
  let number = 1
  let position = from
  for (;;) {
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(pieceBytes), 0, pieceBytes, position)
    if (bytesRead === 0) break
    const batch: Line[] = []
    let start = 0
    for (
      let end = indexOfNewline(buffer, 0, bytesRead);
      end >= 0;
      end = indexOfNewline(buffer, start, bytesRead)
    ) {
      const bytes = unfinished.bytes + end - start
      if (bytes > 0) {
        unfinished.add(buffer.subarray(start, end))
        batch.push({ offset: position + end - bytes, bytes, content: unfinished.take(), ended: true, number })
      }
      number++
      start = end + 1
    }
    unfinished.add(buffer.subarray(start, bytesRead))
    position += bytesRead
    if (batch.length > 0) yield batch
  }
  const bytes = unfinished.bytes
  if (bytes > 0) yield [{ offset: position - bytes, bytes, content: unfinished.take(), ended: false, number }]
}

/** Lines before `before`, the last one first. */
export async function* linesBackward(file: FileHandle, before: number): AsyncGenerator<Line[]> {
  const unfinished = new LinePieces()
  let ended = false
  let position = before
  for (let size = 64 << 10; position > 0; size = Math.min(size * 2, 1 << 20)) {
    const wanted = Math.min(size, position)
    const { buffer, bytesRead } = await file.read(Buffer.allocUnsafe(wanted), 0, wanted, position - wanted)
    if (bytesRead < wanted)
      throw new Error(`the file became shorter than ${position} bytes while it was read`)
    position -= wanted
    const batch: Line[] = []
    let end = wanted
    for (let at = lastNewline(buffer, end); at >= 0; at = lastNewline(buffer, at)) {
      const bytes = unfinished.bytes + end - at - 1
      if (bytes > 0) {
        unfinished.addBefore(buffer.subarray(at + 1, end))
        batch.push({ offset: position + at + 1, bytes, content: unfinished.take(), ended, number: 0 })
      }
      ended = true
      end = at
    }
    unfinished.addBefore(buffer.subarray(0, end))
    if (position === 0 && unfinished.bytes > 0) {
      batch.push({ offset: 0, bytes: unfinished.bytes, content: unfinished.take(), ended, number: 0 })
    }
    if (batch.length > 0) yield batch
  }
}

export async function lineAt(file: FileHandle, offset: number, bytes: number): Promise<Buffer> {
  const buffer = Buffer.allocUnsafe(bytes)
  let got = 0
  while (got < bytes) {
    const { bytesRead } = await file.read(buffer, got, bytes - got, offset + got)
    if (bytesRead === 0) break
    got += bytesRead
  }
  return buffer.subarray(0, got)
}

function indexOfNewline(buffer: Buffer, from: number, to: number): number {
  const at = buffer.indexOf(newline, from)
  return at < to ? at : -1
}

function lastNewline(buffer: Buffer, before: number): number {
  return before === 0 ? -1 : buffer.lastIndexOf(newline, before - 1)
}

/** A line assembled from pieces of the file; drops its content when it becomes too long. */
class LinePieces {
  bytes = 0
  #pieces: Buffer[] = []

  add(piece: Buffer): void {
    if (this.#fits(piece)) this.#pieces.push(piece)
  }

  addBefore(piece: Buffer): void {
    if (this.#fits(piece)) this.#pieces.unshift(piece)
  }

  /** The whole line, or undefined if it was too long; then starts the next line. */
  take(): Buffer | undefined {
    const pieces = this.#pieces
    const content = pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)
    const fits = this.bytes <= maxLineBytes
    this.#pieces = []
    this.bytes = 0
    return fits ? content : undefined
  }

  #fits(piece: Buffer): boolean {
    this.bytes += piece.length
    if (this.bytes > maxLineBytes) this.#pieces = []
    return piece.length > 0 && this.bytes <= maxLineBytes
  }
}
