// Coding sessions of two Rockpools on one PostgreSQL, small: what is asked of one is done by the one that has the
// repository. With real processes and the real Claude binary: test/full/coding-machines.test.ts.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { RequestListener, sendRequest } from '../src/coding/machines/owner-requests.ts'
import type { Conversation } from '../src/domain/agent.ts'
import { systemClock } from '../src/domain/clock.ts'
import { RockpoolError } from '../src/domain/errors.ts'
import { silentLog } from '../src/domain/log.ts'
import { perform } from '../src/operations/all.ts'
import type { App } from '../src/operations/app.ts'
import type { Caller } from '../src/operations/operation.ts'
import { serveMachineRequests } from '../src/operations/coding/machine-operations.ts'
import { makeMovableClock } from './support/movable-clock.ts'
import { startPostgres } from './support/postgres.ts'
import { openSharedHome } from './support/shared-homes.ts'
import type { SharedHome } from './support/shared-homes.ts'

const server = await startPostgres()
const folder = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-between-')))
afterAll(async () => {
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

test('a launch goes to the machine that has the repository, which answers; a session is moved and continues', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const webapp = [repository('a', 'webapp'), repository('b', 'shop')]
  const model = repository('b', 'model', 'https://example.org/model.git')
  const homes = await Promise.all([openMachine('a', url), openMachine('b', url)])
  const [a, b] = homes.map(({ app }) => app) as [App, App]
  const ask = (app: App, name: string, input: Record<string, unknown>): Promise<Record<string, unknown>> =>
    homes[app === a ? 0 : 1].ask(name, input)
  const whenQuiet = async (app: App, id: unknown): Promise<void> => {
    await expect.poll(() => app.storage.coding.get(String(id))?.lifecycle).toBe('awaiting-input')
  }
  try {
    for (const app of [a, b]) await app.coding().machines!.announce()
    const there = await ask(a, 'coding.launch', { prompt: 'train', workdir: 'https://example.org/model' })
    expect(there).toMatchObject({ machine: 'b', workdir: model })
    await whenQuiet(a, there['id'])
    await ask(a, 'coding.respond', { session: there['id'], message: 'once more' })
    await expect.poll(() => a.storage.coding.get(String(there['id']))?.turns).toBe(2)
    await ask(a, 'coding.kill', { session: there['id'] })

    const { id } = await ask(a, 'coding.launch', { prompt: 'look', workdir: webapp[0], fresh: true })
    await whenQuiet(b, id)
    writeFileSync(join(webapp[1]!, 'draft'), 'x')
    const moved = await ask(b, 'coding.move', { session: id, machine: 'gpu' })
    expect(moved).toMatchObject({ id, machine: 'b', workdir: webapp[1], lifecycle: 'awaiting-input' })
    expect(moved['warnings']).toEqual([`1 file is not committed in ${webapp[1]} on b already.`])
    // What Claude gets with the next message.
    expect(b.storage.coding.get(String(id))?.aside).toContain(`moved from a:${webapp[0]}`)
    await ask(a, 'coding.respond', { session: id, message: 'what now' })
    await expect.poll(() => a.storage.coding.get(String(id))?.turns).toBe(2)
    // Each machine reads the shared records by itself, so b may be behind a.
    await expect.poll(() => b.storage.coding.get(String(id))?.turns).toBe(2)
    expect(b.storage.coding.get(String(id))).toMatchObject({ machine: 'b' })
    expect(b.storage.coding.get(String(id))).not.toHaveProperty('aside')

    const slept = await ask(a, 'coding.launch', {
      prompt: '[[offline: wait 60000]]',
      workdir: webapp[0],
      fresh: true,
    })
    await expect.poll(() => b.storage.coding.get(String(slept['id']))?.lifecycle).toBe('active')
    // As another machine does with one that was silent for too long; this one only slept.
    await b.storage.coding.update(String(slept['id']), (stored) => {
      Object.assign(stored, { owner: undefined, lifecycle: 'suspended', status: 'killed' })
    })
    const runtime = await a.runtime()
    const live = (): Conversation | undefined => runtime.live(`coding:${String(slept['id'])}`)
    await live()!.interrupt()
    await expect.poll(live).toBeUndefined()
    expect(b.storage.coding.get(String(slept['id']))).toMatchObject({ lifecycle: 'suspended' })

    const other = await ask(a, 'coding.launch', { prompt: 'look', workdir: webapp[0], fresh: true })
    await whenQuiet(b, other['id'])
    await ask(a, 'coding.release', { session: other['id'] })
    await expect.poll(() => b.storage.coding.get(String(other['id']))?.lifecycle).toBe('suspended')
    // A message resumes it where it was.
    const answered = await ask(b, 'coding.respond', { session: other['id'], message: 'go on' })
    expect(answered).toMatchObject({ id: other['id'], machine: 'a', workdir: webapp[0] })
    await expect.poll(() => b.storage.coding.get(String(other['id']))?.turns).toBe(2)

    await expect(ask(a, 'coding.launch', { prompt: 'x', workdir: '/nowhere' })).rejects.toMatchObject({
      code: 'not-found',
      message: `No machine has the repository /nowhere: a has ${webapp[0]}; b (gpu) has ${model}, ${webapp[1]}.`,
    })
    const inVain = ask(a, 'coding.launch', { prompt: 'x', workdir: model, machine: 'a' })
    await expect(inVain).rejects.toMatchObject({ code: 'refused' })
  } finally {
    for (const home of homes) await home.close()
  }
}, 60_000)

test('a request reaches another machine at once, not when that one looks the next time', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const [here, there] = await Promise.all([openSharedHome(url, 'g'), openSharedHome(url, 'h')])
  // On this clock the time to look never comes.
  const parts = { store: there.app.storage.coding, clock: makeMovableClock(), log: silentLog }
  const listener = new RequestListener(parts, { echo: async (_recipient, { word }) => word })
  try {
    listener.add('machine:h')
    const sent = sendRequest(
      { store: here.app.storage.coding, clock: systemClock, log: silentLog },
      {
        recipient: 'machine:h',
        action: 'echo',
        input: { word: 'hello' },
        withinMs: 20_000,
        isAlive: () => true,
        late: () => new RockpoolError('timed-out', 'Nobody looked.'),
      },
    )
    expect(await sent).toEqual({ value: 'hello' })
  } finally {
    listener.close()
    for (const home of [here, there]) await home.close()
  }
}, 60_000)

