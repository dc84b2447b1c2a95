// One turn is stopped, and nothing of others in the same session: at a time limit, by its run id, and when a schedule replaces its run.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import { systemClock } from '../src/domain/clock.ts'
import { perform } from '../src/operations/all.ts'
import type { App } from '../src/operations/app.ts'
import type { Caller } from '../src/operations/operation.ts'
import { readEnvironment } from '../src/store/config-file.ts'

const operator: Caller = { via: 'cli', scopes: ['admin'] }
const sessionKey = 'agent:main:main'
let home: string
let app: App
let now = Date.parse('2026-11-17T08:30:00Z')

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'rockpool-stop-one-'))
  mkdirSync(join(home, '.rockpool'))
  writeFileSync(
    join(home, '.rockpool', 'rockpool.json'),
    JSON.stringify({ timeZone: 'UTC', claude: { credential: 'none' } }),
  )
  const variables = { HOME: home, CLAUDE_CONFIG_DIR: join(home, 'claude'), PATH: process.env['PATH'] }
  const offlineScripts = { 'A long task': '[[offline: wait 60000]]' }
  const clock = { ...systemClock, now: () => now }
  app = await openApp(readEnvironment(variables), { version: 'test', clock, offlineScripts })
})
afterEach(async () => {
  await call('turns.stop', { sessionKey })
  await app.close()
  rmSync(home, { recursive: true })
})

const call = (name: string, input: object): Promise<unknown> => perform(app, name, { ...input }, operator)
const send = async (message: string): Promise<string> =>
  ((await call('turns.send', { message, sessionKey })) as { runId: string }).runId
const stateOf = (key: string): Promise<string | undefined> => app.storage.work.inbox.state(key)

/** Somebody's turn runs, and a message of the same person waits behind it. */
async function busySession(): Promise<{ states: () => Promise<unknown[]>; waiting: string }> {
  const running = await send('A long task')
  await expect.poll(() => stateOf(`ask:${running}`)).toBe('running')
  const waiting = await send('another message')
  return { states: () => Promise.all([running, waiting].map((id) => stateOf(`ask:${id}`))), waiting }
}

test('a question whose time is over is withdrawn; the running turn and the other messages stay', async () => {
  const { states } = await busySession()
  const late = call('turns.run', { message: 'a late question', sessionKey, timeout: 0.1 })
  await expect(late).rejects.toMatchObject({ code: 'timed-out' })
  expect(await states()).toEqual(['running', 'waiting'])
  const waiting = await app.storage.work.inbox.waiting(sessionKey)
  expect(waiting.map(({ message }) => message.text)).toEqual(['another message'])
})

test('a turn is stopped by its run id, alone', async () => {
  const { states, waiting } = await busySession()
  const stop = { sessionKey, runId: waiting }
  expect(await call('turns.stop', stop)).toEqual({ ok: true, aborted: false, forgotten: 1 })
  expect(await states()).toEqual(['running', 'stopped'])
  expect(await call('turns.stop', stop)).toEqual({ ok: true, aborted: false, forgotten: 0 })
})

test('a question that is stopped before its turn is answered with an error at once', async () => {
  await busySession()
  const question = call('turns.run', { message: 'a question', sessionKey, timeout: 600 })
  await expect.poll(() => app.storage.work.inbox.waiting(sessionKey)).toHaveLength(2)
  expect(await call('turns.stop', { sessionKey })).toEqual({ ok: true, aborted: true, forgotten: 2 })
  await expect(question).rejects.toMatchObject({
    code: 'refused',
    message: 'The message was stopped before its turn.',
  })
})

test('a schedule that replaces its run stops that run alone', async () => {
  const { states } = await busySession()
  await call('schedules.add', {
    when: '0 * * * *',
    text: 'Look around',
    do: 'turn',
    overlap: 'replace',
    name: 'hourly',
  })
  const runStates: unknown[] = []
  for (const due of [9, 10]) {
    now = Date.parse(`2026-11-17T${String(due).padStart(2, '0')}:00:00Z`)
    await app.schedules().look()
    const { runs } = (await call('schedules.log', { schedule: 'hourly' })) as {
      runs: Array<{ id: string; state: string }>
    }
    runStates.push(await Promise.all(runs.map(({ id }) => stateOf(`ask:schedule:${id}`))))
  }
  expect(runStates).toEqual([['waiting'], ['waiting', 'stopped']])
  expect(await states()).toEqual(['running', 'waiting'])
})
