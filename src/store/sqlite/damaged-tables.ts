// Finds the rows of known tables in the pages of a damaged SQLite file. A page belongs to the table that leads to it; a page that
// nothing leads to any more belongs to the only table whose columns its rows fit.
import { DamagedPages, type Cell, type Child, type Page, type TreeKind, type Value } from './damaged-pages.ts'
import type { Queries, Row } from './queries.ts'

interface SchemaRow {
  type: string
  name: string
  tbl_name: string
  rootpage: number | bigint
  sql: string | null
}

/** The rows of a table that could be read. */
interface FoundRows {
  rows: Row[]
  /** False if rows may be missing. */
  isComplete: boolean
}

/** A table or an index, with its columns in the order in which they are stored. */
interface Tree {
  name: string
  kind: TreeKind
  columns: Column[]
}

interface Column {
  name: string
  type: string
  mayBeNull: boolean
  /** Rows from before the column was added do not have it. */
  mayBeMissing: boolean
  /** Another name of the row's number, which is not stored a second time. */
  isRowid: boolean
}

/** `queries`: of a new database with the schema that is expected. */
export function readDamagedTables(path: string, queries: Queries): Map<string, FoundRows> {
  const pages = new DamagedPages(path)
  try {
    const schema = queries.all<SchemaRow>('SELECT * FROM sqlite_schema')
    const trees = schema.filter(({ rootpage }) => rootpage > 0).map((entry) => treeOf(queries, entry))
    return new TableReader(pages, schema, trees).read()
  } finally {
    pages.close()
  }
}

class TableReader {
  readonly #pages: DamagedPages
  readonly #schema: SchemaRow[]
  readonly #trees: Tree[]
  readonly #reached = new Set<number>()
  readonly #found = new Map<string, FoundRows>()

  constructor(pages: DamagedPages, schema: SchemaRow[], trees: Tree[]) {
    this.#pages = pages
    this.#schema = schema
    this.#trees = trees
  }

  read(): Map<string, FoundRows> {
    const roots = this.#roots()
    for (const tree of this.#trees) {
      const root = roots.get(tree.name)
      this.#found.set(
        tree.name,
        root === undefined ? { rows: [], isComplete: false } : this.#walk(root, tree),
      )
    }
    // Free pages may have deleted rows.
    const free = this.#pages.freePages()
    const isCertain = free && ![...free].some((page) => this.#reached.has(page))
    if (isCertain) for (const page of this.#unreached(free)) this.#addByShape(page)
    return this.#found
  }

  /** The first page of each tree, by the readable entries of the schema. */
  #roots(): Map<string, number> {
    const { rows, isComplete } = this.#walk(1, schemaTree)
    const others = isComplete ? [] : [...this.#unreached()].filter(({ kind }) => kind === 'table')
    const stray = others.flatMap(({ cells }) => cells.filter((cell) => doesFit(cell, schemaTree)))
    const entries = [...rows, ...stray.map((cell) => rowOf(cell, schemaTree))] as unknown as SchemaRow[]
    return matchEntries(entries, this.#schema)
  }

  #walk(root: number, tree: Tree): FoundRows {
    const rows: Row[] = []
    let isComplete = true
    for (const waiting: Child[] = [{ number: root }]; waiting.length > 0;) {
      const place = waiting.pop()!
      const { number } = place
      const isNew = this.#pages.has(number) && !this.#reached.has(number)
      const page = isNew ? this.#pages.read(number, tree.kind) : undefined
      const fitting = page?.cells.filter((cell) => doesFit(cell, tree)) ?? []
      if (!page || page.isDamaged || fitting.length < page.cells.length) isComplete = false
      if (!page || !isAtItsPlace(page, fitting, place)) continue
      this.#reached.add(number)
      for (const cell of fitting) rows.push(rowOf(cell, tree))
      waiting.push(...page.children.toReversed())
    }
    return { rows, isComplete }
  }

  *#unreached(free?: Set<number>): Iterable<Page> {
    for (let number = 2; number <= this.#pages.count; number++) {
      if (free?.has(number) || this.#reached.has(number)) continue
      const page = this.#pages.read(number)
      if (page) yield page
    }
  }

  #addByShape({ kind, cells }: Page): void {
    const isShaped = (tree: Tree): boolean => tree.kind === kind && cells.every((cell) => doesFit(cell, tree))
    const [tree, ...others] = cells.length === 0 ? [] : this.#trees.filter(isShaped)
    if (!tree || others.length > 0) return
    const found = this.#found.get(tree.name)!
    found.isComplete = false
    for (const cell of cells) found.rows.push(rowOf(cell, tree))
  }
}

/** A damaged number may lead to a page of another tree, or to a free page with deleted rows. */
function isAtItsPlace({ cells }: Page, fitting: Cell[], { above, upTo }: Child): boolean {
  if (cells.length === 0) return true
  // One of the two is damaged itself.
  if (above !== undefined && upTo !== undefined && above >= upTo) return fitting.length > 0
  return fitting.some(
    ({ rowid }) =>
      rowid === undefined ||
      ((above === undefined || above < rowid) && (upTo === undefined || rowid <= upTo)),
  )
}

