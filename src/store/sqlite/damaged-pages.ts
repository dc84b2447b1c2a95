// Reads the pages of a SQLite file without SQLite. SQLite refuses a whole page for one wrong byte, and a whole table for one wrong
// page; here only the rows are lost whose own bytes do not fit. Names follow SQLite's description of its file format.
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { attempt } from '../../domain/errors.ts'

export const pageBytes = 4096
const fileHeaderBytes = 100

export type Value = null | bigint | number | string | Uint8Array

/** `table`: rows with a number. `index`: entries of an index, or rows of a table WITHOUT ROWID. */
export type TreeKind = 'table' | 'index'

export interface Cell {
  rowid?: bigint
  values: Value[]
}

/** A page below another one, and between which numbers its rows are, if they have numbers. */
export interface Child {
  number: number
  above?: bigint
  upTo?: bigint
}

export interface Page {
  kind: TreeKind
  children: Child[]
  cells: Cell[]
  /** A part of the page could not be read. */
  isDamaged: boolean
}

const pageTypes: Readonly<Record<number, { kind: TreeKind; isLeaf: boolean }>> = {
  2: { kind: 'index', isLeaf: false },
  5: { kind: 'table', isLeaf: false },
  10: { kind: 'index', isLeaf: true },
  13: { kind: 'table', isLeaf: true },
}

interface ReadCell extends Cell {
  child?: number
  /** The highest number of a row below `child`. */
  upTo?: bigint
  bytes: number
}

export class DamagedPages {
  readonly count: number
  #file: number

