// PostgreSQL for the stores that run on both databases (store/tables).
import type { SqlDatabase, SqlValue, Transaction } from '../tables/sql-database.ts'
import type { Postgres, Statements } from './connection.ts'

export function postgresSql(postgres: Postgres): SqlDatabase {
  return {
    all: (sql, values = []) => postgres.read(numbered(sql), values.map(storable)),
    async get<T>(sql: string, values: SqlValue[] = []) {
      const [row] = await postgres.read<T>(numbered(sql), values.map(storable))
      return row
    },
    run: (sql, values = []) => postgres.change(numbered(sql), values.map(storable)),
    repeat: (sql, values = []) => postgres.change(numbered(sql), values.map(storable), { repeats: true }),
    transaction: (steps, lock) =>
      postgres.transaction(async (statements) => {
        if (lock) {
          const [name, key = ''] = lock
          await statements.rows('SELECT pg_advisory_xact_lock(hashtext($1), hashtext($2))', [name, key])
        }
        return runAll(statements, steps())
      }),
  }
}

async function runAll<T>(statements: Statements, transaction: Transaction<T>): Promise<T> {
  let step = transaction.next()
  while (!step.done) {
    const { sql, values, result } = step.value
    const query = result === 'rows' ? statements.rows : statements.run
    step = transaction.next(await query(numbered(sql), values.map(storable)))
  }
  return step.value
}

/** `?` and `?2` as PostgreSQL writes them: `$1`, `$2`. */
export function numbered(sql: string): string {
  let n = 0
  return sql.replaceAll(/\?(\d*)/g, (_, given: string) => `$${given || ++n}`)
}

/** What one statement can read or write at once. */
export async function* inBatches<T>(all: AsyncIterable<T> | Iterable<T>, size: number): AsyncGenerator<T[]> {
  let batch: T[] = []
  for await (const item of all) {
    batch.push(item)
    if (batch.length < size) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

/** Bytes as the server writes them: `\\x6869`. */
export function fromHex(text: string): Buffer {
  return Buffer.from(text.slice('\\x'.length), 'hex')
}

/** PostgreSQL's text holds neither NUL nor half a surrogate pair. */
export function storable<T>(value: T): T | string {
  return typeof value === 'string' ? value.toWellFormed().replaceAll('\0', '\uFFFD') : value
}