const schemaTree: Tree = {
  name: 'sqlite_schema',
  kind: 'table',
  columns: [
    textColumn('type', false),
    textColumn('name', false),
    textColumn('tbl_name', false),
    { ...textColumn('rootpage', false), type: 'INTEGER' },
    textColumn('sql', true),
  ],
}

function textColumn(name: string, mayBeNull: boolean): Column {
  return { name, type: 'TEXT', mayBeNull, mayBeMissing: false, isRowid: false }
}

function treeOf(queries: Queries, entry: SchemaRow): Tree {
  const columns = columnsOf(queries, entry.tbl_name)
  if (entry.type !== 'table')
    return { name: entry.name, kind: 'index', columns: indexed(queries, entry, columns) }
  const isWithoutRowid = /WITHOUT ROWID/.test(entry.sql ?? '')
  if (!isWithoutRowid) return { name: entry.name, kind: 'table', columns }
  const keys = columns.filter(({ pk }) => pk > 0).toSorted((a, b) => a.pk - b.pk)
  const stored = [...keys, ...columns.filter(({ pk }) => pk === 0)]
  return { name: entry.name, kind: 'index', columns: stored.map((column) => ({ ...column, isRowid: false })) }
}

function columnsOf(queries: Queries, table: string): Array<Column & { pk: number }> {
  const about = queries.all<{
    name: string
    type: string
    notnull: number
    dflt_value: string | null
    pk: number
  }>('SELECT * FROM pragma_table_info(?)', table)
  const keys = about.filter(({ pk }) => pk > 0).length
  return about.map(({ name, type, notnull, dflt_value, pk }) => ({
    name,
    type,
    mayBeNull: notnull === 0,
    mayBeMissing: notnull === 0 || dflt_value !== null,
    isRowid: type === 'INTEGER' && pk === 1 && keys === 1,
    pk,
  }))
}

/** What an index stores: its own columns, then what identifies the row. */
function indexed(queries: Queries, { name }: SchemaRow, columns: Column[]): Column[] {
  const about = queries.all<{ name: string | null }>('SELECT name FROM pragma_index_xinfo(?)', name)
  return about.map((key) => {
    const column = columns.find((each) => each.name === key.name)
    if (column && !column.isRowid) return { ...column, mayBeMissing: false }
    // A value that is computed may have any type; the row's number has no name.
    return { ...textColumn('', true), type: column ? 'INTEGER' : 'ANY' }
  })
}

function doesFit({ values }: Cell, { columns }: Tree): boolean {
  if (values.length > columns.length) return false
  return columns.every((column, i) => {
    const value = values[i]
    if (value === undefined) return column.mayBeMissing
    if (column.isRowid) return value === null
    return value === null ? column.mayBeNull : hasType(value, column.type)
  })
}

function hasType(value: Exclude<Value, null>, type: string): boolean {
  if (type === 'TEXT') return typeof value === 'string'
  if (type === 'INTEGER') return typeof value === 'bigint'
  if (type === 'REAL') return typeof value === 'bigint' || typeof value === 'number'
  return type === 'BLOB' ? value instanceof Uint8Array : true
}

function rowOf({ rowid, values }: Cell, { columns }: Tree): Row {
  const named = values.map((value, i) => [columns[i]!.name, columns[i]!.isRowid ? rowid : value] as const)
  return Object.fromEntries(named)
}

/** An entry with wrong bytes stands for the known entry that it resembles most. */
function matchEntries(entries: SchemaRow[], known: SchemaRow[]): Map<string, number> {
  const roots = new Map<string, number>()
  const unmatched = new Map(known.map((row) => [row.name, row]))
  const take = (model: SchemaRow | undefined, { rootpage }: SchemaRow): boolean => {
    if (!model) return false
    unmatched.delete(model.name)
    roots.set(model.name, Number(rootpage))
    return true
  }
  const isSame = (a: SchemaRow, b: SchemaRow | undefined): boolean =>
    a.type === b?.type && a.tbl_name === b.tbl_name
  const damaged = entries.filter((entry) => {
    const model = unmatched.get(entry.name)
    return !take(isSame(entry, model) ? model : undefined, entry)
  })
  for (const entry of damaged) take(mostAlike(entry, [...unmatched.values()]), entry)
  return roots
}

/** Three of four characters are the same, at least. */
function mostAlike(row: SchemaRow, known: SchemaRow[]): SchemaRow | undefined {
  const text = textOf(row)
  const ranked = known.map((model) => ({ model, likeness: likeness(text, textOf(model)) }))
  const best = ranked.toSorted((a, b) => b.likeness - a.likeness)[0]
  return best && best.likeness > 0.75 ? best.model : undefined
}

function textOf({ type, name, tbl_name, sql }: SchemaRow): string {
  return [type, name, tbl_name, sql].join(' ')
}

function likeness(a: string, b: string): number {
  const length = Math.max(a.length, b.length)
  let same = 0
  for (let i = 0; i < length; i++) if (a[i] === b[i]) same++
  return same / length
}
