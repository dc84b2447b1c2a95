// The tables that both databases have, in SQLite. test/postgres-stores.test.ts runs the same contract with PostgreSQL.
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { mailContract } from '../../../test/support/mail-contract.ts'
import { tablesContract } from '../../../test/support/tables-contract.ts'
import { systemClock } from '../../domain/clock.ts'
import type { Database } from '../sqlite/database.ts'
import { SqlitePeople } from '../sqlite/people.ts'
import { sqliteSql } from '../sqlite/sql.ts'
import { openStateDatabase } from '../sqlite/state-database.ts'
import { routeReply } from './reply-map.ts'

let folder: string
let database: Database
let now = 0
const clock = { ...systemClock, now: () => now }

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'rockpool-tables-'))
  database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  now = 1_000_000
})
afterEach(async () => {
  await database.close()
  rmSync(folder, { recursive: true })
})

tablesContract(async () => ({
  sql: sqliteSql(database),
  people: new SqlitePeople(database, clock),
  clock,
  at: (time) => (now = time),
}))

mailContract(async () => sqliteSql(database))

const person = (senderId: string) => ({ channel: 'telegram', accountId: 'default', senderId })

test('three wait on one account and no more, also when ten thousand ask at once', async () => {
  const people = new SqlitePeople(database, clock)
  const asked = Array.from({ length: 10_000 }, (_, n) => people.request(person(String(n))))
  expect((await Promise.all(asked)).filter(({ kind }) => kind === 'new')).toHaveLength(3)
})

test('approvals survive a restart, in a file for us alone', async () => {
  const asked = await new SqlitePeople(database, clock).request(person('1'))
  await new SqlitePeople(database, clock).approve((asked as { code: string }).code, { mayMakeOwner: true })
  await database.close()
  database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  const again = new SqlitePeople(database, clock)
  expect((await again.people()).map((one) => one.senderId)).toEqual(['1'])
  expect(statSync(join(folder, 'rockpool.sqlite')).mode & 0o777).toBe(0o600)
})

test('a reply continues the session, or forks it when the session has another transcript now', () => {
  const sent = { agentId: 'main', sessionKey: 'agent:main:main', sessionId: 's-1', entryId: 'e', sentAt: 5 }
  const { sessionKey, sessionId, entryId } = sent
  expect(routeReply(sent, { sessionId })).toMatchObject({ kind: 'continue', sessionKey })
  expect(routeReply(sent, { sessionId: 's-2' })).toMatchObject({ kind: 'fork', sessionId, entryId })
  expect(routeReply(sent, undefined)).toMatchObject({ kind: 'fork' })
  expect(routeReply({ ...sent, sessionId: undefined }, undefined)).toMatchObject({ kind: 'continue' })
})
