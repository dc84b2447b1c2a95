// Records of the state database that are JSON and yet damaged: one wrong byte in the name of a field, and the field is missing. A record
// is repaired from the columns beside it, which repeat its most important fields.
import { isDeepStrictEqual } from 'node:util'
import type { z } from 'zod'
import { approvalSchema, codingSessionSchema } from '../../domain/coding-session.ts'
import { parseRecord } from '../../domain/json.ts'
import { runSchema, scheduleSchema } from '../../domain/schedule.ts'
import type { Database } from './database.ts'
import type { Row } from './queries.ts'

interface RecordShape {
  schema: z.ZodObject
  /** The fields that columns repeat, or that can be derived from one. */
  columns: Record<string, string>
  /** The part of the record that limits rights. */
  limits: (record: Record<string, unknown>) => unknown
}

const shapes: Readonly<Record<string, RecordShape>> = {
  coding_session: {
    schema: codingSessionSchema.partial({ inbox: true, given: true, allowances: true }),
    columns: {
      id: 'id',
      name: 'name',
      status: 'status',
      lifecycle: 'lifecycle',
      createdAt: 'created_at',
      lastActivityAt: 'created_at',
      costUsd: 'cost_usd',
    },
    limits: ({ request }) => request,
  },
  approval: {
    schema: approvalSchema,
    columns: {},
    limits: (approval) => approval,
  },
  schedule: { schema: scheduleSchema, columns: {}, limits: (schedule) => schedule },
  schedule_run: {
    schema: runSchema,
    columns: { id: 'id', scheduleId: 'schedule_id', dueAt: 'due_at', state: 'state' },
    limits: () => undefined,
  },
}

/** Says how many records of each table are damaged. */
export function damagedRecords(database: Database): string[] {
  return Object.entries(shapes).flatMap(([table, { schema }]) => {
    const rows = database.read((q) => q.all<{ record: string }>(`SELECT record FROM ${table}`))
    const damaged = rows.filter(({ record }) => !schema.safeParse(parseRecord(record)).success).length
    return damaged === 0 ? [] : [`${damaged} damaged ${damaged === 1 ? 'record' : 'records'} in ${table}`]
  })
}

/** The row with a record that is right; undefined if it cannot be repaired. Rows without a record are right. */
export function withWholeRecord(table: string, row: Row): Row | undefined {
  const shape = shapes[table]
  if (!shape) return row
  const record = parseRecord(String(row['record']))
  if (!record) return undefined
  const { error } = shape.schema.safeParse(record)
  const wrong = new Set(error?.issues.map(({ path }) => String(path[0])))
  const fromColumns = Object.entries(shape.columns).filter(([field]) => wrong.has(field))
  const values = fromColumns.map(([field, column]) => [field, plainNumber(row[column])] as const)
  const repaired = { ...record, ...Object.fromEntries(values) }
  if (!hasItsLimits(shape, repaired)) return undefined
  return error ? { ...row, record: JSON.stringify(repaired) } : row
}

/** A limit whose name was damaged is an unknown field, and without the limit the record would have more rights. */
function hasItsLimits({ schema, limits }: RecordShape, record: Record<string, unknown>): boolean {
  const { data } = schema.safeParse(record)
  return data !== undefined && isDeepStrictEqual(limits(data), limits(record))
}

/** Integers of a damaged file are read as bigint. */
function plainNumber(value: unknown): unknown {
  return typeof value === 'bigint' ? Number(value) : value
}
