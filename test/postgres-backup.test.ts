// A backup with PostgreSQL has what the machines share; it goes back into an empty database and changes nothing.
import { mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { newEntry } from '../src/sessions/session-parts.ts'
import { backUpState, isShared, restoreState, sharedFolder, verifiedFiles } from '../src/store/backup.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { dumpTables, restoreTables } from '../src/store/postgres/dump.ts'
import { Members } from '../src/store/postgres/members.ts'
import { PostgresSessions } from '../src/store/postgres/sessions.ts'
import { postgresWork } from '../src/store/postgres/work.ts'
import { startPostgres } from './support/postgres.ts'
import { aDelivery, anInput } from './support/work-store-contract.ts'

const server = await startPostgres()
const folder = mkdtempSync(join(tmpdir(), 'rockpool-backup-'))
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('what the machines share is in the backup, and is the same after it was put into an empty database', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const open = (schema: string): Postgres =>
    new Postgres({ url, schema, clock: systemClock, log: silentLog, maxConnections: 4 })
  const [first, second] = [open('first'), open('second')]
  await fill(first)
  const state = join(folder, 'state')
  const root = mkdtempSync(`${state}-`)
  writeFileSync(join(root, 'rockpool.json'), '{}')

  const backup = await backUpState(root, folder, systemClock, (to) => dumpTables(first, to))
  const files = await verifiedFiles(backup.folder)
  expect(files.filter((path) => !isShared(path))).toEqual(['rockpool.json'])
  const restored = await restoreState(backup.folder, join(folder, 'elsewhere'), systemClock)
  expect(restored).toMatchObject({ files: 1, next: expect.stringContaining('rockpool db restore') })

  const dumped = join(backup.folder, sharedFolder)
  const names = new Set(files.filter(isShared).map((path) => basename(path)))
  const rows = await restoreTables(second, dumped, names)
  expect(rows).toMatchObject({ session: 40, inbox: 2, outbox: 1, media_piece: 1, record: 1 })
  const again = join(folder, 'again')
  await dumpTables(second, again)
  expect(contentsOf(again)).toEqual(contentsOf(dumped))
  // It continues where it was: no number is used twice.
  await new PostgresSessions('main', second).update('agent:main:new', () => newEntry(1))
  await expect(restoreTables(second, dumped, names)).rejects.toMatchObject({ code: 'conflict' })

  // What the backup does not list was not verified, and is not part of it.
  const third = open('third')
  names.delete('record.jsonl')
  expect(await restoreTables(third, dumped, names)).toMatchObject({ session: 40, record: 0 })
  for (const postgres of [first, second, third]) await postgres.close()
})

async function fill(postgres: Postgres): Promise<void> {
  const members = new Members(postgres, {
    machine: 'a',
    labels: [],
    serves: true,
    clock: systemClock,
    log: silentLog,
  })
  await members.join()
  const work = postgresWork(postgres, systemClock, members)
  const sessions = new PostgresSessions('main', postgres)
  for (let n = 0; n < 40; n++)
    await sessions.update(`agent:main:direct:${n}`, () => newEntry(n, { label: `line\u2028two 🦞 ${n}` }))
  for (const key of ['one', 'two']) await work.inbox.accept(anInput(key))
  await work.outbox.leave([aDelivery('three')])
  await postgres.write(`UPDATE outbox SET owner = $1`, [postgres.member])
  await postgres.write(`INSERT INTO media_blob VALUES ('h', 3)`)
  await postgres.write(`INSERT INTO media_piece VALUES ('h', 0, '\\x00ff5c')`)
  await postgres.write(`SELECT put_record('spend', 'x', NULL, 1, '{"usd":0.1}')`)
  await members.close()
}

function contentsOf(dump: string): Record<string, string[]> {
  const names = readdirSync(dump).sort()
  return Object.fromEntries(
    names.map((name) => [name, readFileSync(join(dump, name), 'utf8').split('\n').sort()]),
  )
}
