// The vectors of passages, about a thousand in each row of the database: a search reads all of them, and one row for each
// would be slow. Vectors outlive deleted passages; a reader checks which passages still exist.
import type { Database } from '../store/sqlite/database.ts'
import type { Queries } from '../store/sqlite/queries.ts'

export const vectorTable = `CREATE TABLE vectors (
  batch INTEGER PRIMARY KEY AUTOINCREMENT, model TEXT NOT NULL, count INTEGER NOT NULL,
  passages BLOB NOT NULL, sources BLOB NOT NULL, signs BLOB NOT NULL, numbers BLOB NOT NULL
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

/** Numbers from -7 to 7, two in each byte, the first in the lower half. Only their proportions count. */
type PackedNumbers = Uint8Array

export interface NewVector {
  /** The passage. */
  id: number
  numbers: PackedNumbers
  signs: Int32Array
}

type BatchRow = Record<'passages' | 'sources' | 'signs' | 'numbers', Uint8Array> &
  Record<'batch' | 'count', number>

const updateBatch =
  'UPDATE vectors SET count = ?, passages = ?, sources = ?, signs = ?, numbers = ? WHERE batch = ?'
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
        const owners = [...new Uint32Array(aligned(row.sources))]
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
  const pick = (bytes: Uint8Array): Uint8Array => {
    const width = bytes.length / row.count
    return Buffer.concat(kept.map((at) => bytes.subarray(at * width, (at + 1) * width)))
  }
  const columns = [row.passages, row.sources, row.signs, row.numbers].map(pick)
  q.run(updateBatch, kept.length, ...columns, batch)
}

/** Adds vectors to the last batch, or to a new one when it is full; returns how many were added. */
function addToLast(q: Queries, model: string, vectors: Array<NewVector & { source: number }>): number {
  const size = vectors[0]!.numbers.length
  const last = q.get<BatchRow>('SELECT * FROM vectors WHERE model = ? ORDER BY batch DESC LIMIT 1', model)
  const open =
    last && last.count < mostInBatch && last.numbers.length === last.count * size ? last : undefined
  const taken = vectors.slice(0, mostInBatch - (open?.count ?? 0))
  const ids = Uint32Array.from(taken, ({ id }) => id)
  const sources = Uint32Array.from(taken, ({ source }) => source)
  const columns = [
    joined(open?.passages, ids),
    joined(open?.sources, sources),
    joined(open?.signs, ...taken.map(({ signs }) => signs)),
    joined(open?.numbers, ...taken.map(({ numbers }) => numbers)),
  ]
  if (open) {
    q.run(updateBatch, open.count + taken.length, ...columns, open.batch)
  } else {
    const sql =
      'INSERT INTO vectors (model, count, passages, sources, signs, numbers) VALUES (?, ?, ?, ?, ?, ?)'
    q.run(sql, model, taken.length, ...columns)
  }
  return taken.length
}

function joined(before: Uint8Array | undefined, ...arrays: ArrayBufferView[]): Uint8Array {
  const bytes = arrays.map((array) => new Uint8Array(array.buffer, array.byteOffset, array.byteLength))
  return Buffer.concat(before ? [before, ...bytes] : bytes)
}

function batchOf({ batch, count, passages, sources, signs, numbers }: BatchRow): VectorBatch {
  return {
    batch,
    count,
    passages: new Uint32Array(aligned(passages)),
    sources: new Uint32Array(aligned(sources)),
    signs: new Int32Array(aligned(signs)),
    numbers,
  }
}

/** A copy whose memory is aligned for 32-bit numbers. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
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
    bytes[k >> 1]! |= (Math.max(-7, Math.min(7, number)) & 15) << (k & 1 ? 4 : 0)
  })
  return bytes
}

/** Which numbers are positive, as bits. */
export function signsOf(vector: Float32Array | Int8Array): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let k = 0; k < vector.length; k++) if (vector[k]! > 0) signs[k >> 5]! |= 1 << (k & 31)
  return signs
}
