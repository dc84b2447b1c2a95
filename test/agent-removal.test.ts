// An agent that has a token, schedules, coding sessions, questions, rules and a running turn is removed from a running gateway: nothing
// of it works on, and nothing brings it back.
import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { allOperations } from '../src/operations/all.ts'
import { loadConfig } from '../src/store/config-file.ts'
import { bearer, connect, openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

let house: House
afterEach(() => house.close())

async function open(config: Record<string, unknown> = {}): Promise<void> {
  house = await openHouse({ config: { claude: { credential: 'none' }, ...config } })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
}

async function call<T>(method: string, params: object = {}, token = house.token): Promise<T> {
  const { result, error } = await rpc(house, method, params, token)
  expect(error).toBeUndefined()
  return result as T
}

async function codeOf(method: string, params: object, token: string): Promise<string | undefined> {
  return (await rpc(house, method, params, token)).error?.data?.code
}

const scopes = ['read', 'write', 'approve']

async function tokenFor(agentId: string, name = 'w'): Promise<string> {
  return (await call<{ token: string }>('tokens.add', { name, scopes, agentId })).token
}

interface Removed {
  setAside: string
  stopped: Record<'tokens' | 'schedules' | 'sessions' | 'approvals' | 'turns' | 'rules', string[]>
}

const remove = (): Promise<Removed> => call<Removed>('agents.remove', { id: 'work' })
const agents = async (): Promise<string[]> =>
  (await call<{ agents: Array<{ id: string }> }>('agents.list')).agents.map(({ id }) => id)

test('a removed agent has no token, no running session, no open question and no schedule', async () => {
  const workdir = mkdtempSync(join(tmpdir(), 'rockpool-shop-'))
  await open({ coding: { repos: { shop: workdir } } })
  await call('agents.add', { id: 'work' })
  const token = await tokenFor('work')
  const proof = join(house.dir, 'ran')
  const prompt = `[[offline: ask Bash {"command":"touch ${proof}"}]]`
  const { id: codingId, name } = await call<{ id: string; name: string }>(
    'coding.launch',
    { prompt, workdir, fresh: true },
    token,
  )
  const asked = async (): Promise<string | undefined> =>
    (await call<{ approvals: Array<{ id: string }> }>('approvals.list', {}, token)).approvals[0]?.id
  await vi.waitFor(async () => expect(await asked()).toBeDefined())
  const approval = (await asked())!
  for (const each of ['first', 'second'])
    await call('schedules.add', { when: 'every hour', text: 'look', name: each, agent: 'work' })
  await call('rules.add', { command: 'npm test', folder: workdir, session: codingId })
  // Not in the main session, where the message could join a turn that reports about the coding session.
  const lane = 'agent:work:direct:ada'
  await call('turns.send', { message: '[[offline: wait 60000]]', sessionKey: lane }, token)
  await vi.waitFor(async () =>
    expect((await house.app.conversations()).converse.queue.busyLanes()).toContain(lane),
  )

  const { stopped, setAside } = await remove()
  expect(stopped).toMatchObject({
    tokens: ['w'],
    schedules: ['first', 'second'],
    sessions: [name],
    approvals: [approval],
    turns: expect.arrayContaining([lane]),
  })
  expect(stopped.rules).toHaveLength(1)
  expect(existsSync(setAside)).toBe(true)

  expect(await codeOf('turns.run', { message: 'still there?' }, token)).toBe('unauthorized')
  expect(await codeOf('approvals.answer', { id: approval }, token)).toBe('unauthorized')
  expect(await codeOf('approvals.answer', { id: approval }, house.token)).toBe('conflict')
  expect(house.app.storage.coding.get(codingId)).toMatchObject({ lifecycle: 'ended' })
  expect(house.app.storage.schedules.list('work').map(({ paused }) => paused)).toEqual([
    'The owner removed the agent work.',
    'The owner removed the agent work.',
  ])
  expect(await codeOf('schedules.resume', { schedule: 'first' }, house.token)).toBe('not-found')
  expect(await codeOf('coding.resume', { session: codingId }, house.token)).toBe('not-found')
  const { id: run } = await call<{ id: string }>('schedules.run', { schedule: 'first' })
  await vi.waitFor(() =>
    expect(house.app.storage.schedules.run(run)).toMatchObject({
      state: 'failed',
      note: 'There is no agent "work".',
    }),
  )
  expect(await agents()).toEqual(['main'])
  expect(existsSync(house.app.paths.agent('work'))).toBe(false)
  expect(existsSync(proof)).toBe(false)

  await call('agents.add', { id: 'work' })
  expect(await codeOf('health', {}, token)).toBe('unauthorized')
  await call('schedules.resume', { schedule: 'first' })
  rmSync(workdir, { recursive: true })
})

test('for a token whose agent does not exist nothing does; it works once the agent is added', async () => {
  await open({ agents: { list: [{ id: 'main' }, { id: 'configured' }] } })
  const token = await tokenFor('later')
  for (const { name } of await allOperations()) expect(await codeOf(name, {}, token)).toBe('not-found')
  const client = await connect(house, bearer(token))
  expect((await client.call('sessions.subscribe')).error?.data?.code).toBe('not-found')
  client.socket.close()
  expect(await agents()).toEqual(['configured', 'main'])

  await call('agents.add', { id: 'later' })
  expect(await call('turns.run', { message: 'hello' }, token)).toMatchObject({
    sessionKey: 'agent:later:main',
  })
  const noFolderYet = await tokenFor('configured', 'c')
  expect(await call('turns.run', { message: 'hello' }, noFolderYet)).toMatchObject({
    sessionKey: 'agent:configured:main',
  })
})

test('a message that waited for a removed agent does not bring the agent back', async () => {
  await open()
  await call('agents.add', { id: 'work' })
  await remove()
  const conversations = await house.app.conversations()
  const message = { agentId: 'work', sessionKey: 'agent:work:main', text: 'hello', from: 'x' }
  await conversations.hand({ ...message, askedBy: 'owner', key: 'late', mayCommand: false, deliver: false })
  await vi.waitFor(async () =>
    expect(await house.app.storage.work.inbox.state('ask:late')).not.toMatch(/waiting|running/),
  )
  expect(existsSync(house.app.paths.agent('work'))).toBe(false)
  expect(await codeOf('coding.launch', { prompt: 'x', agent: 'work' }, house.token)).toBe('not-found')
  const schedule = { when: 'every hour', text: 'look', agent: 'work' }
  expect(await codeOf('schedules.add', schedule, house.token)).toBe('not-found')
})

test('chats that are bound to the agent refuse its removal, and nothing is stopped', async () => {
  const bindings = [
    { agentId: 'main', match: { channel: 'discord' } },
    { agentId: 'work', match: { channel: 'telegram', peer: { kind: 'direct', id: '9' } } },
  ]
  await open({ agents: { list: [{ id: 'main' }, { id: 'work' }] }, bindings })
  const token = await tokenFor('work')
  const { error } = await rpc(house, 'agents.remove', { id: 'work' })
  expect(error).toMatchObject({
    message: 'Chats are bound to the agent work: bindings.1 (telegram 9).',
    data: { code: 'refused' },
  })
  await call('health', {}, token)
  await loadConfig(house.app.environment)
})
