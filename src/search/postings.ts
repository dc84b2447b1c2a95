// Reads from the tables of FTS5 which passages have a token, without its queries: a list of 88,000 passages takes about a
// millisecond this way, and seven times as long row by row. Format: "fts5_index.c" of SQLite; FTS5 is asked for the same in the test.
import { DamagedContent } from '../store/sqlite/database-errors.ts'
import type { Queries } from '../store/sqlite/queries.ts'
import { atMost, type ListReader } from './list-readers.ts'

/** A part of the index, with all tokens of some passages. */
interface Segment {
  id: number
  firstPage: number
  lastPage: number
  /** Pages that list deleted passages. */
  deletedPages: number
}

const structureRecord = 10
/** Follows the first four bytes if passages can be deleted one by one. */
const withDeletions = Buffer.from([0xff, 0, 0, 1])
/** The number of a page is in the low bits of its row, the number of its segment above. */
const pagesOfSegment = 2 ** 37
/** The lists of deleted passages of a segment are in the rows of this segment more. */
const deletedLists = 2 ** 16
const headerBytes = 4
/** Pages that are read at once. */
const pagesAtOnce = 256
/** FTS5 has no more, so a larger number is damage. */
const mostLevels = 64
const mostSegments = 2_000

/** The words of each passage, and its substrings of three characters. */
export type PostingTable = 'words' | 'pieces'

export class Postings {
  readonly #q: Queries
  readonly #table: PostingTable

  constructor(q: Queries, table: PostingTable) {
    this.#q = q
    this.#table = table
  }

