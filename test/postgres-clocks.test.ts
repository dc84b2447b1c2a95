// Machines that share a PostgreSQL, and one whose clock is ten minutes fast: schedules are due by the database's clock.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { openChannelHouse } from './support/channel-house.ts'
import type { ChannelHouse } from './support/channel-house.ts'
import { startPostgres } from './support/postgres.ts'

let server: Awaited<ReturnType<typeof startPostgres>>
let right: ChannelHouse
let fast: ChannelHouse
beforeAll(async () => {
  server = await startPostgres()
  if (!server) return
  const variables = { ROCKPOOL_DATABASE_URL: server.url }
  const open = (name: string, aheadMs: number): Promise<ChannelHouse> =>
    openChannelHouse({
      clock: { ...systemClock, now: () => systemClock.now() + aheadMs },
      config: { store: 'postgres', machine: { name } },
      offline: true,
      variables,
    })
  right = await open('right', 0)
  fast = await open('fast', 600_000)
}, 120_000)
afterAll(async () => {
  await fast?.close()
  await right?.close()
  await server?.stop()
})

const add = (house: ChannelHouse, name: string) =>
  house.ask('schedules.add', {
    when: 'in 5 minutes',
    text: 'Stand up.',
    do: 'message',
    to: 'web|dashboard',
    name,
  })
const states = async (house: ChannelHouse, schedule: string): Promise<unknown[]> => {
  await house.app.storage.cluster!.refresh()
  await house.app.schedules().look()
  const { runs } = (await house.ask('schedules.log', { schedule })) as { runs: Array<{ state: string }> }
  return runs.map(({ state }) => state)
}

test('a machine with a fast clock runs nothing before its time', async (ctx) => {
  if (!server) ctx.skip('PostgreSQL is not installed')
  await add(right, 'early')
  expect(await states(fast, 'early')).toEqual([])
})

test('a machine with a fast clock adds schedules for the right time, and runs them at once when asked', async (ctx) => {
  if (!server) ctx.skip('PostgreSQL is not installed')
  const { nextDue } = await add(fast, 'asked')
  expect(Math.abs(Number(nextDue) - Date.now() - 300_000)).toBeLessThan(60_000)
  await fast.ask('schedules.run', { schedule: 'asked' })
  expect(await states(right, 'asked')).toEqual(['ended'])
})

test('a slow answer of the database is not taken for a clock that differs', async (ctx) => {
  if (!server) ctx.skip('PostgreSQL is not installed')
  let aheadMs = 0
  const clock = {
    ...systemClock,
    now: () => systemClock.now() + aheadMs,
    monotonic: () => systemClock.monotonic() + aheadMs,
  }
  const postgres = new Postgres({ url: server!.url, schema: 'clocks', clock, log: silentLog })
  try {
    const compared = postgres.compareClocks()
    aheadMs = 6_000
    await compared
    expect(postgres.aheadMs).toBe(0)
    aheadMs = 600_000
    await postgres.compareClocks()
    expect(postgres.aheadMs).toBe(-600_000)
  } finally {
    await postgres.close()
  }
})
