// Reads the JSON lines of an agent that only appends to its files: for the scan from where the last one ended, and for reading as
// a whole. Lines that cannot be read are counted, and a torn last line is read again when the file has grown.
import { closeSync, fstatSync, readSync } from 'node:fs'
import { RockpoolError } from '../../domain/errors.ts'
import { parseRecord } from '../../domain/json.ts'
import { linesOfFile } from '../../store/disk/file-lines.ts'
import { openForeign, readForeign } from '../../store/disk/foreign-file.ts'
import { EditTable } from '../edit-table.ts'
import { newFacts } from '../transcript-facts.ts'
import { UsageTable } from '../usage-table.ts'
import type { AgentConversation, AgentRecord } from '../../domain/agent-records.ts'
import type { ScannedBefore, ScannedSource } from './contract.ts'
import { RecordFacts } from './record-facts.ts'

/** Turns the lines of one file into records. */
export interface LineTranslator {
  /** Plain data, from which a later scan continues. */
  readonly state: unknown
  translate(line: Record<string, unknown>): AgentRecord[]
  /** For the scan: a line that the facts do not need, with its time; most bytes of a file are such lines. */
  skim?(bytes: Buffer): Skimmed | undefined
}

/** The time of a line that need not be parsed, and what it counts as. */
export interface Skimmed {
  at: string
  records?: AgentRecord[]
}

const longestLineBytes = 32 << 20
const longestPackedBytes = 64 << 20
const longestUnpackedBytes = 512 << 20
const markBytes = 64

/** `makeTranslator` continues from the state of an earlier scan, or begins. */
export function scanLines(
  path: string,
  makeTranslator: (state: unknown) => LineTranslator,
  before?: ScannedBefore,
): ScannedSource {
  if (path.endsWith('.zst')) return scanPacked(path, makeTranslator(undefined))
  const fd = openForeign(path, { noLink: true })
  try {
    const continues = before !== undefined && before.mark === markOf(fd, before.facts.offset)
    const facts = continues ? before.facts : newFacts()
    const usage = continues ? before.usage : new UsageTable()
    const edits = continues ? before.edits : new EditTable()
    const translator = makeTranslator(facts.reader)
    const scan = new LineScan({ facts, usage, edits }, translator)
    const lines = linesOfFile(fd, facts.offset, longestLineBytes)
    let step = lines.next()
    for (; !step.done; step = lines.next()) scan.line(step.value.bytes, step.value.offset)
    const { end, skipped } = step.value
    facts.overlongLines += skipped
    facts.lineCount += skipped
    facts.offset = end
    const rest = restOf(fd, end)
    const tornTail = rest === undefined || (rest.length > 0 && !scan.lastLine(rest))
    facts.reader = translator.state
    return { facts, usage, edits, tornTail, mark: markOf(fd, facts.offset) }
  } finally {
    closeSync(fd)
  }
}

/** All records of a file. */
export function readLines(path: string, translator: LineTranslator): AgentConversation {
  const conversation: AgentConversation = { records: [], damaged: 0 }
  const take = (bytes: Buffer): void => {
    const line = parseRecord(bytes.toString('utf8'))
    if (line) conversation.records.push(...translator.translate(line))
    else if (!isBlank(bytes)) conversation.damaged++
  }
  if (path.endsWith('.zst')) {
    for (const bytes of unpackedLines(path)) take(bytes)
    return conversation
  }
  const fd = openForeign(path, { noLink: true })
  try {
    const lines = linesOfFile(fd, 0, longestLineBytes)
    let step = lines.next()
    for (; !step.done; step = lines.next()) take(step.value.bytes)
    conversation.damaged += step.value.skipped
    const rest = restOf(fd, step.value.end)
    if (rest) take(rest)
    else conversation.damaged++
    return conversation
  } finally {
    closeSync(fd)
  }
}

class LineScan {
  readonly #facts: ScannedSource['facts']
  readonly #translator: LineTranslator
  readonly #counts: RecordFacts

  constructor(scanned: Pick<ScannedSource, 'facts' | 'usage' | 'edits'>, translator: LineTranslator) {
    this.#facts = scanned.facts
    this.#translator = translator
    this.#counts = new RecordFacts(scanned)
  }

  /** `offset`: where the line begins in its file. */
  line(bytes: Buffer, offset = 0): void {
    if (isBlank(bytes)) return
    this.#facts.lineCount++
    const skimmed = this.#translator.skim?.(bytes)
    if (skimmed) {
      this.#counts.seen(skimmed.at)
      for (const record of skimmed.records ?? []) this.#counts.take(record)
      return
    }
    const line = parseRecord(bytes.toString('utf8'))
    if (line) this.#take(line, offset)
    else this.#facts.damagedLines++
  }

  /** A last line without a line break is complete if it is JSON. */
  lastLine(bytes: Buffer): boolean {
    const line = parseRecord(bytes.toString('utf8'))
    if (!line) return isBlank(bytes)
    this.#facts.lineCount++
    this.#take(line, this.#facts.offset)
    this.#facts.offset += bytes.length
    return true
  }

  #take(line: Record<string, unknown>, offset: number): void {
    for (const record of this.#translator.translate(line)) this.#counts.take(record, offset)
  }
}

/** Compressed files are old and do not grow: they are read as a whole. */
function scanPacked(path: string, translator: LineTranslator): ScannedSource {
  const scanned = { facts: newFacts(), usage: new UsageTable(), edits: new EditTable() }
  const scan = new LineScan(scanned, translator)
  for (const bytes of unpackedLines(path)) scan.line(bytes)
  return { ...scanned, tornTail: false, mark: '' }
}

function* unpackedLines(path: string): Generator<Buffer> {
  // Few sessions are compressed, and loading this part of Node would delay every list.
  const { zstdDecompressSync } = process.getBuiltinModule('node:zlib')
  if (!zstdDecompressSync)
    throw new RockpoolError('unavailable', `This Node cannot read ${path}: Node 22.15 and later can.`)
  const packed = readForeign(path, longestPackedBytes)
  const bytes = zstdDecompressSync(packed, { maxOutputLength: longestUnpackedBytes })
  for (let start = 0; start < bytes.length;) {
    const stop = bytes.indexOf(10, start)
    const end = stop < 0 ? bytes.length : stop
    yield bytes.subarray(start, end)
    start = end + 1
  }
}

/** Zeros are not blank: a crash leaves them where lines were. */
function isBlank(bytes: Buffer): boolean {
  return bytes.every((byte) => byte === 32 || byte === 13 || byte === 9)
}

/** The bytes after the last line break; undefined if they are longer than any line. */
function restOf(fd: number, from: number): Buffer | undefined {
  const length = Math.max(0, fstatSync(fd).size - from)
  if (length > longestLineBytes) return undefined
  const bytes = Buffer.alloc(length)
  return bytes.subarray(0, readSync(fd, bytes, 0, length, from))
}

/** The last bytes that were read, to notice when the agent rewrote the file. */
function markOf(fd: number, offset: number): string {
  const bytes = Buffer.alloc(Math.min(markBytes, offset))
  return bytes.toString('base64', 0, readSync(fd, bytes, 0, bytes.length, offset - bytes.length))
}
