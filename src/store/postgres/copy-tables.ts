// Copies the state database of a machine to PostgreSQL and back: messages, turns, replies, people, the reply map, coding sessions,
// approvals, spend and decisions. In batches; it can be stopped and repeated, and existing rows stay.
import type { Database, Queries } from '../sqlite/database.ts'
import { asRequest, asWatch, watchId } from '../sqlite/coding-rows.ts'
import type { NewOutput, RequestRow, WatchRow } from '../sqlite/coding-rows.ts'
import { asDecision, asGrant, asSpend } from '../sqlite/record-rows.ts'
import type { DecisionRow, GrantRow, SpendRow } from '../sqlite/record-rows.ts'
import { applyRecord } from '../sqlite/record-tables.ts'
import type { StoredRecord } from '../sqlite/record-tables.ts'
import type { Postgres, Statements } from './connection.ts'
import { viaOf } from './outbox.ts'
import { storable } from './sql.ts'

type Row = Record<string, unknown>

interface Table {
  name: string
  /** The columns that identify a row; rows are copied in this order. */
  order: string[]
  columns: string[]
  /** Columns that have another name in SQLite. */
  renamed?: Record<string, string>
  flags?: string[]
  /** No column identifies a row: rows with equal values are the same. */
  hasNoKey?: boolean
  /** Columns that only PostgreSQL has. */
  also?: (row: Row) => Row
}

const batchRows = 500

const tables: Table[] = [
  {
    name: 'inbox',
    order: ['id'],
    columns: ['key', 'lane', 'agent', 'state', 'accepted_at', 'lost_turns', 'asked', 'turn_id', 'record'],
    renamed: { agent: 'agent_id' },
  },
  {
    name: 'turn',
    order: ['id'],
    columns:
      'id lane agent kind state owner started_at ended_at end_kind session_id model input output cache_read cache_write cost_usd context_tokens compactions'.split(
        ' ',
      ),
    renamed: { agent: 'agent_id' },
  },
  {
    name: 'outbox',
    order: ['seq'],
    columns:
      'id idempotency_key lane state attempts resent not_before reason message_ids updated_at record'.split(
        ' ',
      ),
    flags: ['resent'],
    also: ({ record }) => ({ via: viaOfRecord(String(record)) }),
  },
  { name: 'overheard', order: ['id'], columns: ['group_key', 'key', 'record'] },
  { name: 'system_event', order: ['id'], columns: ['session_key', 'text', 'at'], hasNoKey: true },
  {
    name: 'paired_person',
    order: ['channel', 'account', 'sender'],
    columns: ['channel', 'account', 'sender', 'name', 'owner', 'approved_at'],
    flags: ['owner'],
  },
  {
    name: 'pairing_request',
    order: ['channel', 'account', 'sender'],
    columns: ['channel', 'account', 'sender', 'code', 'name', 'asked_at'],
  },
  {
    name: 'sent_message',
    order: ['channel', 'account', 'chat', 'message'],
    columns: 'channel account chat message agent session_key session_id entry_id sent_at'.split(' '),
  },
  {
    name: 'answer',
    order: ['who', 'operation', 'key'],
    columns: ['who', 'operation', 'key', 'input_hash', 'at', 'output'],
  },
]

/** The number of new rows, by table. */
export type Copied = Record<string, number>

export async function tablesToPostgres(
  from: Database,
  postgres: Postgres,
  onProgress: (copied: Copied) => void,
): Promise<Copied> {
  const copied: Copied = {}
  for (const table of tables) {
    for (const batch of batchesHere(from.queries, table)) {
      const added = await postgres.transaction((statements) => insertThere(statements, table, batch))
      copied[table.name] = (copied[table.name] ?? 0) + added
      onProgress(copied)
    }
  }
  for (const batch of inBatches(recordsHere(from.queries))) {
    copied['record'] = (copied['record'] ?? 0) + (await insertRecords(postgres, batch))
    onProgress(copied)
  }
  return copied
}

export async function tablesFromPostgres(
  postgres: Postgres,
  to: Database,
  onProgress: (copied: Copied) => void,
): Promise<Copied> {
  const copied: Copied = {}
  for (const table of tables) {
    for await (const batch of batchesThere(postgres, table)) {
      const added = await to.write((q) => batch.reduce((sum, row) => sum + insertHere(q, table, row), 0))
      copied[table.name] = (copied[table.name] ?? 0) + added
      onProgress(copied)
    }
  }
  for (let last = 0; ;) {
    const rows = await postgres.read<StoredRecord>(
      `SELECT kind, id, seq, body FROM record WHERE seq > $1 ORDER BY seq LIMIT ${batchRows}`,
      [last],
    )
    if (rows.length === 0) return copied
    await to.write((q) => rows.forEach((row) => applyRecord(q, row)))
    copied['record'] = (copied['record'] ?? 0) + rows.length
    onProgress(copied)
    last = rows.at(-1)!.seq
  }
}

function* batchesHere(q: Queries, table: Table): Generator<Row[]> {
  const names = table.columns.map((name) => `${table.renamed?.[name] ?? name} AS "${name}"`)
  const rows = q.each<Row>(`SELECT ${names.join(', ')} FROM ${table.name} ORDER BY ${table.order.join(', ')}`)
  yield* inBatches(rows)
}

async function* batchesThere(postgres: Postgres, { name, order, columns }: Table): AsyncGenerator<Row[]> {
  const wanted = [...new Set([...order, ...columns])].join(', ')
  const after = `(${order.join(', ')}) > (${order.map((_, n) => `$${n + 1}`).join(', ')})`
  for (let last: Row | undefined; ;) {
    const rows: Row[] = await postgres.read<Row>(
      `SELECT ${wanted} FROM ${name} ${last ? `WHERE ${after}` : ''} ORDER BY ${order.join(', ')} LIMIT ${batchRows}`,
      last ? order.map((column) => last![column]) : [],
    )
    if (rows.length > 0) yield rows
    if (rows.length < batchRows) return
    last = rows.at(-1)
  }
}

