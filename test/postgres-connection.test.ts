// The connection to a shared database: every wait is bounded, and its state can be seen. A failover: test/full/failover.test.ts.
import { mkdtempSync, rmSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import type { AddressInfo, Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import { postgresSessionStore } from '../src/store/postgres/claude-transcripts.ts'
import { Postgres } from '../src/store/postgres/connection.ts'
import { SharedRecords } from '../src/store/postgres/records.ts'
import { ApprovalStore } from '../src/store/sqlite/approval-store.ts'
import { CodingStore } from '../src/store/sqlite/coding-store.ts'
import { openStateDatabase } from '../src/store/sqlite/state-database.ts'
import { StoreUnavailable } from '../src/store/store-unavailable.ts'
import { startPostgres } from './support/postgres.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

test('a statement that takes long is counted and shown, and is ended; a lock is not waited for for ever', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const waits = { statementMs: 2_000, lockMs: 200, slowMs: 100 }
  await makeTables(url)
  const postgres = new Postgres({ url, schema: 'slow', clock: systemClock, log: silentLog, waits })
  await postgres.read('SELECT pg_sleep(0.15)')
  // On a busy machine other statements may be slow, too.
  expect(postgres.health.slow).toBeGreaterThan(0)
  expect(postgres.health).toMatchObject({
    lastSlow: { ms: expect.any(Number), statement: 'SELECT pg_sleep(0.15)' },
  })
  await expect(postgres.write('SELECT pg_sleep(9)')).rejects.toMatchObject({ code: 'busy' })
  await postgres.write(`INSERT INTO lane (key) VALUES ('held')`)
  await postgres.transaction(async ({ rows }) => {
    await rows('SELECT * FROM lane FOR UPDATE')
    const other = postgres.write(`UPDATE lane SET waiting = 1 WHERE key = 'held'`)
    await expect(other).rejects.toMatchObject({ code: 'busy' })
  })
  await postgres.close()
})

test('a server that accepts questions and never answers is given up after a while, and is used again when it answers', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const { port, hostname } = new URL(url)
  const sockets: Socket[] = []
  const line = createServer((near) => {
    const far = connect(Number(port), hostname)
    for (const socket of [near, far]) socket.on('error', () => {})
    near.pipe(far).pipe(near)
    sockets.push(near, far)
  })
  await new Promise<void>((resolve) => line.listen(0, '127.0.0.1', resolve))
  const { port: ours } = line.address() as AddressInfo
  const waits = { connectMs: 5_000, statementMs: 1_000, silenceMs: 100 }
  await makeTables(url)
  const there = url.replace(port, String(ours))
  const postgres = new Postgres({ url: there, schema: 'slow', clock: systemClock, log: silentLog, waits })
  await postgres.read('SELECT 1')
  for (const socket of sockets) socket.unpipe().pause()
  await expect(postgres.write('SELECT 2')).rejects.toBeInstanceOf(StoreUnavailable)
  expect(postgres.health).toMatchObject({ state: 'lost', lastError: 'Query read timeout' })
  expect(await postgres.read('SELECT 3 AS n')).toEqual([{ n: 3 }])
  expect(postgres.health.state).toBe('connected')
  for (const socket of sockets) socket.destroy()
  await postgres.close()
  line.close()
})

test('of several servers the one that answers is used, by us and by the SessionStore for others', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  await makeTables(url)
  const several = url.replace('@', '@127.0.0.1:1,')
  const postgres = new Postgres({ url: several, schema: 'slow', clock: systemClock, log: silentLog })
  expect(await postgres.read('SELECT 1 AS n')).toEqual([{ n: 1 }])
  expect(`postgres://rockpool@${postgres.health.server}`).toBe(url)
  const store = postgresSessionStore({ url: several, schema: 'slow' })
  const key = { projectKey: 'p', sessionId: 's' }
  await store.append(key, [{ type: 'user', uuid: 'one' }])
  expect(await store.load(key)).toMatchObject([{ uuid: 'one' }])
  await store.close()
  await postgres.close()
  const nobody = new Postgres({
    url: 'postgres://x@127.0.0.1:1,127.0.0.1:2/x',
    clock: systemClock,
    log: silentLog,
  })
  await expect(nobody.write('SELECT 1')).rejects.toMatchObject({
    code: 'unavailable',
    message: 'PostgreSQL cannot be reached: none of the 2 servers accepts writes.',
  })
  await nobody.close()
})

/** A machine for each difference of its clock, with the shared records. */
async function machinesWithClocks(url: string, skewsMs: number[]) {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-clocks-'))
  const machines = skewsMs.map((skew) => {
    const clock = { ...systemClock, now: () => systemClock.now() + skew }
    const postgres = new Postgres({ url, schema: 'slow', clock, log: silentLog, maxConnections: 2 })
    const copy = openStateDatabase(join(folder, `${skew}.sqlite`))
    const records = new SharedRecords({ postgres, copy, clock, log: silentLog })
    const [coding, approvals] = [new CodingStore(copy, { records }), new ApprovalStore(copy, records)]
    return { clock, postgres, copy, records, coding, approvals }
  })
  for (const { records } of machines) await records.catchUp()
  const close = async (): Promise<void> => {
    for (const { records, copy, postgres } of machines) {
      await records.close()
      await copy.close()
      await postgres.close()
    }
    rmSync(folder, { recursive: true, force: true })
  }
  return { machines, close }
}

test('whether the owner of a session lives is seen alike by machines whose clocks differ', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const { machines, close } = await machinesWithClocks(url, [0, 600_000, -600_000])
  for (const [n, { coding, clock }] of machines.entries()) await coding.markOwner(`owner ${n}`, clock.now())
  for (const { records, coding, clock } of machines) {
    await records.catchUp()
    for (const n of machines.keys()) {
      const silentMs = clock.now() - coding.ownerSeenAt(`owner ${n}`)!
      expect(Math.abs(silentMs)).toBeLessThan(30_000)
    }
  }
  await close()
})

test('a rule with an end ends at the same moment on machines whose clocks differ', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const { machines, close } = await machinesWithClocks(url, [600_000, 0, -600_000])
  const [fast] = machines
  const rule = { id: 'g1', tool: 'Bash', pattern: '{}', grantedAt: fast!.clock.now(), grantedBy: 'cli' }
  await fast!.approvals.grant({ ...rule, until: fast!.clock.now() + 60_000 })
  for (const { records, approvals, clock } of machines) {
    await records.catchUp()
    const [found] = approvals.grants()
    expect(Math.abs(found!.until! - clock.now() - 60_000)).toBeLessThan(30_000)
  }
  await close()
})

/** With the usual waits: it takes longer than what is tested here. */
async function makeTables(url: string): Promise<void> {
  const postgres = new Postgres({ url, schema: 'slow', clock: systemClock, log: silentLog })
  await postgres.read('SELECT 1')
  await postgres.close()
}
