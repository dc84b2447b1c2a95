// Two Rockpools on one PostgreSQL: Stop reaches the machine that takes the turn, and its answer says what was stopped there.
import { randomUUID } from 'node:crypto'
import { afterAll, afterEach, beforeEach, expect, test } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { systemClock } from '../src/domain/clock.ts'
import { perform } from '../src/operations/all.ts'
import type { App } from '../src/operations/app.ts'
import { serveMachineRequests } from '../src/operations/coding/machine-operations.ts'
import type { Caller } from '../src/operations/operation.ts'
import { startPostgres } from './support/postgres.ts'
import { openSharedHome } from './support/shared-homes.ts'
import type { SharedHome } from './support/shared-homes.ts'
import { anInput } from './support/work-store-contract.ts'

const server = await startPostgres()
afterAll(() => server?.stop())

const longTask = '[[offline: wait 600000]]'
let a: SharedHome
let b: SharedHome
/** The clock of `b` is ahead by this much. */
let skippedMs = 0
let sessionKey = ''

beforeEach(async (ctx) => {
  const { url } = server ?? ctx.skip('PostgreSQL is not installed')
  skippedMs = 0
  sessionKey = `agent:main:web:direct:${randomUUID()}`
  const clock = { ...systemClock, monotonic: () => systemClock.monotonic() + skippedMs }
  a = await openSharedHome(url, 'a', { isGateway: true })
  b = await openSharedHome(url, 'b', { isGateway: true, clock })
  for (const { app } of [a, b]) {
    const runtime = makeOfflineAgent({ clock: systemClock, directions: true })
    app.runtime = async () => runtime
    await app.conversations()
  }
})
afterEach(async () => {
  if (!server) return
  for (const { app } of [a, b]) await (await app.conversations()).stop(0)
  for (const home of [a, b]) await home.close()
})

const stateOf = (runId: string): Promise<string | undefined> => a.app.storage.work.inbox.state(`ask:${runId}`)
const stop = (home: SharedHome, runId?: string): Promise<unknown> =>
  home.ask('turns.stop', { sessionKey, runId })
const send = async (home: SharedHome, message: string): Promise<string> =>
  (await home.ask<{ runId: string }>('turns.send', { message, sessionKey })).runId

async function answersRequests({ app }: SharedHome): Promise<void> {
  await app.coding().pool.recover()
  serveMachineRequests(app)
}

/** A turn runs on `a`, and two messages wait behind it: the second one arrived on `b`. */
async function busySession(): Promise<{
  running: string
  waiting: string
  states: () => Promise<unknown[]>
}> {
  const running = await send(a, longTask)
  await expect.poll(() => stateOf(running)).toBe('running')
  const waiting = [await send(a, 'from a'), await send(b, 'from b')]
  const { queue } = (await a.app.conversations()).converse
  await expect.poll(() => queue.waiting(sessionKey)).toHaveLength(2)
  const states = (): Promise<unknown[]> => Promise.all([running, ...waiting].map(stateOf))
  return { running, waiting: waiting[0]!, states }
}

test('Stop on one machine stops the turn and the messages that another machine has', async () => {
  await answersRequests(a)
  const { states } = await busySession()
  expect(await stop(b)).toEqual({ ok: true, aborted: true, forgotten: 2 })
  await expect.poll(states).toEqual(['stopped', 'stopped', 'stopped'])
  expect(await stop(b)).toEqual({ ok: true, aborted: false, forgotten: 0 })
}, 60_000)

test('one turn or message is stopped on another machine by its run id, alone', async () => {
  await answersRequests(a)
  const { running, waiting, states } = await busySession()
  expect(await stop(b, waiting)).toEqual({ ok: true, aborted: false, forgotten: 1 })
  expect(await states()).toEqual(['running', 'stopped', 'waiting'])
  expect(await stop(b, running)).toEqual({ ok: true, aborted: true, forgotten: 0 })
  await expect.poll(states).toEqual(['stopped', 'stopped', 'answered'])
}, 60_000)

test('a question whose caller waits on another machine is stopped with the turn, and answered at once', async () => {
  await answersRequests(b)
  const running = await send(a, longTask)
  await expect.poll(() => stateOf(running)).toBe('running')
  const question = b.ask('turns.run', { message: longTask, sessionKey })
  const refused = expect(question).rejects.toMatchObject({ code: 'refused' })
  const { inbox } = a.app.storage.work
  await expect.poll(() => inbox.waiting(sessionKey)).toHaveLength(1)
  const [waiting] = await inbox.waiting(sessionKey)
  // The question may have begun by then: the lane is free as soon as the turn is stopped.
  const stopped = await stop(a)
  await refused
  expect(stopped).toMatchObject({ ok: true, aborted: true })
  await expect.poll(() => inbox.state(waiting!.key)).toBe('stopped')
}, 60_000)

test('/status and /stop in a terminal do not wait for the turn on another machine, but show and stop it', async () => {
  await answersRequests(a)
  const { states } = await busySession()
  const type = async (message: string): Promise<string> =>
    (await b.ask<{ text: string }>('turns.run', { message, sessionKey })).text
  expect(await type('/status')).toContain('State: working on a')
  expect(await type('/stop')).toBe('Stopped. 2 waiting messages are forgotten.')
  await expect.poll(states).toEqual(['stopped', 'stopped', 'stopped'])
}, 60_000)

