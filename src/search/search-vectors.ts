// The vectors of passages, about a thousand in each row of the database: a search reads all of them, and one row for each
// would be slow. Vectors outlive deleted passages; a reader checks which passages still exist.
import type { Database } from '../store/sqlite/database.ts'
import type { Queries } from '../store/sqlite/queries.ts'

export const vectorTable = `CREATE TABLE vectors (
  batch INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, count INTEGER NOT NULL,
  passages BLOB NOT NULL, sources BLOB NOT NULL, numbers BLOB NOT NULL
) STRICT;`

/** Vectors of one length, one after the other. */
export interface VectorBatch {
  batch: number
  count: number
  /** The passage and the source of each. */
  passages: Uint32Array
  sources: Uint32Array
  /** Bit k is set if number k is positive; 32 bits in each. */
  signs: Int32Array
  numbers: PackedNumbers
}

/** Numbers from -7 to 7, two in each byte, the first in the lower half. -8 stands for a number above zero that is too small, so that
 *  all signs are known. Only their proportions count. */
type PackedNumbers = Uint8Array

interface NewVector {
  /** The passage. */
  id: number
  numbers: PackedNumbers
}

/** The passages and sources are packed by `packedIds`. */
type BatchRow = Record<'passages' | 'sources' | 'numbers', Uint8Array> & Record<'batch' | 'count', number>

const updateBatch = 'UPDATE vectors SET count = ?, passages = ?, sources = ?, numbers = ? WHERE batch = ?'
const mostInBatch = 1_024
/** Up to this many vectors of deleted passages are tolerated. */
const toleratedOrphans = 10_000

export class SearchVectors {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** Passages that already have a vector, or were deleted, are left out. */
  add(model: string, vectors: NewVector[]): Promise<void> {
    return this.#db.write((q) => {
      const added = vectors.flatMap((vector) => {
        const sql =
          'UPDATE passage SET has_vector = 1 WHERE id = ? AND has_vector = 0 RETURNING source_id AS source'
        const row = q.get<{ source: number }>(sql, vector.id)
        return row ? [{ ...vector, source: row.source }] : []
      })
      for (let done = 0; done < added.length;) done += addToLast(q, model, added.slice(done))
    })
  }

  /** The batches from this one on. The last batch may have grown since it was read. */
  *from(model: string, batch: number): Generator<VectorBatch> {
    const sql = 'SELECT * FROM vectors WHERE model = ? AND batch >= ? ORDER BY batch'
    for (const row of this.#db.queries.each<BatchRow>(sql, model, batch)) yield batchOf(row)
  }

  /** Deletes the vectors of these sources, so that nothing of them is left in the file. */
  async remove(sources: ReadonlySet<number>): Promise<void> {
    if (sources.size === 0) return
    await this.#db.write((q) => {
      for (const row of q.all<Pick<BatchRow, 'batch' | 'sources'>>('SELECT batch, sources FROM vectors')) {
        const owners = unpackedIds(row.sources)
        const kept = [...owners.keys()].filter((at) => !sources.has(owners[at]!))
        if (kept.length < owners.length) keepOnly(q, row.batch, kept)
      }
    })
  }

  isEmpty(): boolean {
    return this.#db.queries.get('SELECT 1 FROM vectors LIMIT 1') === undefined
  }

  /** Deletes all vectors, to compute them again, if some are of another model or too many belong to deleted passages. */
  async tidy(model: string): Promise<void> {
    await this.#db.write((q) => {
      const { others, all } = q.get<{ others: number; all: number }>(
        'SELECT coalesce(sum(model <> ?), 0) AS others, coalesce(sum(count), 0) AS "all" FROM vectors',
        model,
      )!
      const { used } = q.get<{ used: number }>('SELECT count(*) AS used FROM passage WHERE has_vector = 1')!
      if (others === 0 && all <= 2 * used + toleratedOrphans) return
      q.exec('DELETE FROM vectors; UPDATE passage SET has_vector = 0')
    })
  }
}

/** Keeps only the vectors at these positions of a batch. */
function keepOnly(q: Queries, batch: number, kept: number[]): void {
  if (kept.length === 0) {
    q.run('DELETE FROM vectors WHERE batch = ?', batch)
    return
  }
  const row = q.get<BatchRow>('SELECT * FROM vectors WHERE batch = ?', batch)!
  const pick = (packedOnes: Uint8Array): Uint8Array => {
    const ids = unpackedIds(packedOnes)
    return packedIds(kept.map((at) => ids[at]!))
  }
  const width = row.numbers.length / row.count
  const numbers = Buffer.concat(kept.map((at) => row.numbers.subarray(at * width, (at + 1) * width)))
  q.run(updateBatch, kept.length, pick(row.passages), pick(row.sources), numbers, batch)
}

