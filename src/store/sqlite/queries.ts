// The statements of one connection: prepared once and reused.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import { placeholders } from '../tables/sql-database.ts'

export type Row = Record<string, unknown>

/** Statements inside a read or a write. They are prepared once and reused. */
export interface Queries {
  get<T = Row>(sql: string, ...values: SQLInputValue[]): T | undefined
  all<T = Row>(sql: string, ...values: SQLInputValue[]): T[]
  each<T = Row>(sql: string, ...values: SQLInputValue[]): IterableIterator<T>
  run(sql: string, ...values: SQLInputValue[]): { changes: number; lastInsertRowid: number }
  exec(sql: string): void
  /** What all writes of a transaction share: the first one makes it, and it is finished before the commit. */
  shared<T extends Finished>(name: string, make: () => T): T
}

export interface Finished {
  finish(): void
}

export function makeQueries(db: DatabaseSync, shared: Map<string, Finished>): Queries {
  const prepared = new Map<string, StatementSync>()
  const statement = (sql: string): StatementSync => {
    let found = prepared.get(sql)
    if (!found) prepared.set(sql, (found = db.prepare(sql)))
    return found
  }
  return {
    get: <T>(sql: string, ...values: SQLInputValue[]) => statement(sql).get(...values) as T | undefined,
    all: <T>(sql: string, ...values: SQLInputValue[]) => statement(sql).all(...values) as T[],
    // An iterator occupies its statement, so it gets its own.
    each: <T>(sql: string, ...values: SQLInputValue[]) =>
      db.prepare(sql).iterate(...values) as IterableIterator<T>,
    run: (sql, ...values) => {
      const { changes, lastInsertRowid } = statement(sql).run(...values)
      return { changes: Number(changes), lastInsertRowid: Number(lastInsertRowid) }
    },
    exec: (sql) => db.exec(sql),
    shared<T extends Finished>(name: string, make: () => T): T {
      // Each name stands for one type.
      const found = shared.get(name) as T | undefined
      if (found) return found
      const made = make()
      shared.set(name, made)
      return made
    },
  }
}

/** Inserts a row, given as its columns. Without `onConflict`, the end of the statement, it replaces a row with the same key. */
export function insertRow(
  q: Queries,
  table: string,
  row: Record<string, SQLInputValue | undefined>,
  onConflict?: string,
): { changes: number; lastInsertRowid: number } {
  const columns = Object.keys(row)
  const verb = onConflict === undefined ? 'INSERT OR REPLACE' : 'INSERT'
  return q.run(
    `${verb} INTO ${table} (${columns.join(', ')}) VALUES (${placeholders(columns)}) ${onConflict ?? ''}`,
    ...Object.values(row).map((value) => value ?? null),
  )
}