test('/stop as a message does not wait behind a question whose caller is on another machine', async () => {
  await answersRequests(a)
  await answersRequests(b)
  const running = await send(a, longTask)
  await expect.poll(() => stateOf(running)).toBe('running')
  const question = b.ask('turns.run', { message: 'a question', sessionKey })
  const refused = expect(question).rejects.toMatchObject({ code: 'refused' })
  await expect.poll(() => a.app.storage.work.inbox.waiting(sessionKey)).toHaveLength(1)
  const typed = await send(a, '/stop')
  await refused
  await expect.poll(() => stateOf(running)).toBe('stopped')
  await expect.poll(() => stateOf(typed)).toBe('command')
}, 60_000)

test('a turn that a command takes without a gateway cannot be stopped from elsewhere, and the caller learns it', async () => {
  const { url } = server!
  const command = await openSharedHome(url, 'c')
  const runtime = makeOfflineAgent({ clock: systemClock, directions: true })
  command.app.runtime = async () => runtime
  const asked = command.ask('turns.run', { message: longTask, sessionKey })
  const ended = expect(asked).rejects.toMatchObject({ message: 'The turn was stopped before its end.' })
  await expect.poll(() => b.app.storage.work.lanes.running()).toHaveLength(1)
  await expect.poll(() => b.app.storage.sessions('main').get(sessionKey)).toBeDefined()
  await expect(stop(b)).rejects.toMatchObject({
    code: 'conflict',
    message: `A command on c works on ${sessionKey}; it was not stopped.`,
  })
  await (await command.app.conversations()).stopTurn(sessionKey)
  await ended
  await command.close()
}, 60_000)

test('a message that no machine has taken yet is stopped, too', async () => {
  await a.ask('turns.run', { message: 'hello', sessionKey })
  await (await a.app.conversations()).converse.shared!.stop()
  const { inbox } = a.app.storage.work
  await inbox.accept(anInput('nobodys', sessionKey))
  expect(await stop(b)).toEqual({ ok: true, aborted: false, forgotten: 1 })
  expect(await inbox.state(anInput('nobodys').key)).toBe('stopped')
}, 60_000)

test('a message that arrives while another machine stops its turn is kept', async () => {
  const running = await send(a, longTask)
  await expect.poll(() => stateOf(running)).toBe('running')
  // Nobody takes what arrives from now on.
  await (await a.app.conversations()).converse.shared!.stop()
  const stopped = stop(b)
  await expect.poll(() => a.app.storage.coding.asked(['machine:a'])).toHaveLength(1)
  const later = await send(b, 'later')
  await answersRequests(a)
  expect(await stopped).toEqual({ ok: true, aborted: true, forgotten: 0 })
  expect(await stateOf(later)).toBe('waiting')
  expect(await stop(b)).toEqual({ ok: true, aborted: false, forgotten: 1 })
}, 60_000)

test('a message that a machine takes at the moment of a stop is not ended under its turn', async () => {
  for (const { app } of [a, b]) await (await app.conversations()).converse.shared!.stop()
  const { inbox, share } = a.app.storage.work
  const inputs = ['taken', 'free'].map((name) => anInput(`${sessionKey}:${name}`, `${sessionKey}:${name}`))
  const taken = (await inbox.accept(inputs[0]!))!
  expect((await share!.unheld(taken.lane)).map(({ id }) => id)).toEqual([taken.id])
  const take = async (): Promise<number[]> =>
    (await b.app.storage.work.share!.take(100, { idle: [], failed: [] })).map(({ input }) => input.id)
  await expect.poll(take).toContain(taken.id)
  const free = (await inbox.accept(inputs[1]!))!
  expect(await share!.stopUnheld([taken.id, free.id])).toBe(1)
  expect(await Promise.all(inputs.map(({ key }) => inbox.state(key)))).toEqual(['waiting', 'stopped'])
}, 60_000)

test('a machine that does not answer has stopped nothing, and the caller learns it', async () => {
  const { states } = await busySession()
  const stopped = stop(b)
  const refused = expect(stopped).rejects.toMatchObject({
    code: 'timed-out',
    message: 'a works on this session and does not answer; nothing was stopped there.',
    hint: expect.stringContaining('Try again') as string,
  })
  const asked = (): unknown[] => a.app.storage.coding.asked(['machine:a'])
  await expect.poll(asked).toHaveLength(1)
  skippedMs = 3_600_000
  await refused
  // The request was withdrawn: it does not happen later.
  await expect.poll(asked).toEqual([])
  await answersRequests(a)
  expect(await states()).toEqual(['running', 'waiting', 'waiting'])
}, 60_000)

test('a session whose turn runs on another machine is neither reset nor deleted, until the turn is stopped', async () => {
  await answersRequests(a)
  const { states } = await busySession()
  const command = await openSharedHome(server!.url, 'd')
  for (const home of [b, command])
    for (const operation of ['sessions.reset', 'sessions.delete'])
      await expect(home.ask(operation, { key: sessionKey })).rejects.toMatchObject({ code: 'busy' })
  await stop(b)
  await expect.poll(states).toEqual(['stopped', 'stopped', 'stopped'])
  await b.ask('sessions.delete', { key: sessionKey })
  await command.close()
}, 60_000)

test('who may not stop a turn here may not stop it on another machine', async () => {
  await answersRequests(a)
  const { states } = await busySession()
  const bound: Caller = { via: 'rpc', name: 'token', scopes: ['write'], agentId: 'other' }
  const reader: Caller = { via: 'rpc', name: 'token', scopes: ['read'] }
  const ask = (app: App, caller: Caller): Promise<unknown> =>
    perform(app, 'turns.stop', { sessionKey }, caller)
  await expect(ask(b.app, bound)).rejects.toMatchObject({ code: 'not-found' })
  await expect(ask(b.app, reader)).rejects.toMatchObject({ code: 'forbidden' })
  expect(await states()).toEqual(['running', 'waiting', 'waiting'])
}, 60_000)
