// Scans one transcript: reads it in chunks into one buffer, which is reused. Memory stays bounded for any file and any line: of a
// line longer than the limit only the beginning is read.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { openForeign } from '../store/disk/foreign-file.ts'
import type { ScannedBefore } from './agents/contract.ts'
import { EditScan } from './edit-scan.ts'
import { EditTable } from './edit-table.ts'
import { FactsBuilder } from './facts-builder.ts'
import { costOfFile } from './price-table.ts'
import { RecordWalker } from './record-walker.ts'
import { newFacts, type TranscriptFacts } from './transcript-facts.ts'
import { UsageTable } from './usage-table.ts'

const newline = 10
const chunkBytes = 1 << 18
const longestLineBytes = 1 << 24
const markBytes = 64

export interface ScannedTranscript {
  facts: TranscriptFacts
  usage: UsageTable
  edits: EditTable
  /** The file ends in the middle of a line, which is read again when the file has grown. */
  tornTail: boolean
  size: number
  mtimeMs: number
  inode: number
  /** The last bytes that were read, to notice when the file was rewritten. */
  mark: string
}

export class TranscriptScanner {
  readonly #walker = new RecordWalker()
  readonly #edits = new EditScan(this.#walker)
  readonly #buffer = this.#walker.code.buffer

  scan(path: string, before?: ScannedBefore & { edits: EditTable }): ScannedTranscript {
    // A pipe or a device must not block the scan, and links are not followed.
    const fd = openForeign(path, { noLink: true })
    try {
      const stat = fstatSync(fd)
      const continues = before !== undefined && before.mark === markOf(fd, before.facts.offset)
      const facts = continues ? before.facts : newFacts()
      const usage = continues ? before.usage : new UsageTable()
      const edits = continues ? before.edits : new EditTable()
      this.#edits.begin(path, edits)
      const builder = new FactsBuilder(facts, usage, this.#edits, this.#walker, path)
      const tornTail = this.#readLines(fd, builder)
      const mark = markOf(fd, facts.offset)
      Object.assign(facts, costOfFile(usage, facts.models))
      const { size, mtimeMs, ino: inode } = stat
      return { facts, usage, edits, tornTail, size, mtimeMs, inode, mark }
    } finally {
      closeSync(fd)
    }
  }

  #readLines(fd: number, builder: FactsBuilder): boolean {
    const { facts } = builder
    const buffer = this.#buffer
    let filled = 0
    for (;;) {
      const read = readSync(
        fd,
        buffer,
        filled,
        Math.min(chunkBytes, longestLineBytes - filled),
        facts.offset + filled,
      )
      if (read === 0) return filled > 0 && this.#lastLine(builder, filled)
      const end = filled + read
      const rest = this.#wholeLines(builder, filled, end)
      filled = end - rest
      if (rest > 0) buffer.copyWithin(0, rest, end)
      if (filled < longestLineBytes) continue
      builder.overlong(buffer, 0, end)
      facts.offset = skipLine(fd, buffer, facts.offset + end)
      filled = 0
    }
  }

  /** Processes the lines that end before `end`; returns where the first unfinished line begins. */
  #wholeLines(builder: FactsBuilder, searched: number, end: number): number {
    const data = this.#buffer
    const { run } = this.#walker.code
    const { facts } = builder
    let start = 0
    if (facts.offset === 0 && data[0] === 0xef && data[1] === 0xbb && data[2] === 0xbf) start = 3
    for (let from = searched; ; from = start) {
      const stop = run.find(newline, from, end)
      if (stop >= end) break
      if (stop > start + 1 || (stop > start && data[start]! > 32)) builder.line(data, start, stop)
      start = stop + 1
    }
    builder.finishChunk(data)
    facts.offset += start
    return start
  }

  /** A last line without a line break is complete if it is JSON. Returns true if it is torn. */
  #lastLine(builder: FactsBuilder, filled: number): boolean {
    const data = this.#buffer.subarray(0, filled)
    this.#walker.walk(0, filled, true)
    if (!this.#walker.isSound) return data.some((byte) => byte > 32)
    builder.line(data, 0, filled)
    builder.finishChunk(data)
    builder.facts.offset += filled
    return false
  }
}

/** Skips the rest of a line; returns where the next one begins, or the end of the file. */
function skipLine(fd: number, buffer: Buffer, at: number): number {
  for (;;) {
    const read = readSync(fd, buffer, 0, buffer.length, at)
    if (read === 0) return at
    const stop = buffer.subarray(0, read).indexOf(newline)
    if (stop >= 0) return at + stop + 1
    at += read
  }
}

/** The last bytes before `offset`. */
function markOf(fd: number, offset: number): string {
  const bytes = Buffer.alloc(Math.min(markBytes, offset))
  const read = readSync(fd, bytes, 0, bytes.length, offset - bytes.length)
  return bytes.toString('base64', 0, read)
}
