// Copies the state database of a machine to PostgreSQL and back: messages, turns, replies, people, the reply map, coding sessions,
// approvals, spend and decisions. In batches; it can be stopped and repeated, and existing rows stay.
import type { Database } from '../sqlite/database.ts'
import type { Queries, Row } from '../sqlite/queries.ts'
import { applyRecord, eachRecord, watchId } from '../sqlite/record-tables.ts'
import type { RecordBodies, StoredRecord, TableKind } from '../sqlite/record-tables.ts'
import type { Postgres, Statements } from './connection.ts'
import { viaOf } from './outbox.ts'
import { inBatches, storable } from './sql.ts'

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
    columns: words('key lane agent state accepted_at lost_turns asked turn_id record'),
    renamed: { agent: 'agent_id' },
  },
  {
    name: 'turn',
    order: ['id'],
    columns: words(
      `id lane agent kind state owner started_at ended_at end_kind session_id model input output cache_read cache_write
       cost_usd context_tokens compactions`,
    ),
    renamed: { agent: 'agent_id' },
  },
  {
    name: 'outbox',
    order: ['seq'],
    columns: words(
      'id idempotency_key lane state attempts resent not_before reason message_ids updated_at record',
    ),
    flags: ['resent'],
    also: ({ record }) => ({ via: viaOfRecord(String(record)) }),
  },
  { name: 'overheard', order: ['id'], columns: words('group_key key record') },
  { name: 'system_event', order: ['id'], columns: words('session_key text at'), hasNoKey: true },
  {
    name: 'paired_person',
    order: words('channel account sender'),
    columns: words('channel account sender name owner approved_at'),
    flags: ['owner'],
  },
  { name: 'first_owner', order: ['paired_at'], columns: ['paired_at'], hasNoKey: true },
  {
    name: 'pairing_request',
    order: words('channel account sender'),
    columns: words('channel account sender code name asked_at'),
  },
  {
    name: 'sent_message',
    order: words('channel account chat message'),
    columns: words('channel account chat message agent session_key session_id entry_id approval_id sent_at'),
  },
  {
    name: 'answer',
    order: words('who operation key'),
    columns: words('who operation key input_hash at output'),
  },
  {
    name: 'mail',
    order: ['id'],
    columns: words(
      `id sender sender_name send_key recipient recipient_name session body reply_to resume depth state accepted_at expires_at holder
       delivered_at delivered_to read_at expired_at woke_at repeats note giver`,
    ),
  },
  {
    name: 'mail_session',
    order: ['session'],
    columns: words('session root machine pid started_at ended_at depth'),
  },
  { name: 'mail_wake', order: ['root'], columns: words('root policy') },
]

function words(text: string): string[] {
  return text.split(/\s+/)
}

/** The number of new rows, by table. */
export type Copied = Record<string, number>

export async function tablesToPostgres(
  from: Database,
  postgres: Postgres,
  onProgress: (copied: Copied) => void,
): Promise<Copied> {
  const copied: Copied = {}
  for (const table of tables) {
    for await (const batch of batchesHere(from.queries, table)) {
      const added = await postgres.transaction((statements) => insertThere(statements, table, batch))
      copied[table.name] = (copied[table.name] ?? 0) + added
      onProgress(copied)
    }
  }
  for await (const batch of inBatches(recordsHere(from.queries), batchRows)) {
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
    const sql = `SELECT kind, id, seq, body FROM record WHERE seq > $1 ORDER BY seq LIMIT ${batchRows}`
    const rows = await postgres.read<StoredRecord>(sql, [last])
    if (rows.length === 0) return copied
    await to.write((q) => rows.forEach((row) => applyRecord(q, row)))
    copied['record'] = (copied['record'] ?? 0) + rows.length
    onProgress(copied)
    last = rows.at(-1)!.seq
  }
}

function batchesHere(q: Queries, table: Table): AsyncGenerator<Row[]> {
  const names = table.columns.map((name) => `${table.renamed?.[name] ?? name} AS "${name}"`)
  const rows = q.each(`SELECT ${names.join(', ')} FROM ${table.name} ORDER BY ${table.order.join(', ')}`)
  return inBatches(rows, batchRows)
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

/** Coding sessions, approvals, spend and decisions as the records that they are in PostgreSQL. */
function* recordsHere(q: Queries): Generator<NewRecord> {
  const each = function* <K extends TableKind>(
    kind: K,
    about: (body: RecordBodies[K], row: Row) => [id: string, at: number],
    which?: string,
  ): Generator<NewRecord> {
    for (const { row, body } of eachRecord(q, kind, which)) {
      const [id, at] = about(body, row)
      // A row with the whole record keeps its text.
      yield { kind, id, at, body: (row['record'] as string | undefined) ?? JSON.stringify(body) }
    }
  }
  yield* each('coding', ({ id, createdAt }) => [id, createdAt])
  yield* each('output', ({ at }, row) => [
    `${String(row['session_id'])}|${String(row['seq']).padStart(12, '0')}`,
    at,
  ])
  const ends = `SELECT 'output-end' AS kind, session_id AS id, max(at) AS at, cast(max(seq) AS TEXT) AS body
    FROM coding_output GROUP BY session_id`
  yield* q.each<NewRecord>(ends)
  yield* each('watch', (watch) => [watchId(watch), 0])
  yield* each('request', ({ id, askedAt }) => [id, askedAt], 'WHERE answer IS NOT NULL')
  yield* each('approval', ({ id, askedAt }) => [id, askedAt])
  yield* each('grant', ({ id, grantedAt }) => [id, grantedAt])
  yield* each('spend', ({ id, at }) => [id, at])
  yield* each('decision', ({ id, at }) => [id, at])
  yield* each('usage', ({ id, resetsAt }) => [id, resetsAt])
  yield* each('schedule', ({ id, createdAt }) => [id, createdAt])
  yield* each('run', ({ id, dueAt }) => [id, dueAt])
}
