// The vectors of passages, some hundred in a row of the database: whoever looks for what is near reads them all, and that
// must not take a row each. Passages that are gone leave their vectors behind; a reader asks which ones are still there.
import type { Database, Queries } from '../store/sqlite/database.ts'

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
  /** Which numbers are above zero, 32 in one. */
  signs: Int32Array
  numbers: Int8Array
}

export interface NewVector {
  /** The passage. */
  id: number
  numbers: Int8Array
  signs: Int32Array
}

type BatchRow = Record<'passages' | 'sources' | 'signs' | 'numbers', Uint8Array> &
  Record<'batch' | 'count', number>

const updateBatch =
  'UPDATE vectors SET count = ?, passages = ?, sources = ?, signs = ?, numbers = ? WHERE batch = ?'
const mostInBatch = 1_024
/** As many vectors of passages that are gone are no burden. */
const fewGone = 10_000

export class SearchVectors {
  readonly #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** A passage that has its vector already, or is gone, gets none. */
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

  /** From this batch on; the last one may have grown since it was read. */
  *from(model: string, batch: number): Generator<VectorBatch> {
    const sql = 'SELECT * FROM vectors WHERE model = ? AND batch >= ? ORDER BY batch'
    for (const row of this.#db.queries.each<BatchRow>(sql, model, batch)) yield batchOf(row)
  }

  /** Removes the vectors of these sources; elsewhere they are only passed over once their passages are gone. */
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

  count(): number {
    const sql = 'SELECT coalesce(sum(count), 0) AS count FROM vectors'
    return this.#db.queries.get<{ count: number }>(sql)!.count
  }

  isEmpty(): boolean {
    return this.#db.queries.get('SELECT 1 FROM vectors LIMIT 1') === undefined
  }

  /** Vectors of another model say nothing, those of passages that are gone take up room: then all are made again. */
  async tidy(model: string): Promise<void> {
    await this.#db.write((q) => {
      const { others, all } = q.get<{ others: number; all: number }>(
        'SELECT coalesce(sum(model <> ?), 0) AS others, coalesce(sum(count), 0) AS "all" FROM vectors',
        model,
      )!
      const { used } = q.get<{ used: number }>('SELECT count(*) AS used FROM passage WHERE has_vector = 1')!
      if (others === 0 && all <= 2 * used + fewGone) return
      q.exec('DELETE FROM vectors; UPDATE passage SET has_vector = 0')
    })
  }
}

/** Leaves only the vectors at these places of a batch. */
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

/** Says how many found room. */
function addToLast(q: Queries, model: string, vectors: Array<NewVector & { source: number }>): number {
  const size = vectors[0]!.numbers.length
  const last = q.get<BatchRow>('SELECT * FROM vectors WHERE model = ? ORDER BY batch DESC LIMIT 1', model)
  const open =
    last && last.count < mostInBatch && last.numbers.length === last.count * size ? last : undefined
  const taken = vectors.slice(0, mostInBatch - (open?.count ?? 0))
  const columns = [
    joined(
      open?.passages,
      Uint32Array.from(taken, ({ id }) => id),
    ),
    joined(
      open?.sources,
      Uint32Array.from(taken, ({ source }) => source),
    ),
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
    numbers: new Int8Array(numbers.buffer, numbers.byteOffset, numbers.length),
  }
}

/** A memory of its own, which numbers of four bytes may begin in. */
function aligned(bytes: Uint8Array): ArrayBuffer {
  return new Uint8Array(bytes).buffer
}