test('what happens on one machine is an event on the other, once, also when it is longer than a notification', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const homes = await Promise.all([openMachine('c', url), openMachine('d', url)])
  const [c, d] = homes.map(({ app }) => app) as [App, App]
  try {
    for (const { storage } of [c, d]) await expect.poll(() => storage.cluster!.members.isAlone).toBe(false)
    const heard: Array<Array<[app: string, seq: number, length: number]>> = [[], []]
    for (const [n, app] of [c, d].entries())
      app.events.on((event) => {
        if (event.type === 'coding-output') heard[n]!.push([event.id, event.seq, event.text.length])
      })
    c.events.emit({ type: 'coding-output', id: 'x', seq: 1, text: 'short' })
    c.events.emit({ type: 'coding-output', id: 'x', seq: 2, text: 'é'.repeat(20_000) })
    await expect.poll(() => heard[1]).toHaveLength(2)
    d.events.emit({ type: 'coding-output', id: 'y', seq: 1, text: 'back' })
    await expect.poll(() => heard[0]).toHaveLength(3)
    const sent = [
      ['x', 1, 5],
      ['x', 2, 20_000],
      ['y', 1, 4],
    ]
    expect(heard).toEqual([sent, sent])
  } finally {
    for (const home of homes) await home.close()
  }
}, 60_000)

test('an agent takes no session to a directory of another machine that is closed to it', async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  const origin = 'https://example.org/closed.git'
  // The agent chooses the address in a repository of its own.
  const mine = repository('e', 'mine', origin)
  const closed = repository('f', 'closed', origin)
  const homes = await Promise.all([openMachine('e', url, { mine }), openMachine('f', url)])
  const [e, f] = homes.map(({ app }) => app) as [App, App]
  const bound: Caller = { via: 'rpc', name: 'token', scopes: ['write'], agentId: 'main' }
  const ask = (app: App, name: string, input: Record<string, unknown>): Promise<unknown> =>
    perform(app, name, input, bound)
  try {
    for (const app of [e, f]) await app.coding().machines!.announce()
    const launched = await ask(e, 'coding.launch', { prompt: 'look', workdir: mine, fresh: true })
    const session = String((launched as Record<string, unknown>)['id'])
    const stored = (app: App) => app.storage.coding.get(session)
    await expect.poll(() => stored(f)?.lifecycle).toBe('awaiting-input')
    // Without the name of the directory.
    const refused = { code: 'refused', message: expect.stringMatching(/^No available machine/) as string }
    await expect(ask(e, 'coding.move', { session, machine: 'f' })).rejects.toMatchObject(refused)
    await expect(ask(e, 'coding.resume', { session, fork: true, machine: 'f' })).rejects.toMatchObject(
      refused,
    )
    const launch = { prompt: 'look', workdir: mine, machine: 'f' }
    await expect(ask(e, 'coding.launch', launch)).rejects.toMatchObject(refused)
    expect(e.storage.coding.list({}).filter(({ machine }) => machine === 'f')).toEqual([])
    // A person may.
    const moved = await homes[0].ask('coding.move', { session, machine: 'f' })
    expect(moved).toMatchObject({ machine: 'f', workdir: closed })
  } finally {
    for (const home of homes) await home.close()
  }
}, 60_000)

/** Clones of one another when they have no address: their first commits are the same. */
function repository(machine: string, name: string, origin?: string): string {
  const path = join(folder, machine, name)
  mkdirSync(path, { recursive: true })
  const git = (...args: string[]): unknown =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', ...args], {
      cwd: path,
      env: {
        PATH: process.env['PATH'],
        HOME: folder,
        GIT_AUTHOR_DATE: '2026-01-01T00:00:00Z',
        GIT_COMMITTER_DATE: '2026-01-01T00:00:00Z',
      },
    })
  git('init', '--quiet', '--initial-branch', 'main')
  if (origin !== undefined) git('remote', 'add', 'origin', origin)
  git('commit', '--quiet', '--allow-empty', '-m', origin ?? 'Begin')
  return path
}

async function openMachine(
  name: string,
  url: string,
  repos: Record<string, string> = {},
): Promise<SharedHome> {
  const home = await openSharedHome(url, name, {
    isGateway: true,
    config: {
      machine: { name, labels: name === 'b' ? ['gpu'] : [] },
      coding: { workspaceRoots: [join(folder, name)], repos },
    },
  })
  const runtime = makeOfflineAgent({ clock: home.app.clock, directions: true })
  home.app.runtime = async () => runtime
  await home.app.conversations()
  await home.app.coding().pool.recover()
  serveMachineRequests(home.app)
  return home
}
