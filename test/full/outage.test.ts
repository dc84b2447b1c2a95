// The database goes away while messages flow: connections are cut, the server is stopped and comes back.
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../../src/domain/clock.ts'
import { silentLog } from '../../src/domain/log.ts'
import { SharedChores } from '../../src/store/postgres/chores.ts'
import { Postgres } from '../../src/store/postgres/connection.ts'
import { cutOffStorm, outageStorm } from '../support/machines.ts'
import { startPostgres } from '../support/postgres.ts'
import { openSharedHome } from '../support/shared-homes.ts'
import { said } from '../support/talk.ts'
import { nothingWrong } from '../support/telegram-storm.ts'

const servers = await Promise.all(Array.from({ length: 6 }, () => startPostgres()))
afterAll(async () => {
  for (const server of servers) await server?.stop()
})

const clean = { ...nothingWrong, leaks: [], givenUpTooSoon: [] }
/** 5,000 messages; the choices of each storm come from its seed. */
const large = { chats: 50, each: 100 }

test('all connections are cut again and again, and PostgreSQL is restarted, while 5,000 messages come in: 0 lost, 0 unmarked duplicates, order kept', async (ctx) => {
  const server = servers[0] ?? ctx.skip('PostgreSQL is not installed')
  const report = await outageStorm(server, { ...large, machines: 2, kills: 20, maxLifeMs: 5_000, seed: 26 })
  console.log(report)
  expect(report).toMatchObject({ ...clean, kills: 20 })
  // A process that is declared dead just before it sends a reply has marked it as being sent. If that happens twice to one reply, its
  // chat gets a note in its place, with a button that sends it. How often that happens depends on how slow the machine is.
  expect(report.answered + report.told).toBeGreaterThanOrEqual(5_000)
  expect(report.told).toBeLessThanOrEqual(25)
  // One that was cut off twice may be given up; its sender got a message, or it would be lost.
  const { answered = 0, 'given-up': givenUp = 0, ...otherEnds } = report.ends
  expect(answered + givenUp).toBe(5_000)
  expect(otherEnds).toEqual({})
})

test('PostgreSQL is away for longer than a question of a turn waits: no chat gets a message about it', async (ctx) => {
  const server = servers[2] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { machines: 2, chats: 60, each: 4, kills: 2, maxLifeMs: 2_000, downMs: 9_000 }
  const report = await outageStorm(server, storm)
  console.log(report)
  expect(report).toMatchObject({ ...clean, kills: 2, answered: 240, ends: { answered: 240 } })
})

test('PostgreSQL is away for longer than an answer waits for it, while 5,000 messages come in: what was lost is answered before what came later', async (ctx) => {
  const server = servers[5] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { ...large, machines: 3, kills: 4, maxLifeMs: 8_000, downMs: 75_000, seed: 27 }
  const report = await outageStorm(server, storm)
  console.log(report)
  expect(report).toMatchObject({ ...clean, kills: 4, answered: 5_000 })
})

test.for(['one', 'all'] as const)(
  'the network of %s of three machines is cut for longer than the dead are waited for, while 5,000 messages come in: 0 lost, order kept',
  { timeout: 900_000 },
  async (whose, ctx) => {
    const server = servers[whose === 'one' ? 3 : 4] ?? ctx.skip('PostgreSQL is not installed')
    const storm = { ...large, machines: 3, kills: 3, maxLifeMs: 8_000, downMs: 25_000, seed: 28 }
    const report = await cutOffStorm(server.url, storm, whose)
    console.log(report)
    expect(report).toMatchObject({ ...clean, kills: 3 })
    expect(report.answered + report.told).toBeGreaterThanOrEqual(5_000)
  },
)

test('PostgreSQL is cut off and restarted while two machines start: both continue', async (ctx) => {
  const server = servers[1] ?? ctx.skip('PostgreSQL is not installed')
  const storm = { machines: 2, chats: 20, each: 3, kills: 20, maxLifeMs: 60, downMs: 300 }
  const report = await outageStorm(server, storm)
  console.log(report)
  expect(report).toMatchObject(clean)
  expect(report.answered + report.told).toBeGreaterThanOrEqual(60)
  expect(report.kills).toBe(20)
})

test('while the database is away a machine finds what it has read so far, and says so', async (ctx) => {
  const away = servers[1] ?? ctx.skip('PostgreSQL is not installed')
  const home = await openSharedHome(away.url, 'lonely')
  try {
    const place = { cwd: '/', key: 'agent:main:telegram:direct:9' }
    await home.app.storage
      .transcripts('main')
      .append({ sessionId: 'almonds' }, [said('the first almond')], place)
    const find = (): Promise<{ hits: Array<{ snippet: string }>; notes: string[] }> =>
      home.ask('sessions.search', { query: 'almond' })
    const { hits, notes } = await find()
    expect(hits).toHaveLength(1)
    const found = await away.whileAway(find)
    expect(found.hits.map(({ snippet }) => snippet)).toEqual(hits.map(({ snippet }) => snippet))
    const [late] = found.notes.filter((note) => !notes.includes(note))
    expect(late).toMatch(/^Not up to date: PostgreSQL cannot be reached/)
    expect(late).not.toContain('127.0.0.1')
    await expect.poll(async () => (await find()).notes, { timeout: 20_000 }).toEqual(notes)
  } finally {
    await home.close()
  }
})

test('a chore of three machines is done once for each stretch of time, also after the database was away', async (ctx) => {
  const server = servers[1] ?? ctx.skip('PostgreSQL is not installed')
  const done: number[] = []
  const machines = [1, 2, 3].map(() => {
    const basis = { schema: 'many', clock: systemClock, log: silentLog }
    const postgres = new Postgres({ url: server.url, ...basis, maxConnections: 2 })
    const chores = new SharedChores({ postgres, ...basis })
    chores.every('count', 2_000, async () => void done.push(Date.now()))
    return { chores, postgres }
  })
  const began = Date.now()
  await expect.poll(() => done.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(4)
  const most = (Date.now() - began) / 2_000 + 1
  expect(done.length).toBeLessThanOrEqual(most)
  await server.restart(2_000)
  const before = done.length
  await expect.poll(() => done.length, { timeout: 60_000 }).toBeGreaterThanOrEqual(before + 2)
  for (const { chores, postgres } of machines) {
    await chores.stop()
    await postgres.close()
  }
})
