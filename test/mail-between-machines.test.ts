// Mail of two Rockpools on one PostgreSQL: each message is received once, by the machine that hosts its session, and only that
// machine writes the receipt. With kills, at size: test/full/mail-storm.test.ts.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Mail } from '../src/domain/mail.ts'
import { perform } from '../src/operations/all.ts'
import { serveMachineRequests } from '../src/operations/coding/machine-operations.ts'
import { startPostgres } from './support/postgres.ts'
import { openSharedHome } from './support/shared-homes.ts'
import type { SharedHome } from './support/shared-homes.ts'

const server = await startPostgres()
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-mail-')))
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

let a: SharedHome
let b: SharedHome

beforeEach(async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  a = await openMachine('a', url)
  b = await openMachine('b', url)
})
afterEach(async () => {
  if (!server) return
  for (const { app } of [a, b]) await app.mail().carrier.stop()
  for (const home of [a, b]) await home.close()
})

async function openMachine(name: string, url: string): Promise<SharedHome> {
  const config = {
    machine: { name },
    coding: { workspaceRoots: [join(folder, name)] },
    mail: { maxWaiting: 1_000 },
  }
  const home = await openSharedHome(url, name, { isGateway: true, config })
  const runtime = makeOfflineAgent({ clock: systemClock, directions: true })
  home.app.runtime = async () => runtime
  await home.app.conversations()
  await home.app.coding().pool.recover()
  serveMachineRequests(home.app)
  return home
}

/** A coding session on `a` that waits for its next message. */
async function sessionOnA(): Promise<string> {
  const workdir = mkdtempSync(join(mkdirp(join(folder, 'a')), 'repository-'))
  execFileSync('git', ['init', '--quiet'], { cwd: workdir, env: { PATH: process.env['PATH'], HOME: folder } })
  const { id } = await a.ask<{ id: string }>('coding.launch', { prompt: 'begin', workdir, fresh: true })
  for (const { app } of [a, b])
    await expect.poll(() => app.storage.coding.get(id)?.lifecycle).toBe('awaiting-input')
  return id
}

function mkdirp(path: string): string {
  mkdirSync(path, { recursive: true })
  return path
}

const send = (from: SharedHome, input: Record<string, unknown>): Promise<Mail> => from.ask('mail.send', input)
const receipt = async ({ id }: Pick<Mail, 'id'>): Promise<Mail> => (await a.app.storage.mail.find(id))[0]!

/** Looks for mail once at least, with all upkeep. */
async function look({ app }: SharedHome): Promise<void> {
  app.mail().carrier.start()
  await app.mail().carrier.look()
}

test('messages from two machines to a session on one of them arrive once each, and are read', async () => {
  const to = await sessionOnA()
  for (const { app } of [a, b]) app.mail().carrier.start()
  const numbers = Array.from({ length: 12 }, (_, n) => n)
  const sent = await Promise.all(numbers.map((n) => send(n % 2 === 0 ? a : b, { to, text: `number ${n}.` })))
  await expect
    .poll(async () => (await Promise.all(sent.map(receipt))).map(({ state }) => state))
    .toEqual(numbers.map(() => 'read'))
  const prompts = a.app.storage.coding.lastOutput(to, 500).filter(({ kind }) => kind === 'prompt')
  const arrived = prompts.flatMap(({ text }) =>
    [...text.matchAll(/> number (\d+)\./g)].map(([, n]) => Number(n)),
  )
  expect(arrived.toSorted((one, other) => one - other)).toEqual(numbers)
  expect((await Promise.all(sent.map(receipt))).every(({ repeats }) => repeats === 0)).toBe(true)
}, 60_000)

test('only the machine of a coding session says that it has read a message: the copy of another one may be older', async () => {
  const to = await sessionOnA()
  const { mail } = a.app.storage
  const { id } = await send(b, { to, text: 'hello' })
  await mail.take([id], 'a|some process')
  await mail.delivered([id], `coding:${to}`, Date.now())
  await look(b)
  expect(await receipt({ id })).toMatchObject({ state: 'delivered' })
  await look(a)
  await expect.poll(() => receipt({ id })).toMatchObject({ state: 'read' })
}, 60_000)

test('a message that resumes a session wakes it on its own machine only', async () => {
  const to = await sessionOnA()
  await a.ask('coding.release', { session: to })
  await expect.poll(() => b.app.storage.coding.get(to)?.lifecycle).toBe('suspended')
  const { id } = await send(b, { to, text: 'go on', resume: true })
  await look(b)
  expect(await receipt({ id })).not.toHaveProperty('wokeAt')
  await look(a)
  await expect.poll(() => receipt({ id })).toMatchObject({ state: 'read', repeats: 0 })
  expect((await receipt({ id })).wokeAt).toBeDefined()
}, 60_000)

test('of two that ask for the mail of the owner at the same moment, one gets each message', async () => {
  for (const n of [1, 2, 3, 4, 5, 6, 7, 8]) {
    await perform(
      a.app,
      'mail.send',
      { to: 'owner', text: `report ${n}` },
      { via: 'rpc', name: 'ci', scopes: ['write'] },
    )
    const both = await Promise.all([a, b].map((home) => home.ask<{ mail: Mail[] }>('mail.inbox')))
    expect(both.flatMap(({ mail }) => mail.map(({ body }) => body))).toEqual([`report ${n}`])
  }
}, 60_000)
