// A token that may write but not approve: it approves nothing by a command in a message, and starts no session that works without
// asking.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { perform } from '../src/operations/all.ts'
import type { Caller } from '../src/operations/operation.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { http, openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const tokens = { write: newToken(), approve: newToken() }
let house: House
let workdir: string

beforeAll(async () => {
  house = await openHouse({
    config: { claude: { credential: 'none' }, agents: { defaults: { allowedTools: ['Read'] } } },
    before: (dir) => {
      const record = (name: keyof typeof tokens, scopes: string[]) => ({
        name,
        scopes,
        createdAt: 0,
        hash: hashOf(tokens[name]).toString('base64url'),
      })
      writeTokenRecords(dir, [record('write', ['read', 'write']), record('approve', ['write', 'approve'])])
    },
  })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  workdir = join(house.dir, 'project')
  mkdirSync(workdir)
})
afterAll(() => house.close())

let asked = 0
async function pendingApproval(): Promise<string> {
  const id = `ask-${asked++}`
  const about = { agentId: 'main', sessionKey: 'agent:main:main', toolName: 'Bash', kind: 'tool' as const }
  const when = { askedAt: 1, expiresAt: 9e15, state: 'pending' as const }
  const input = { input: { command: 'ls' }, inputHash: id, shown: 'ls' }
  await house.app.storage.approvals.add({ ...about, ...when, ...input, id })
  return id
}

async function isPending(id: string): Promise<boolean> {
  const { approvals } = (await rpc(house, 'approvals.list')).result as { approvals: Array<{ id: string }> }
  return approvals.some((approval) => approval.id === id)
}

describe('a command in a message', () => {
  test('approves nothing without the scope approve', async () => {
    const id = await pendingApproval()
    const answer = await rpc(house, 'turns.run', { message: `/approve ${id}` }, tokens.write)
    expect(answer.error).toBeUndefined()
    expect(await isPending(id)).toBe(true)
  })

  test('approves with it', async () => {
    const id = await pendingApproval()
    await rpc(house, 'turns.run', { message: `/approve ${id}` }, tokens.approve)
    expect(await isPending(id)).toBe(false)
  })

  test('approves nothing as the tool of a model, or from inside of a session, whatever the scopes', async () => {
    const id = await pendingApproval()
    const model: Caller = { via: 'mcp', scopes: ['admin'], name: 'mcp' }
    const message = `/approve ${id}`
    await perform(house.app, 'turns.run', { message }, model)
    await perform(house.app, 'sessions.send', { sessionKey: 'agent:main:main', message }, model)
    await http(house, '/rpc', {
      method: 'POST',
      token: house.token,
      headers: { 'rockpool-session': 'aaaaaaaa-0000-4000-8000-000000000001' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'turns.run', params: { message } }),
    })
    expect(await isPending(id)).toBe(true)
  })
})

