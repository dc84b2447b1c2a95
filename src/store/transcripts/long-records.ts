// Reads every record of one of Claude's transcripts with bounded memory, and writes records again. In a line of more than a few
// megabytes, long strings stay in the file: the record has a mark in place of each, and writing the record copies the bytes.
import { randomUUID } from 'node:crypto'
import { readSync } from 'node:fs'
import { StringDecoder } from 'node:string_decoder'
import { TimeSlice } from '../../domain/async.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import { linesOfFile } from '../disk/file-lines.ts'

export type JsonRecord = Record<string, unknown>

/** Longer lines are read with marks. */
const longLineBytes = 4 << 20
/** In such a line, a longer string becomes a mark. */
const longStringBytes = 64 << 10
/** The most that such a line may have beside its long strings. */
const mostLineBytes = 32 << 20
const chunkBytes = 1 << 20
const pauseAfterMs = 10
const [quote, backslash, newline] = [0x22, 0x5c, 0x0a]

/** The records of one open file. No text of a transcript can imitate a mark, because marks contain a random id. */
export class LongRecords {
  readonly #fd: number
  readonly #id = randomUUID()
  readonly #marks = new RegExp(`"${this.#id}:(\\d+):(\\d+)"`)

  constructor(fd: number) {
    this.#fd = fd
  }

  /** In file order. Lines that are no JSON object are left out; `cc info` reports them. */
  async *read(): AsyncGenerator<JsonRecord> {
    const share = new TimeSlice(pauseAfterMs)
    const lines = linesOfFile(this.#fd, 0, longLineBytes)
    let end = 0
    for (;;) {
      const next = lines.next()
      const offset = next.done ? next.value.end : next.value.offset
      // `linesOfFile` skipped the long lines in between.
      if (offset > end) yield* this.#longLines(end, offset)
      if (next.done) return
      end = offset + next.value.bytes.length + 1
      const record = parseRecord(next.value.bytes.toString('utf8'))
      if (record) yield record
      if (share.isUsedUp) await share.yield()
    }
  }

  /** The line of a record, in pieces. */
  *line(record: JsonRecord): Generator<string | Buffer> {
    const pieces = JSON.stringify(record).split(this.#marks)
    for (let i = 0; i < pieces.length; i += 3) {
      yield pieces[i]!
      if (i + 2 < pieces.length) yield* this.#bytes(Number(pieces[i + 1]), Number(pieces[i + 2]))
    }
    yield '\n'
  }

  /** Characters of a value as JSON; for a long string its bytes. */
  lengthOf(value: unknown): number {
    const pieces = (JSON.stringify(value) ?? '').split(this.#marks)
    let sum = 0
    for (let i = 0; i < pieces.length; i += 3)
      sum += pieces[i]!.length + Number(pieces[i + 2] ?? 0) - Number(pieces[i + 1] ?? 0)
    return sum
  }

  /** A string in pieces: itself, or the long string that a mark stands for. */
  *textOf(value: string): Generator<string> {
    const mark = this.#marks.exec(`"${value}"`)
    if (mark) yield* unescaped(this.#bytes(Number(mark[1]) + 1, Number(mark[2]) - 1))
    else yield value
  }

  async *#longLines(from: number, to: number): AsyncGenerator<JsonRecord> {
    const share = new TimeSlice(pauseAfterMs)
    const lines = new MarkedLines(this.#id, from)
    for (const chunk of this.#bytes(from, to)) {
      for (const text of lines.add(chunk)) {
        const record = parseRecord(text)
        if (record) yield record
      }
      if (share.isUsedUp) await share.yield()
    }
  }

  *#bytes(from: number, to: number): Generator<Buffer> {
    for (let at = from; at < to;) {
      const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, to - at))
      const got = readSync(this.#fd, buffer, 0, buffer.length, at)
      if (got === 0) throw new RockpoolError('conflict', 'The transcript became shorter while it was read.')
      at += got
      yield buffer.subarray(0, got)
    }
  }
}

/** Lines with marks in place of their long strings, from chunks of the file. */
class MarkedLines {
  readonly #id: string
  /** The offset of the chunk in the file. */
  #at: number
  #line: Buffer[] = []
  #lineBytes = 0
  #string: { from: number; bytes: number; held: Buffer[] } | undefined
  #isEscaped = false

  constructor(id: string, from: number) {
    this.#id = id
    this.#at = from
  }

  /** The lines that end in this chunk. */
  *add(chunk: Buffer): Generator<string> {
    for (let from = 0; from < chunk.length;) {
      const end = this.#string ? this.#endOfString(chunk, from) : endOfText(chunk, from)
      this.#keep(chunk.subarray(from, end))
      from = end + 1
      // JSON escapes newlines in strings, so a newline ends the line even if a damaged string is open.
      if (chunk[end] === newline) yield this.#whole()
      else if (chunk[end] === quote) this.#turn(this.#at + end)
    }
    this.#at += chunk.length
  }

  #endOfString(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const byte = chunk[i]
      if (this.#isEscaped) this.#isEscaped = false
      else if (byte === backslash) this.#isEscaped = true
      else if (byte === quote || byte === newline) return i
    }
    return chunk.length
  }

  /** A quotation mark begins a string, or ends it. */
  #turn(at: number): void {
    const string = this.#string
    this.#string = string ? undefined : { from: at, bytes: 0, held: [] }
    if (!string) return
    const isLong = string.bytes > longStringBytes
    const inner = isLong ? [Buffer.from(`${this.#id}:${string.from}:${at + 1}`)] : string.held
    for (const bytes of [Buffer.from('"'), ...inner, Buffer.from('"')]) this.#keep(bytes)
  }

  #keep(bytes: Buffer): void {
    const string = this.#string
    if (string) {
      string.bytes += bytes.length
      if (string.bytes > longStringBytes) string.held = []
      else string.held.push(Buffer.from(bytes))
      return
    }
    this.#lineBytes += bytes.length
    if (this.#lineBytes > mostLineBytes)
      throw new RockpoolError('refused', 'The transcript has a line that is too long to be read.', {
        hint: `A line may have ${mostLineBytes >> 20} MB beside its long texts.`,
      })
    this.#line.push(Buffer.from(bytes))
  }

  #whole(): string {
    const text = Buffer.concat(this.#line).toString('utf8')
    this.#line = []
    this.#lineBytes = 0
    this.#string = undefined
    this.#isEscaped = false
    return text
  }
}

function endOfText(chunk: Buffer, from: number): number {
  for (let i = from; i < chunk.length; i++) if (chunk[i] === quote || chunk[i] === newline) return i
  return chunk.length
}

/** The text of a JSON string, from the bytes between its quotation marks. */
function* unescaped(chunks: Iterable<Buffer>): Generator<string> {
  const decoder = new StringDecoder('utf8')
  let open = ''
  for (const chunk of chunks) {
    const text = open + decoder.write(chunk)
    const end = endOfEscapes(text)
    open = text.slice(end)
    yield JSON.parse(`"${text.slice(0, end)}"`) as string
  }
}

/** The end of the text without an incomplete escape sequence. */
function endOfEscapes(text: string): number {
  const last = text.lastIndexOf('\\')
  // The longest escape is `\u` with four digits.
  if (last < 0 || last + 6 <= text.length) return text.length
  let first = last
  while (text[first - 1] === '\\') first--
  const isEscape = (last - first) % 2 === 0
  if (!isEscape) return text.length
  const needed = text[last + 1] === 'u' ? 6 : 2
  return last + needed <= text.length ? text.length : last
}
