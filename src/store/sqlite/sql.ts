// SQLite for the stores that run on both databases (store/tables).
import type { SqlDatabase, SqlValue, Statement, Transaction } from '../tables/sql-database.ts'
import type { Database } from './database.ts'
import type { Queries } from './queries.ts'

export function sqliteSql(db: Database): SqlDatabase {
  const run: SqlDatabase['run'] = (sql, values = []) =>
    db.write((q) => q.run(sql, ...values.map(asStored)).changes)
  return {
    all: async (sql, values = []) => db.sharedRead((q) => q.all(sql, ...values.map(asStored))),
    get: async (sql, values = []) => db.sharedRead((q) => q.get(sql, ...values.map(asStored))),
    run,
    repeat: run,
    transaction: (steps) => db.write((q) => runAll(q, steps())),
  }
}

function runAll<T>(q: Queries, transaction: Transaction<T>): T {
  let step = transaction.next()
  while (!step.done) step = transaction.next(runOne(q, step.value))
  return step.value
}

function runOne(q: Queries, { sql, values, result }: Statement): unknown {
  const stored = values.map(asStored)
  return result === 'rows' ? q.all(sql, ...stored) : q.run(sql, ...stored).changes
}

/** SQLite has no booleans. */
function asStored(value: SqlValue): string | number | null {
  return typeof value === 'boolean' ? Number(value) : value
}
