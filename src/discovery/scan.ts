// Reads transcripts in chunks into one buffer that is used again and again. Memory stays bounded whatever a file or a
// line is: a line longer than the limit is counted, its kind is noted, and the rest of it runs past.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { Absorber } from './apply-record.ts'
import { costOfFile } from './cost.ts'
import { RecordWalker } from './record-walker.ts'
import type { TranscriptFacts } from './transcript-facts.ts'
import { newFacts } from './transcript-facts.ts'
import { UsageTable } from './usage-table.ts'
import { openForeign } from '../store/disk/foreign-file.ts'

const newline = 10
const chunkBytes = 1 << 18
const longestLineBytes = 1 << 24
const markBytes = 64

export interface ScannedTranscript {
  facts: TranscriptFacts
  usage: UsageTable
  /** The file ends in the middle of a line. It is read again when more has come. */
  tornTail: boolean
  size: number
  mtimeMs: number
  inode: number
  /** Recognises the last bytes that were read. */
  mark: string
}

/** The state of an earlier scan, to continue from. */
export interface ScannedBefore {
  facts: TranscriptFacts
  usage: UsageTable
  mark: string
}

export class TranscriptScanner {
  #buffer = Buffer.allocUnsafeSlow(chunkBytes)
  readonly #walker = new RecordWalker()

  scan(path: string, before?: ScannedBefore): ScannedTranscript {
    // A pipe or a device under this name must neither be waited for nor read; nor may a link lead elsewhere.
    const fd = openForeign(path, { noLink: true })
    try {
      const stat = fstatSync(fd)
      const goesOn = before !== undefined && before.mark === markOf(fd, before.facts.offset)
      const facts = goesOn ? before.facts : newFacts()
      const usage = goesOn ? before.usage : new UsageTable()
      const tornTail = this.#readLines(fd, new Absorber(facts, usage, this.#walker, path))
      const mark = markOf(fd, facts.offset)
      Object.assign(facts, costOfFile(usage, facts.models))
      return { facts, usage, tornTail, size: stat.size, mtimeMs: stat.mtimeMs, inode: stat.ino, mark }
    } finally {
      closeSync(fd)
    }
  }

  #readLines(fd: number, absorber: Absorber): boolean {
    const { facts } = absorber
    let filled = 0
    let searched = 0
    for (;;) {
      const buffer = this.#buffer
      const read = readSync(fd, buffer, filled, buffer.length - filled, facts.offset + filled)
      if (read === 0) return filled > 0 && this.#lastLine(absorber, filled)
      const end = filled + read
      const rest = this.#wholeLines(absorber, searched, end)
      filled = end - rest
      searched = filled
      if (filled < buffer.length) {
        if (rest > 0) buffer.copyWithin(0, rest, end)
      } else if (buffer.length < longestLineBytes) this.#grow(end)
      else {
        absorber.overlong(buffer, 0, end)
        facts.offset = passLine(fd, buffer, facts.offset + end)
        filled = searched = 0
      }
    }
  }

  /** Takes in the lines that end before `end`; returns where the first unfinished one begins. */
  #wholeLines(absorber: Absorber, searched: number, end: number): number {
    const data = this.#buffer.subarray(0, end)
    const { facts } = absorber
    let start = 0
    if (facts.offset === 0 && data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf) start = 3
    for (let from = searched; ; from = start) {
      const stop = data.indexOf(newline, from)
      if (stop < 0) break
      if (stop > start + 1 || (stop > start && data[start]! > 32)) absorber.line(data, start, stop)
      start = stop + 1
    }
    absorber.settle(data)
    facts.offset += start
    return start
  }

  /** A last line without an end: whole if it is JSON, torn if not. */
  #lastLine(absorber: Absorber, filled: number): boolean {
    const data = this.#buffer.subarray(0, filled)
    this.#walker.walk(data, 0, filled, true)
    if (!this.#walker.sound) return data.some((byte) => byte > 32)
    this.#walker.forgetUsage()
    absorber.line(data, 0, filled)
    absorber.settle(data)
    absorber.facts.offset += filled
    return false
  }

  #grow(keep: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.min(this.#buffer.length * 4, longestLineBytes))
    this.#buffer.copy(larger, 0, 0, keep)
    this.#buffer = larger
  }
}

/** Reads on until a line ends; returns where the next one begins, or the end of the file. */
function passLine(fd: number, buffer: Buffer, at: number): number {
  for (;;) {
    const read = readSync(fd, buffer, 0, buffer.length, at)
    if (read === 0) return at
    const stop = buffer.subarray(0, read).indexOf(newline)
    if (stop >= 0) return at + stop + 1
    at += read
  }
}

/** The last bytes before `offset`, as text: if they differ, the file was rewritten. */
function markOf(fd: number, offset: number): string {
  const bytes = Buffer.alloc(Math.min(markBytes, offset))
  const read = readSync(fd, bytes, 0, bytes.length, offset - bytes.length)
  return bytes.toString('base64', 0, read)
}