async function insertThere({ rows }: Statements, table: Table, batch: Row[]): Promise<number> {
  const values = batch.map((row) => ({ ...asPostgresRow(table, row), ...table.also?.(row) }))
  const columns = Object.keys(values[0]!).join(', ')
  if (table.name === 'inbox')
    await rows('INSERT INTO lane (key) SELECT DISTINCT unnest($1::text[]) ON CONFLICT DO NOTHING', [
      batch.map(({ lane }) => lane),
    ])
  const added = await rows(
    `INSERT INTO ${table.name} (${columns}) SELECT ${columns} FROM json_populate_recordset(NULL::${table.name}, $1::json)
       AS n ${table.hasNoKey ? `WHERE ${isNew(table)}` : ''} ON CONFLICT DO NOTHING RETURNING 1`,
    [JSON.stringify(values)],
  )
  return added.length
}

function insertHere(q: Queries, table: Table, row: Row): number {
  const { name, columns, renamed, flags = [] } = table
  const values = columns.map((column) => (flags.includes(column) ? Number(row[column]) : row[column]))
  const given = columns.map((column, n) => `?${n + 1} AS ${column}`).join(', ')
  return q.run(
    `INSERT OR IGNORE INTO ${name} (${columns.map((column) => renamed?.[column] ?? column).join(', ')})
     SELECT * FROM (SELECT ${given}) AS n WHERE ${table.hasNoKey ? isNew(table) : 'true'}`,
    ...(values as Array<string | number | null>),
  ).changes
}

function isNew({ name, columns }: Table): string {
  const same = columns.map((column) => `o.${column} = n.${column}`).join(' AND ')
  return `NOT EXISTS (SELECT 1 FROM ${name} AS o WHERE ${same})`
}

/** As PostgreSQL stores it: flags are booleans, and text holds no NUL. */
function asPostgresRow({ flags = [] }: Table, row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [name, flags.includes(name) ? value === 1 : storable(value)]),
  )
}

function viaOfRecord(record: string): string {
  const { address } = JSON.parse(record) as { address?: { channel: string; accountId: string } }
  // An ended delivery has lost its text, and is never sent again.
  return address ? viaOf(address) : ''
}

interface NewRecord {
  kind: string
  id: string
  at: number
  body: string
}

async function insertRecords(postgres: Postgres, batch: NewRecord[]): Promise<number> {
  const added = await postgres.transaction(async ({ rows }) => {
    await rows('SELECT lock_records()')
    return rows(
      `INSERT INTO record (kind, id, at, body) SELECT * FROM unnest($1::text[], $2::text[], $3::bigint[], $4::text[])
       ON CONFLICT DO NOTHING RETURNING 1`,
      [
        batch.map(({ kind }) => kind),
        batch.map(({ id }) => id),
        batch.map(({ at }) => at),
        batch.map(({ body }) => body.toWellFormed()),
      ],
    )
  })
  return added.length
}

/** The rows of coding sessions, approvals, spend and decisions as the records that they are in PostgreSQL. */
function* recordsHere(q: Queries): Generator<NewRecord> {
  const each = function* <Row>(kind: string, sql: string, read: (row: Row) => Omit<NewRecord, 'kind'>) {
    for (const row of q.each<Row>(sql)) yield { kind, ...read(row) }
  }
  const stored = (kind: string, sql: string): Iterable<NewRecord> =>
    each<Omit<NewRecord, 'kind'>>(kind, sql, (row) => row)
  yield* stored('coding', 'SELECT id, created_at AS at, record AS body FROM coding_session')
  yield* each<OutputRow>(
    'output',
    'SELECT * FROM coding_output',
    ({ session_id: codingId, seq, ...block }) => ({
      id: `${codingId}|${String(seq).padStart(12, '0')}`,
      at: block.at,
      body: JSON.stringify(block),
    }),
  )
  yield* stored(
    'output-end',
    'SELECT session_id AS id, max(at) AS at, cast(max(seq) AS TEXT) AS body FROM coding_output GROUP BY session_id',
  )
  yield* each<WatchRow>('watch', 'SELECT * FROM coding_watch', (row) => {
    const watch = asWatch(row)
    return { id: watchId(watch), at: 0, body: JSON.stringify(watch) }
  })
  const answered = 'SELECT * FROM coding_request WHERE answer IS NOT NULL'
  yield* each<RequestRow>('request', answered, (row) => asNew(asRequest(row), row.asked_at))
  yield* stored('approval', 'SELECT id, asked_at AS at, record AS body FROM approval')
  yield* each<GrantRow>('grant', 'SELECT * FROM grant_always', (row) => asNew(asGrant(row), row.granted_at))
  yield* each<SpendRow>('spend', 'SELECT * FROM spend', (row) => asNew(asSpend(row), row.at))
  yield* each<DecisionRow>('decision', 'SELECT * FROM decision', (row) => asNew(asDecision(row), row.at))
}

function asNew(body: { id: string }, at: number): Omit<NewRecord, 'kind'> {
  return { id: body.id, at, body: JSON.stringify(body) }
}

interface OutputRow extends NewOutput {
  session_id: string
  seq: number
}

function* inBatches<T>(items: Iterable<T>): Generator<T[]> {
  let batch: T[] = []
  for (const item of items) {
    batch.push(item)
    if (batch.length < batchRows) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}
