// `rockpool backup` of a machine that shares a database, and all of it back into another one, as a person types it.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { makeHome } from '../support/program.ts'
import type { Home } from '../support/program.ts'
import { startPostgres } from '../support/postgres.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

test('a backup that is typed has what the machines share; typed back, the chats are there in another database', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const [first, second] = [openHome('first'), openHome('second')]
  const extra = { ROCKPOOL_DATABASE_URL: url }
  const message = 'the plum is ripe'
  expect((await first.run(['agent', '-m', message, '--json'], extra)).code).toBe(0)
  const backup = await first.run(['backup', join(first.dir, 'backups'), '--json'], extra)
  const folder = String(backup.json()['folder'])
  const postgres = new Postgres({ url, clock: systemClock, log: silentLog })
  await postgres.write('CREATE DATABASE another')
  await postgres.close()

  const restored = await second.run(['restore-backup', folder, '--json'], {})
  expect(restored.json()).toMatchObject({ next: expect.stringContaining('rockpool db restore') })
  const there = { ROCKPOOL_DATABASE_URL: url.replace(/postgres$/, 'another') }
  const rows = await second.run(['db', 'restore', folder, '--json'], there)
  expect(rows.json()['rows'], rows.stderr).toMatchObject({ session: 1 })
  const found = await second.run(['sessions', '--json'], there)
  expect(found.json()['count']).toBe(1)
  const [{ key }] = found.json()['sessions'] as [{ key: string }]
  const history = await second.run(['history', key, '--json'], there)
  expect(history.stdout).toContain(message)
  expect((await second.run(['db', 'restore', folder, '--json'], there)).code).toBe(5)
  for (const home of [first, second]) home.remove()
})

function openHome(name: string): Home {
  const home = makeHome()
  const stateDir = join(home.dir, 'state')
  mkdirSync(stateDir, { mode: 0o700 })
  const config = { store: 'postgres', machine: { name }, claude: { credential: 'none' } }
  writeFileSync(join(stateDir, 'rockpool.json'), JSON.stringify(config), { mode: 0o600 })
  return home
}
