// Whatever version a database has, opening it leads to the same tables, triggers and functions.
import { readFileSync } from 'node:fs'
import { Pool } from 'pg'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { startPostgres } from './support/postgres.ts'
import { anInput } from './support/work-store-contract.ts'

const server = await startPostgres()
const pool = server && new Pool({ connectionString: server.url })
const opened: Postgres[] = []
let made = 0

afterAll(async () => {
  for (const postgres of opened) await postgres.close()
  await pool?.end()
  await server?.stop()
})

/** What an earlier Rockpool ran for each version, in order. */
const earlier = readFileSync(
  new URL('fixtures/postgres/schema-before-sql-files.sql', import.meta.url),
  'utf8',
).split(/^-- version \d+$/m)

/** A database as an earlier Rockpool left it at this version. */
async function madeEarlier(version: number): Promise<string> {
  const schema = `earlier ${made++}`
  const client = await pool!.connect()
  await client.query(`CREATE SCHEMA "${schema}"; SET search_path TO "${schema}"`)
  for (const statements of earlier.slice(1, version + 1)) await client.query(statements)
  await client.query('CREATE TABLE schema_version (version int NOT NULL)')
  await client.query('INSERT INTO schema_version VALUES ($1)', [version])
  await client.query('RESET search_path')
  client.release()
  return schema
}

async function open(schema: string): Promise<Postgres> {
  const postgres = new Postgres({ url: server!.url, schema, clock: systemClock, log: silentLog })
  opened.push(postgres)
  await postgres.read('SELECT 1')
  return postgres
}

/** Everything that the schema has, as lines, without the comments in functions. */
async function catalogueOf(schema: string): Promise<string[]> {
  const { rows } = await pool!.query<{ line: string }>(
    `WITH own AS (SELECT oid, relname, relkind FROM pg_class WHERE relnamespace = $1::regnamespace)
     SELECT concat_ws(' ', 'column', relname, attname, format_type(atttypid, atttypmod), attnotnull, attidentity,
       attstorage, pg_get_expr(adbin, adrelid)) AS line FROM own
       JOIN pg_attribute ON attrelid = own.oid AND attnum > 0 AND NOT attisdropped
       LEFT JOIN pg_attrdef ON adrelid = own.oid AND adnum = attnum WHERE relkind = 'r'
     UNION ALL SELECT concat_ws(' ', 'relation', relkind, relname) FROM own
     UNION ALL SELECT pg_get_indexdef(oid) FROM own WHERE relkind = 'i'
     UNION ALL SELECT concat_ws(' ', conrelid::regclass, conname, pg_get_constraintdef(pg_constraint.oid))
       FROM pg_constraint WHERE connamespace = $1::regnamespace
     UNION ALL SELECT pg_get_triggerdef(t.oid) FROM pg_trigger AS t JOIN own ON own.oid = tgrelid WHERE NOT tgisinternal
     UNION ALL SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = $1::regnamespace`,
    [`"${schema}"`],
  )
  return rows
    .map(({ line }) => line.replaceAll(`"${schema}"`, 'schema').replaceAll(/\/\*.*?\*\/|--[^\n]*/gs, ''))
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => !line.startsWith('column schema_version functions'))
    .sort()
}

/** A message gets a turn. The answer to the first call may be lost: the second call succeeds too. */
async function expectWork(postgres: Postgres): Promise<void> {
  const { inbox, lanes } = postgresWork(postgres, systemClock)
  const { id, lane } = (await inbox.accept(anInput(1)))!
  const turn = { id: 't1', lane, agentId: 'main', kind: 'message' as const, owner: 'me', inputs: [id] }
  expect([await lanes.begin(turn), await lanes.join('t1', [id])]).toEqual([true, true])
}

if (!server) test('PostgreSQL', (ctx) => ctx.skip('PostgreSQL is not installed'))
else {
  test('a database of the current version is opened without change, and works', async () => {
    const schema = `current ${made++}`
    await open(schema)
    const before = await catalogueOf(schema)
    const postgres = await open(schema)
    expect(await catalogueOf(schema)).toEqual(before)
    await expectWork(postgres)
  })

  test('a fresh database, and one of every earlier version, get the same schema', async () => {
    const fresh = `fresh ${made++}`
    await open(fresh)
    const wanted = await catalogueOf(fresh)
    for (let version = 1; version <= 12; version++) {
      const schema = await madeEarlier(version)
      await expectWork(await open(schema))
      expect(await catalogueOf(schema), `version ${version}`).toEqual(wanted)
    }
  }, 60_000)

  test('functions are replaced when their text differs, and left alone when it does not', async () => {
    const schema = `functions ${made++}`
    const postgres = await open(schema)
    await postgres.write(
      `CREATE OR REPLACE FUNCTION fence(me text) RETURNS boolean LANGUAGE sql AS 'SELECT false'`,
    )
    const changed = await catalogueOf(schema)
    await open(schema)
    expect(await catalogueOf(schema)).toEqual(changed)
    await postgres.write(`UPDATE schema_version SET functions = 'of another Rockpool'`)
    await open(schema)
    expect(await catalogueOf(schema)).not.toEqual(changed)
  })
}