/** Adds vectors to the last batch, or to a new one when it is full; returns how many were added. */
function addToLast(q: Queries, model: string, vectors: Array<NewVector & { source: number }>): number {
  const size = vectors[0]!.numbers.length
  const last = q.get<BatchRow>('SELECT * FROM vectors WHERE model = ? ORDER BY batch DESC LIMIT 1', model)
  const open =
    last && last.count < mostInBatch && last.numbers.length === last.count * size ? last : undefined
  const taken = vectors.slice(0, mostInBatch - (open?.count ?? 0))
  const columns = [
    packedIds([...(open ? unpackedIds(open.passages) : []), ...taken.map(({ id }) => id)]),
    packedIds([...(open ? unpackedIds(open.sources) : []), ...taken.map(({ source }) => source)]),
    Buffer.concat([open?.numbers ?? new Uint8Array(0), ...taken.map(({ numbers }) => numbers)]),
  ]
  if (open) {
    q.run(updateBatch, open.count + taken.length, ...columns, open.batch)
  } else {
    const sql = 'INSERT INTO vectors (model, count, passages, sources, numbers) VALUES (?, ?, ?, ?, ?)'
    q.run(sql, model, taken.length, ...columns)
  }
  return taken.length
}

/** Each as its difference to the one before, mostly in one byte: seven bits in each byte, the lowest first; the sign is the lowest bit. */
function packedIds(ids: number[]): Uint8Array {
  const bytes: number[] = []
  let before = 0
  for (const id of ids) {
    let left = id >= before ? 2 * (id - before) : 2 * (before - id) - 1
    for (; left > 127; left = Math.floor(left / 128)) bytes.push(128 | (left % 128))
    bytes.push(left)
    before = id
  }
  return Uint8Array.from(bytes)
}

function unpackedIds(bytes: Uint8Array): number[] {
  const ids: number[] = []
  for (let at = 0, id = 0; at < bytes.length;) {
    let number = 0
    let factor = 1
    for (; bytes[at]! > 127; factor *= 128) number += (bytes[at++]! & 127) * factor
    number += bytes[at++]! * factor
    id += number % 2 === 0 ? number / 2 : -(number + 1) / 2
    ids.push(id)
  }
  return ids
}

function batchOf({ batch, count, passages, sources, numbers }: BatchRow): VectorBatch {
  return {
    batch,
    count,
    passages: Uint32Array.from(unpackedIds(passages)),
    sources: Uint32Array.from(unpackedIds(sources)),
    signs: signsIn(numbers, count),
    numbers,
  }
}

/** The vector at length 1, in steps of 1/127. */
export function quantized(vector: Float32Array): Int8Array {
  const length = Math.hypot(...vector)
  return Int8Array.from(vector, (value) => (length === 0 ? 0 : Math.round((value / length) * 127)))
}

/** Larger numbers than this many times the usual size are cut, so that one of them does not make the others coarse. */
const largestOfUsual = 3

/** A small index matters more than exact numbers: with four bits each, passages change their order hardly ever. */
export function packed(vector: Float32Array): PackedNumbers {
  const usual = Math.hypot(...vector) / Math.sqrt(vector.length)
  const largest = Math.min(
    largestOfUsual * usual,
    vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0),
  )
  const bytes = new Uint8Array(Math.ceil(vector.length / 2))
  vector.forEach((value, k) => {
    const number = largest === 0 ? 0 : Math.round((7 * value) / largest)
    const limited = number === 0 && value > 0 ? -8 : Math.max(-7, Math.min(7, number))
    bytes[k >> 1]! |= (limited & 15) << (k & 1 ? 4 : 0)
  })
  return bytes
}

/** The numbers in a byte: the first, and the second. */
export function lowOf(both: number): number {
  const number = (both << 28) >> 28
  return number === -8 ? 0 : number
}

export function highOf(both: number): number {
  return lowOf(both >> 4)
}

/** Which numbers are positive, as bits. */
export function signsOf(vector: Int8Array): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let k = 0; k < vector.length; k++) if (vector[k]! > 0) signs[k >> 5]! |= 1 << (k & 31)
  return signs
}

/** The signs of the two numbers in a byte. */
const signsInByte = Uint8Array.from({ length: 256 }, (_, both) => {
  const isPositive = (number: number): number => (number > 0 && number <= 8 ? 1 : 0)
  return isPositive(both & 15) | (isPositive(both >> 4) << 1)
})

/** The signs of packed vectors, one after the other. */
function signsIn(numbers: PackedNumbers, count: number): Int32Array {
  const width = numbers.length / count
  const words = Math.ceil(width / 16)
  const signs = new Int32Array(count * words)
  for (let place = 0, from = 0; place < count; place++) {
    for (let k = 0; k < width; k++)
      signs[place * words + (k >> 4)]! |= signsInByte[numbers[from++]!]! << (2 * (k & 15))
  }
  return signs
}