  constructor(path: string) {
    this.#file = openSync(path, 'r')
    this.count = Math.ceil(fstatSync(this.#file).size / pageBytes)
  }

  close(): void {
    closeSync(this.#file)
  }

  /** `expected`: what the parent page says. Without it a page of an unknown type is undefined. */
  read(number: number, expected?: TreeKind): Page | undefined {
    const page = this.#bytes(number)
    const start = number === 1 ? fileHeaderBytes : 0
    const written = pageTypes[page[start]!]
    const isExpected = written && (expected === undefined || written.kind === expected)
    const type = isExpected ? written : expected && { kind: expected, isLeaf: true }
    if (!type) return undefined
    const pointers = pointersOf(page, start, type.isLeaf)
    const cells = pointers.map((at) => attempt(() => this.#cell(page, at, type)))
    const whole = inOrder(cells.filter((cell) => cell !== undefined))
    const children = type.isLeaf ? [] : childrenOf(whole, page.readUInt32BE(start + 8))
    const isWhole = whole.length === cells.length && isAccountedFor(page, start, type.isLeaf, whole)
    return {
      kind: type.kind,
      children,
      cells: type.kind === 'table' && !type.isLeaf ? [] : whole,
      isDamaged: !isExpected || !isWhole,
    }
  }

  /** Pages that hold nothing, or deleted rows. Undefined if the list of them is damaged. */
  freePages(): Set<number> | undefined {
    const header = this.#bytes(1)
    const free = new Set<number>()
    for (let trunk = header.readUInt32BE(32); trunk !== 0;) {
      if (!this.has(trunk) || free.has(trunk)) return undefined
      free.add(trunk)
      const page = this.#bytes(trunk)
      const leaves = page.readUInt32BE(4)
      if (leaves > pageBytes / 4 - 2) return undefined
      for (let i = 0; i < leaves; i++) free.add(page.readUInt32BE(8 + 4 * i))
      trunk = page.readUInt32BE(0)
    }
    const isWhole = free.size === header.readUInt32BE(36) && [...free].every((page) => this.has(page))
    return isWhole ? free : undefined
  }

  has(page: number): boolean {
    return page >= 1 && page <= this.count
  }

  #bytes(number: number): Buffer {
    const page = Buffer.alloc(pageBytes)
    readSync(this.#file, page, 0, pageBytes, (number - 1) * pageBytes)
    return page
  }

  /** Throws if the bytes do not fit. */
  #cell(page: Buffer, start: number, { kind, isLeaf }: { kind: TreeKind; isLeaf: boolean }): ReadCell {
    const child = isLeaf ? undefined : this.#child(page, start)
    const at = isLeaf ? start : start + 4
    const first = readVarint(page, at)
    if (kind === 'table' && !isLeaf) return { child, upTo: first.value, values: [], bytes: first.end - start }
    const size = Number(first.value)
    const rowid = kind === 'table' ? readVarint(page, first.end) : undefined
    const from = rowid?.end ?? first.end
    const local = localBytes(size, kind)
    if (size > this.count * pageBytes || from + local > pageBytes) throw new RangeError('too long')
    const isSplit = local < size
    const next = isSplit ? page.readUInt32BE(from + local) : 0
    const payload = Buffer.concat([page.subarray(from, from + local), ...this.#overflow(next, size - local)])
    const bytes = Math.max(4, from + local + (isSplit ? 4 : 0) - start)
    return { child, rowid: rowid?.value, values: readRecord(payload), bytes }
  }

  #child(page: Buffer, at: number): number {
    const child = page.readUInt32BE(at)
    if (!this.has(child)) throw new RangeError('no such page')
    return child
  }

  /** The rest of a long row, which is on other pages. */
  *#overflow(first: number, bytes: number): Iterable<Buffer> {
    for (let [next, left] = [first, bytes]; left > 0;) {
      if (!this.has(next)) throw new RangeError('no such page')
      const page = this.#bytes(next)
      yield page.subarray(4, 4 + left)
      next = page.readUInt32BE(0)
      left -= pageBytes - 4
    }
  }
}

function pointersOf(page: Buffer, start: number, isLeaf: boolean): number[] {
  const first = firstPointer(start, isLeaf)
  const most = (pageBytes - first) / 2
  const count = Math.min(page.readUInt16BE(start + 3), most)
  return [...new Set(Array.from({ length: count }, (_, i) => page.readUInt16BE(first + 2 * i)))]
}

function childrenOf(cells: ReadCell[], last: number): Child[] {
  const before = cells.map(({ child, upTo }, i) => ({ number: child!, above: cells[i - 1]?.upTo, upTo }))
  return [...before, { number: last, above: cells.at(-1)?.upTo }]
}

/** Rows are stored in the order of their numbers; a row between two others that are in order has a wrong number. */
function inOrder(cells: ReadCell[]): ReadCell[] {
  return cells.filter(({ rowid }, i) => {
    const [before, after] = [cells[i - 1]?.rowid, cells[i + 1]?.rowid]
    if (rowid === undefined || (before !== undefined && after !== undefined && before >= after)) return true
    return (before === undefined || before < rowid) && (after === undefined || rowid < after)
  })
}

const firstPointer = (start: number, isLeaf: boolean): number => start + (isLeaf ? 8 : 12)

/** Header, pointers, cells, free blocks and gaps fill a sound page exactly. Otherwise a cell may be missing. */
function isAccountedFor(page: Buffer, start: number, isLeaf: boolean, cells: ReadCell[]): boolean {
  const pointersEnd = firstPointer(start, isLeaf) + 2 * page.readUInt16BE(start + 3)
  // 0 stands for 65,536, the end of the largest page.
  const contentStart = page.readUInt16BE(start + 5) || 65_536
  const fragments = page[start + 7]!
  const content =
    cells.reduce((sum, { bytes }) => sum + bytes, 0) + fragments + (freeBytes(page, start) ?? NaN)
  return pointersEnd <= contentStart && contentStart + content === pageBytes
}

function freeBytes(page: Buffer, start: number): number | undefined {
  let bytes = 0
  for (let at = page.readUInt16BE(start + 1); at !== 0;) {
    if (at > pageBytes - 4) return undefined
    bytes += page.readUInt16BE(at + 2)
    const next = page.readUInt16BE(at)
    if (next !== 0 && next <= at) return undefined
    at = next
  }
  return bytes
}

/** How much of a row is on its own page. */
function localBytes(size: number, kind: TreeKind): number {
  const share = (part: number): number => Math.floor(((pageBytes - 12) * part) / 255) - 23
  const most = kind === 'table' ? pageBytes - 35 : share(64)
  if (size <= most) return size
  const least = share(32)
  const local = least + ((size - least) % (pageBytes - 4))
  return local <= most ? local : least
}

function readRecord(payload: Buffer): Value[] {
  const header = readVarint(payload, 0)
  const types: number[] = []
  let at = header.end
  while (at < header.value) {
    const type = readVarint(payload, at)
    types.push(Number(type.value))
    at = type.end
  }
  if (BigInt(at) !== header.value) throw new RangeError('the header of the row has another length')
  const values = types.map((type) => {
    const from = at
    at += valueBytes(type)
    return readValue(type, payload.subarray(from, at))
  })
  if (at !== payload.length) throw new RangeError('the row has another length')
  return values
}

const integerBytes = [0, 1, 2, 3, 4, 6, 8]

function valueBytes(type: number): number {
  if (type >= 12) return Math.floor((type - 12) / 2)
  if (type === 10 || type === 11) throw new RangeError('no such type')
  return type === 7 ? 8 : (integerBytes[type] ?? 0)
}

function readValue(type: number, bytes: Buffer): Value {
  if (type === 0) return null
  if (type === 7) return bytes.readDoubleBE()
  if (type === 8 || type === 9) return BigInt(type - 8)
  if (type >= 12) return type % 2 === 0 ? bytes : bytes.toString()
  return type === 6 ? bytes.readBigInt64BE() : BigInt(bytes.readIntBE(0, bytes.length))
}

function readVarint(bytes: Buffer, start: number): { value: bigint; end: number } {
  let value = 0n
  for (let i = 0; i < 8; i++) {
    const byte = bytes.readUInt8(start + i)
    value = (value << 7n) | BigInt(byte & 0x7f)
    if (byte < 0x80) return { value, end: start + i + 1 }
  }
  value = (value << 8n) | BigInt(bytes.readUInt8(start + 8))
  return { value: BigInt.asIntN(64, value), end: start + 9 }
}
