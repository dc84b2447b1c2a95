// A real failover of the database: the primary is killed, its standby is promoted, Rockpool continues.
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { failoverStorm } from '../support/machines.ts'
import { startPostgresPair } from '../support/postgres.ts'
import { nothingWrong } from '../support/telegram-storm.ts'

const pairs = [await startPostgresPair(), await startPostgresPair(), await startPostgresPair()]
afterAll(async () => {
  for (const pair of pairs) await pair?.stop()
})

const clean = {
  lost: [],
  leaks: [],
  unmarkedDuplicates: [],
  crossChat: [],
  outOfOrder: [],
  thirdCopies: [],
}

test('the server hands over to its standby as planned, with all connections open, while 300 messages come in: the same', async (ctx) => {
  const pair = pairs[2] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { machines: 2, chats: 30, each: 10, kills: 1, maxLifeMs: 3_000 }
  const report = await failoverStorm(pair, storm, 'switchOver')
  console.log(report)
  expect(report).toMatchObject({ ...clean, answered: 300, ends: { answered: 300 } })
})

test('the server is killed while 600 messages come in: the standby takes its place, 0 lost, 0 unmarked duplicates, order kept', async (ctx) => {
  const pair = pairs[0] ?? ctx.skip('PostgreSQL is not installed')
  const report = await failoverStorm(pair, { machines: 2, chats: 60, each: 10, kills: 1, maxLifeMs: 4_000 })
  console.log(report)
  expect(report).toMatchObject({ ...nothingWrong, leaks: [], answered: 600, ends: { answered: 600 } })
})

test('every write that was acknowledged before the failover is there after it, and status names the server', async (ctx) => {
  const pair = pairs[1] ?? ctx.skip('PostgreSQL is not installed')
  const postgres = new Postgres({ url: pair.url, schema: 'acks', clock: systemClock, log: silentLog })
  const [before, after] = pair.url.replace(/.*@|\/postgres/g, '').split(',')
  const acknowledged: number[] = []
  const over = new AbortController()
  await postgres.write('CREATE TABLE ack (n int PRIMARY KEY)')
  expect(postgres.health.server).toBe(`${before}/postgres`)
  const basis = { schema: 'acks', clock: systemClock, log: silentLog }
  const turned = new Postgres({ url: `postgres://rockpool@${after},${before}/postgres`, ...basis })
  await turned.write('INSERT INTO ack VALUES (-1)')
  await turned.close()
  const standby = new Postgres({ url: `postgres://rockpool@${after}/postgres`, ...basis })
  await expect(standby.write('INSERT INTO ack VALUES (-2)')).rejects.toMatchObject({ code: 'unavailable' })
  await standby.close()
  const writers = Array.from({ length: 8 }, async (_, writer) => {
    for (let n = writer; !over.signal.aborted; n += 8) {
      await postgres
        .write('INSERT INTO ack VALUES ($1)', [n])
        .then(() => acknowledged.push(n))
        // No notification says that it is there.
        .catch(() => new Promise((resolve) => setTimeout(resolve, 50)))
    }
  })
  await expect.poll(() => acknowledged.length).toBeGreaterThan(500)
  await pair.failOver()
  const count = acknowledged.length
  await expect.poll(() => acknowledged.length, { timeout: 30_000 }).toBeGreaterThan(count + 100)
  over.abort()
  await Promise.all(writers)
  const rows = await postgres.read<{ n: number }>('SELECT n FROM ack')
  const there = new Set(rows.map(({ n }) => n))
  expect(acknowledged.filter((n) => !there.has(n))).toEqual([])
  expect(postgres.health).toMatchObject({ state: 'connected', server: `${after}/postgres` })
  await postgres.close()
})