  /** Another one after each change of the index. */
  structure(): Buffer {
    const sql = `SELECT block FROM ${this.#table}_data WHERE id = ?`
    const block = Buffer.from(this.#q.get<{ block: Uint8Array }>(sql, structureRecord)?.block ?? [])
    if (block.length < 7 || hasDeletions(block) !== (this.#table === 'words'))
      throw new DamagedContent(`the index of ${this.#table} has no structure`)
    return block
  }

  /** Reads all passages that have the token, or a token that begins so. Deleted passages may be among them. */
  read(structure: Buffer, token: string, isPrefix: boolean, reader: ListReader): void {
    // Tokens of other indexes, which this table does not have, begin with another digit.
    const wanted = Buffer.from(`0${token}`)
    for (const segment of segmentsOf(structure)) this.#readSegment(segment, wanted, isPrefix, reader)
  }

  /** All tokens that begin so, some of them more than once; undefined if they are on more pages than `mostPages`. */
  tokens(structure: Buffer, beginning: string, mostPages: number): string[] | undefined {
    const wanted = Buffer.from(`0${beginning}`)
    const after = Buffer.from(wanted)
    after[after.length - 1]!++
    const pages = segmentsOf(structure).flatMap((segment) => this.#pagesWithTokens(segment, wanted, after))
    if (pages.length > mostPages) return undefined
    const sql = `SELECT block FROM ${this.#table}_data WHERE id IN (SELECT value FROM json_each(?))`
    const rows = this.#q.all<{ block: Uint8Array }>(sql, JSON.stringify(pages))
    return rows.flatMap(({ block }) => tokensOn(block)).filter((token) => token.startsWith(beginning))
  }

  /** The rows of the pages on which tokens begin, from the page of the first to before the second. */
  #pagesWithTokens(segment: Segment, from: Buffer, to: Buffer): number[] {
    const sql = `SELECT pgno >> 1 AS page FROM ${this.#table}_idx WHERE segid = ? AND term > ? AND term < ?`
    const more = this.#q.all<{ page: number }>(sql, segment.id, from, to).map(({ page }) => page)
    const pages = new Set([this.#firstPage(segment, from), ...more])
    return [...pages].map((page) => segment.id * pagesOfSegment + page)
  }

  /** The deleted passages that are still in the index. */
  *deleted(structure: Buffer): Generator<number> {
    for (const { id, deletedPages } of segmentsOf(structure)) {
      if (deletedPages === 0) continue
      for (const page of this.#pages(id + deletedLists, 0, deletedPages - 1)) yield* deletedOn(page)
    }
  }

  #readSegment(segment: Segment, wanted: Buffer, isPrefix: boolean, reader: ListReader): void {
    let isWanted = false
    for (const page of this.#pagesFrom(segment, wanted, isPrefix)) {
      const tokens = new TokenReader(page)
      if (isWanted) reader.continueOn(page, headerBytes, tokens.nextStart)
      while (tokens.next()) {
        const order = tokens.compare(wanted, isPrefix)
        if (order > 0) return
        isWanted = order === 0
        if (isWanted) reader.begin(page, tokens.end, tokens.nextStart)
      }
      if (!isWanted && !isPrefix) return
    }
  }

  /** The page on which the token is, if the segment has it, and then the others up to the end of its list: a rare token needs only the
   *  first. */
  *#pagesFrom(segment: Segment, wanted: Buffer, isPrefix: boolean): Generator<Uint8Array> {
    const first = this.#firstPage(segment, wanted)
    yield* this.#pages(segment.id, first, first)
    yield* this.#pages(segment.id, first + 1, this.#lastPage(segment, wanted, isPrefix))
  }

  #firstPage({ id, firstPage }: Segment, wanted: Buffer): number {
    const sql = `SELECT pgno >> 1 AS page FROM ${this.#table}_idx
      WHERE segid = ? AND term <= ? ORDER BY term DESC LIMIT 1`
    // A merge removes pages before it is done.
    return Math.max(firstPage, this.#q.get<{ page: number }>(sql, id, wanted)?.page ?? 1)
  }

  /** The page on which the next token is that FTS5 knows the page of: the list ends there or before. */
  #lastPage({ id, lastPage }: Segment, wanted: Buffer, isPrefix: boolean): number {
    const sql = `SELECT pgno >> 1 AS page FROM ${this.#table}_idx WHERE segid = ? AND term > ? ORDER BY term LIMIT 1`
    // No token has the byte 255.
    const after = isPrefix ? Buffer.concat([wanted, Buffer.of(0xff)]) : wanted
    return Math.min(lastPage, this.#q.get<{ page: number }>(sql, id, after)?.page ?? lastPage)
  }

  /** As one row: a row for each page takes twice as long. `group_concat` takes bytes as they are. */
  *#pages(segment: number, first: number, last: number): Generator<Uint8Array> {
    const sql = `SELECT CAST(group_concat(block, '') AS BLOB) AS pages, json_group_array(length(block)) AS lengths
      FROM ${this.#table}_data WHERE id BETWEEN CAST(? AS INTEGER) AND CAST(? AS INTEGER)`
    for (let from = first; from <= last; from += pagesAtOnce) {
      const ids = [from, Math.min(last, from + pagesAtOnce - 1)].map(
        (page) => segment * pagesOfSegment + page,
      )
      const { pages, lengths } = this.#q.get<{ pages: Uint8Array | null; lengths: string }>(sql, ...ids)!
      if (!pages) throw new DamagedContent(`the index of ${this.#table} lacks a page`)
      let at = 0
      for (const length of JSON.parse(lengths) as number[]) yield pages.subarray(at, (at += length))
    }
  }
}

function hasDeletions(structure: Buffer): boolean {
  return structure.indexOf(withDeletions) === 4
}

/** The oldest first: their passages have the lowest ids. */
function segmentsOf(structure: Buffer): Segment[] {
  const isDeletable = hasDeletions(structure)
  const numbers = new Numbers(structure, isDeletable ? 8 : 4)
  const levels = Array.from({ length: atMost(mostLevels, numbers.next()) }, () => [] as Segment[])
  numbers.skip(2)
  for (const level of levels) {
    numbers.skip(1)
    for (let left = atMost(mostSegments, numbers.next()); left > 0; left--) {
      const [id, firstPage, lastPage] = [numbers.next(), numbers.next(), numbers.next()]
      if (isDeletable) numbers.skip(2)
      level.push({ id, firstPage, lastPage, deletedPages: isDeletable ? numbers.next() : 0 })
      if (isDeletable) numbers.skip(2)
    }
  }
  return levels.reverse().flat()
}

/** A hash table of ids with 4 or 8 bytes each; 0 where it is empty. */
function* deletedOn(page: Uint8Array): Generator<number> {
  const view = new DataView(page.buffer, page.byteOffset, page.byteLength)
  const width = page[0] === 4 ? 4 : 8
  for (let at = 8; at + width <= page.length; at += width) {
    const id = width === 4 ? view.getUint32(at) : Number(view.getBigUint64(at))
    if (id !== 0) yield id
  }
}

/** As Latin letters: others come out as signs that no word has. */
function tokensOn(page: Uint8Array): string[] {
  const reader = new TokenReader(page)
  const bytes = Buffer.allocUnsafe(page.length)
  const found: string[] = []
  // Without the digit that stands before each.
  while (reader.next()) found.push(bytes.toString('latin1', 1, reader.copyTo(bytes)))
  return found
}

/** The tokens of a page, one after the other. Where they begin is at the end of the page. */
class TokenReader {
  /** Where the list of the token begins, and where the next token does; the end of all lists if there is none. */
  end = 0
  nextStart: number
  readonly #page: Uint8Array
  readonly #listsEnd: number
  readonly #starts: Numbers
  readonly #numbers: Numbers
  /** How many bytes the token has in common with the one before, and then of its own. */
  #kept = 0
  #own = 0
  /** How many bytes of the wanted token the tokens so far begin with. */
  #alike = 0
  #isFirst = true

  constructor(page: Uint8Array) {
    this.#page = page
    this.#listsEnd = (page[2]! << 8) | page[3]!
    this.#starts = new Numbers(page, this.#listsEnd)
    this.#numbers = new Numbers(page)
    this.nextStart = this.#starts.isAtEnd ? this.#listsEnd : this.#starts.next()
  }

  next(): boolean {
    if (this.nextStart >= this.#listsEnd) return false
    this.#numbers.at = this.nextStart
    this.#kept = this.#isFirst ? 0 : this.#numbers.next()
    this.#own = this.#numbers.next()
    this.end = this.#numbers.at + this.#own
    this.#isFirst = false
    this.nextStart = this.#starts.isAtEnd ? this.#listsEnd : this.nextStart + this.#starts.next()
    return true
  }

  /** Makes the token of the one before it, which the bytes have; returns its length. */
  copyTo(bytes: Buffer): number {
    for (let at = 0; at < this.#own; at++) bytes[this.#kept + at] = this.#page[this.end - this.#own + at]!
    return this.#kept + this.#own
  }

  /** 0 if the token is the wanted one, or begins so; below 0 if it comes before it. To be called for each token. */
  compare(wanted: Buffer, isPrefix: boolean): number {
    // It still has what made the last one come before the wanted one.
    if (this.#kept > this.#alike && this.#alike < wanted.length) return -1
    this.#alike = Math.min(this.#kept, wanted.length)
    let own = this.#numbers.at
    for (; own < this.end && this.#page[own] === wanted[this.#alike]; own++) this.#alike++
    const isWhole = own === this.end
    if (this.#alike === wanted.length) return isPrefix || isWhole ? 0 : 1
    return isWhole || this.#page[own]! < wanted[this.#alike]! ? -1 : 1
  }
}

/** Numbers with seven bits in each byte, the highest first; the last byte is below 128. */
export class Numbers {
  at: number
  readonly #bytes: Uint8Array

  constructor(bytes: Uint8Array, at = 0) {
    this.#bytes = bytes
    this.at = at
  }

  get isAtEnd(): boolean {
    return this.at >= this.#bytes.length
  }

  next(): number {
    let number = 0
    for (;;) {
      const byte = this.#bytes[this.at++] ?? 0
      number = number * 128 + (byte & 127)
      if (byte < 128) return number
    }
  }

  skip(count: number): void {
    for (; count > 0; count--) this.next()
  }
}