describe('a launch', () => {
  const launch = async (more: object, token?: string): Promise<string | undefined> => {
    const task = { prompt: '[[offline: say hello]]', fresh: true, workdir }
    return (await rpc(house, 'coding.launch', { ...task, ...more }, token)).error?.data?.code
  }

  test.each([
    { allowedTools: ['Bash'] },
    { allowedTools: ['Read', 'Edit'] },
    { permissionMode: 'acceptEdits' },
    { agentKind: 'codex' },
  ])('without the scope approve is refused if the session would work without asking: %j', async (more) => {
    expect(await launch(more, tokens.write)).toBe('refused')
  })

  test('that failed is repeated by the command that it names, whatever its task, and only with rights that the caller has', async () => {
    const prompt = `[[offline: fail model-unknown]] ${'Do "it" with `care`,\nand $HOME. '.repeat(100)}`
    const task = { prompt, workdir, fresh: true, allowedTools: ['Bash'], wait: true }
    const { id } = (await rpc(house, 'coding.launch', task)).result as { id: string }
    const { coding } = house.app.storage
    const [, session] = /`rockpool cc again (\S+) --model sonnet`/.exec(coding.get(id)!.end!.message)!
    const refused = await rpc(house, 'coding.again', { session }, tokens.write)
    expect(refused.error?.data?.code).toBe('refused')
    const again = { session, model: 'sonnet', wait: true }
    const { result } = await rpc(house, 'coding.again', again)
    const { request } = coding.get((result as { id: string }).id)!
    expect(request).toMatchObject({ prompt, workdir, allowedTools: ['Bash'], model: 'sonnet' })
    expect(result).not.toMatchObject({ id })
  })

  test('that works without asking takes messages only from callers that may approve, also to resume it', async () => {
    const { id } = (
      await rpc(house, 'coding.launch', {
        prompt: '[[offline: say hello]]',
        fresh: true,
        workdir,
        name: 'wide',
        allowedTools: ['Bash'],
      })
    ).result as { id: string }
    await house.app.coding().pool.whenQuiet(id)
    const bound: Caller = { via: 'mcp', scopes: ['read', 'write'], agentId: 'main', author: 'owner' }
    const says = { session: 'wide', message: '[[offline: say more]]' }
    const resumes = { session: 'wide', prompt: '[[offline: say more]]' }
    const codeOf = async (method: string, params: object, token: string): Promise<string | undefined> =>
      (await rpc(house, method, params, token)).error?.data?.code
    expect(await codeOf('coding.respond', says, tokens.write)).toBe('refused')
    await expect(perform(house.app, 'coding.respond', says, bound)).rejects.toMatchObject({ code: 'refused' })
    expect(await codeOf('coding.respond', says, tokens.approve)).toBeUndefined()
    await house.app.coding().pool.whenQuiet(id)
    await rpc(house, 'coding.kill', { session: 'wide' })
    expect(await codeOf('coding.resume', resumes, tokens.write)).toBe('refused')
    await expect(perform(house.app, 'coding.resume', resumes, bound)).rejects.toMatchObject({
      code: 'refused',
    })
    expect(await codeOf('coding.resume', resumes, tokens.approve)).toBeUndefined()
  })

  test('without it takes what the configuration allows', async () => {
    expect(await launch({}, tokens.write)).toBeUndefined()
    expect(await launch({ allowedTools: ['Read'], permissionMode: 'plan' }, tokens.write)).toBeUndefined()
  })

  test('with it may allow tools', async () => {
    expect(await launch({ allowedTools: ['Bash'] }, tokens.approve)).toBeUndefined()
    expect(await launch({ permissionMode: 'acceptEdits' })).toBeUndefined()
  })
})

test('a schedule ends with the token with which it was added, until the owner resumes it', async () => {
  const { token } = (await rpc(house, 'tokens.add', { name: 'ci', scopes: ['write', 'approve'] })).result as {
    token: string
  }
  const schedule = { when: 'daily 9:00', text: 'Stand up.', do: 'message', to: 'web|dashboard' }
  await rpc(house, 'schedules.add', { ...schedule, name: 'planted' }, token)
  await rpc(house, 'schedules.add', { ...schedule, name: 'own' })
  const removed = await rpc(house, 'tokens.remove', { name: 'ci' })
  expect(removed.result).toMatchObject({ schedules: ['planted'] })
  const paused = async (name: string): Promise<unknown> =>
    ((await rpc(house, 'schedules.show', { schedule: name })).result as { paused?: string }).paused
  expect(await paused('planted')).toMatch(/token ci.*removed.*Only the owner/)
  expect(await paused('own')).toBeUndefined()
  await rpc(house, 'schedules.resume', { schedule: 'planted' })
  expect(await paused('planted')).toBeUndefined()
})

test('what a token allowed for ever is asked again when the token is removed', async () => {
  const { token } = (await rpc(house, 'tokens.add', { name: 'rules', scopes: ['write', 'approve'] }))
    .result as {
    token: string
  }
  await rpc(house, 'rules.add', { command: 'npm test *', folder: workdir }, token)
  await rpc(house, 'rules.add', { command: 'npm run build', folder: workdir })
  const patterns = (): string[] => house.app.storage.approvals.grants().map(({ pattern }) => pattern)
  expect(patterns()).toEqual(['npm test *', 'npm run build'])
  const { result } = await rpc(house, 'tokens.remove', { name: 'rules' })
  expect(patterns()).toEqual(['npm run build'])
  expect(result).toMatchObject({ rules: [expect.stringContaining('npm test')] })
})

test('a pull request is opened only with the scope approve: a session has to ask before it publishes its work', async () => {
  const open = (token: string) => rpc(house, 'coding.pr', { session: 'no-such-session' }, token)
  expect((await open(tokens.write)).error?.data).toMatchObject({ code: 'forbidden' })
  expect((await open(tokens.approve)).error?.data).toMatchObject({ code: 'not-found' })
})
