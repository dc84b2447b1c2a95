// Statements that SQLite and PostgreSQL both understand, so that a store on tables of both is written once (this folder).
// Each database implements `SqlDatabase` in its own sql.ts.

export type SqlValue = string | number | boolean | null

/** `?` stands for the next value, `?2` for the second one. */
export interface Statement {
  sql: string
  values: SqlValue[]
  /** What the transaction is resumed with: the rows, or how many were changed. */
  result: 'rows' | 'changes'
}

/** The statements of one transaction, each after `yield*`. SQLite runs all of them at once, in one commit with the other writes of
 *  the moment; PostgreSQL awaits each. It may run a second time: it must do nothing that a rollback does not undo. */
export type Transaction<T> = Generator<Statement, T, unknown>

export interface SqlDatabase {
  all<T>(sql: string, values?: SqlValue[]): Promise<T[]>
  get<T>(sql: string, values?: SqlValue[]): Promise<T | undefined>
  /** Runs a change once; resolves to the number of changed rows. */
  run(sql: string, values?: SqlValue[]): Promise<number>
  /** As `run`, for a change that has the same effect when it runs twice: repeated while the database is unavailable. */
  repeat(sql: string, values?: SqlValue[]): Promise<number>
  /** Transactions with the same lock run one after another. (With SQLite all do.) */
  transaction<T>(steps: () => Transaction<T>, lock?: [name: string, key?: string]): Promise<T>
}

/** In a transaction: `const rows = yield* all<Row>('SELECT …', [value])`. */
export function* all<T>(sql: string, values?: SqlValue[]): Transaction<T[]> {
  return (yield { sql, values: values ?? [], result: 'rows' }) as T[]
}

export function* get<T>(sql: string, values?: SqlValue[]): Transaction<T | undefined> {
  const [row] = yield* all<T>(sql, values)
  return row
}

export function* run(sql: string, values?: SqlValue[]): Transaction<number> {
  return (yield { sql, values: values ?? [], result: 'changes' }) as number
}

/** `?, ?, ?` */
export function placeholders(values: readonly unknown[]): string {
  return values.map(() => '?').join(', ')
}

/** A row as an object: `session_key` becomes `sessionKey`, and a column that is null is absent. */
export function fromRow<T>(row: object): T {
  const columns = row as Record<string, unknown>
  const fields: Record<string, unknown> = {}
  for (const column of Object.keys(columns))
    if (columns[column] !== null) fields[fieldOf(column)] = columns[column]
  return fields as T
}

/** Rows are read by the thousand, so each name is translated once. */
const fieldNames = new Map<string, string>()

function fieldOf(column: string): string {
  const known = fieldNames.get(column)
  if (known !== undefined) return known
  const field = column.replaceAll(/_(.)/g, (_, first: string) => first.toUpperCase())
  fieldNames.set(column, field)
  return field
}

/** The opposite, for these fields: `sessionKey` becomes `session_key`. */
export function columnsOf<T extends object, Field extends keyof T & string>(
  body: T,
  ...fields: Field[]
): Record<string, T[Field]> {
  const column = (field: string): string => field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
  return Object.fromEntries(fields.map((field) => [column(field), body[field]]))
}
