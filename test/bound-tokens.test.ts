// A token that is bound to an agent, held by somebody who tries every operation on another agent's things: whatever
// scopes it has, that agent's world is all there is.
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { allOperations } from '../src/operations/all.ts'
import { isOperatorOnly } from '../src/operations/perform-operation.ts'
import type { Operation } from '../src/operations/operation.ts'
import { asSeenBy } from '../src/operations/coding/which-machine.ts'
import { nameFor } from '../src/coding/refusals.ts'
import type { CodingSession } from '../src/domain/coding-session.ts'
import { RockpoolError } from '../src/domain/errors.ts'
import { formatOpenClawOrigin } from '../src/domain/openclaw-contract.ts'
import { hashOf, newToken, readTokenRecords, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { connect, http, openHouse, rpc } from './support/gateway-house.ts'
import type { Client, House } from './support/gateway-house.ts'

const operations = await allOperations()
/** What only stands in the world of `main`. */
const secret = 'herring-under-the-stairs'
const key = 'agent:main:main'
const token = newToken()
/** Of a program that runs agents of its own. */
const hostToken = newToken()
/** Folders of OpenClaw. */
const outside = realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-outside-')))
let house: House
let sessionId: string
/** Two coding sessions of `main` whose names begin with the secret. */
const codingIds: string[] = []

const bound = (method: string, params: object = {}): ReturnType<typeof rpc> =>
  rpc(house, method, params, token)

beforeAll(async () => {
  const hash = hashOf(token).toString('base64url')
  const scopes = ['read', 'write', 'approve', 'admin']
  house = await openHouse({
    before: (dir) => {
      const host = { hash: hashOf(hostToken).toString('base64url'), agents: 'openclaw-' as const }
      writeTokenRecords(dir, [
        { name: 'w', scopes, agentId: 'work', createdAt: 0, hash },
        { name: 'openclaw-person', scopes, createdAt: 0, ...host },
      ])
      const coding = { repos: { shop: repoIn(dir, 'shop') }, defaultBudgetUsd: 3, maxSessions: 50 }
      writeFileSync(join(dir, 'rockpool.json'), JSON.stringify({ coding, claude: { credential: 'none' } }))
    },
  })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  await rpc(house, 'agents.add', { id: 'work' })
  const asked = await rpc(house, 'turns.run', { message: `where is the ${secret}?` })
  sessionId = (asked.result as { sessionId: string }).sessionId
  await rpc(house, 'sessions.patch', { key, label: secret })
  await rpc(house, 'memory.add', { text: `The ${secret}.` })
  const delivery = { id: 'd1', lane: key, sessionKey: key, idempotencyKey: 'reply:d1', createdAt: 1 }
  const address = { channel: 'web', accountId: 'default', to: 'dashboard' }
  await house.app.storage.work.outbox.leave([{ ...delivery, address, reply: { text: secret } }])
  for (const agentId of ['main', 'work']) await askFor(agentId)
  for (const name of [`${secret}-a`, `${secret}-b`]) {
    const launch = { prompt: '[[offline: say x]]', workdir: join(house.dir, 'shop'), name, fresh: true }
    codingIds.push(((await rpc(house, 'coding.launch', launch)).result as { id: string }).id)
  }
})
afterAll(() => house.close())

/** A directory with a document; only `shop` is in coding.repos. */
function repoIn(dir: string, name: string): string {
  const path = join(dir, name)
  mkdirSync(path, { recursive: true })
  writeFileSync(join(path, 'README.md'), `about ${name}`)
  return path
}

async function askFor(agentId: string): Promise<void> {
  const { approvals: approvalStore } = house.app.storage
  const about = { agentId, sessionKey: `agent:${agentId}:main`, toolName: 'Bash', kind: 'tool' as const }
  const shown = agentId === 'main' ? `rm ${secret}` : 'ls'
  const when = { askedAt: 1, expiresAt: 9e15, state: 'pending' as const }
  const asked = { ...about, ...when, id: `${agentId}-ask`, input: { command: shown }, inputHash: 'h', shown }
  await approvalStore.add(asked)
  const { sessionKey, toolName: tool } = about
  const granted = { pattern: shown, grantedAt: 1, grantedBy: 'ada' }
  await approvalStore.grant({ id: `${agentId}-grant`, sessionKey, tool, ...granted })
}

test("what belongs to all agents is the operator's, whatever the token's scopes", async () => {
  const operators = operations.filter(isOperatorOnly)
  const answers = await Promise.all(operators.map(({ name }) => bound(name)))
  const open = operators.filter((_, n) => answers[n]!.error?.data?.code !== 'forbidden')
  expect(open.map(({ name }) => name)).toEqual([])
  expect(operators.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['dashboard.code', 'tokens.add', 'config.show', 'web.file', 'web.notices']),
  )
})

test('an operation that is open to it looks at who asks', () => {
  const careless = operations.filter(
    (operation) => !isOperatorOnly(operation) && operation.forHosts !== 'only' && operation.run.length < 3,
  )
  // That the gateway is healthy is no secret.
  expect(careless.map(({ name }) => name)).toEqual(['health'])
})

test('a run of another agent does not exist for it, whether it waits or has ended', async () => {
  const send = async (message: string): Promise<string> =>
    ((await rpc(house, 'turns.send', { message })).result as { runId: string }).runId
  const running = await send('[[offline: wait 60000]]')
  const wait = (runId: string, timeoutMs = 0): object => ({ runId, timeoutMs })
  const told = async (runId: string): Promise<string> =>
    JSON.stringify((await bound('turns.wait', wait(runId, 60_000))).error).replaceAll(runId, '')
  const unknown = await told('unknown')
  expect(unknown).toContain('not-found')
  expect((await rpc(house, 'turns.wait', wait(running))).result).toMatchObject({ status: 'timeout' })
  expect(await told(running)).toBe(unknown)
  await rpc(house, 'turns.stop', { sessionKey: key })
  expect((await rpc(house, 'turns.wait', wait(running, 20_000))).error).toBeUndefined()
  expect(await told(running)).toBe(unknown)
  const own = (await bound('turns.send', { message: 'hello' })).result as { runId: string }
  expect((await bound('turns.wait', wait(own.runId, 20_000))).result).toMatchObject({ status: 'ok' })
})

test(
  'no operation gives or tells it anything of another agent, by no name',
  { timeout: 60_000 },
  async () => {
    const workspace = join(house.app.paths.workspace('main'))
    mkdirSync(workspace, { recursive: true })
    writeFileSync(join(workspace, 'README.md'), secret)
    const open = operations.filter((operation) => !isOperatorOnly(operation) && operation.forHosts !== 'only')
    for (const operation of open) {
      for (const params of questions(operation, workspace)) {
        const { result, error } = await bound(operation.name, params)
        // What it said itself tells it nothing.
        const said = Object.values(params)
          .flat()
          .filter((word) => typeof word === 'string' && word.length > 4)
        const told = said.reduce<string>(
          (text, word) => text.replaceAll(String(word), ''),
          JSON.stringify({ result, error }),
        )
        const found = [secret, sessionId, ...codingIds].filter((word) => told.includes(word))
        expect({ name: operation.name, params, found }).toMatchObject({ found: [] })
      }
    }
  },
)

/** Everything that names something of `main`, in every field that takes a name. */
function questions({ input }: Operation, workspace: string): Array<Record<string, unknown>> {
  const names = [key, sessionId, secret, 'main', 'main-ask', secret.slice(0, 4), ...codingIds]
  const folders = [workspace, house.dir, '/']
  const path = join(workspace, 'README.md').slice(1)
  const fixed = { query: secret, pattern: secret, task: secret, text: secret, path, all: true, limit: 50 }
  const asked = [...names.map((name) => [name, workspace]), ...folders.map((repo) => ['main', repo])]
  return asked.map(([name, repo]) => {
    const naming = [
      'key',
      'ref',
      'id',
      'session',
      'sessionId',
      'sessionKey',
      'name',
      'agent',
      'agentId',
      'label',
    ]
    const all: Record<string, unknown> = {
      ...fixed,
      ...Object.fromEntries(naming.map((f) => [f, name])),
      repo,
    }
    return Object.fromEntries(Object.entries({ ...all, keys: [name] }).filter(([f]) => f in input.shape))
  })
}

test('an answer that finds nothing names no other agent, and a queue no session of another agent', async () => {
  for (const method of ['sessions.search', 'memory.search']) {
    const { result } = await bound(method, { query: 'xyzzy' })
    expect(JSON.stringify(result)).not.toMatch(/main/)
  }
  expect((await rpc(house, 'sessions.search', { query: 'xyzzy', agent: 'lonely' })).result).toMatchObject({
    notes: expect.arrayContaining(['There is no agent "lonely" here; known: main, work.']),
  })
  const workdir = repoIn(house.dir, 'shop')
  const launch = { prompt: '[[offline: wait 60000]]', workdir, name: `${secret}-c`, fresh: true }
  const { id } = (await rpc(house, 'coding.launch', launch)).result as { id: string }
  const { result: queued } = await bound('coding.launch', { prompt: 'x', workdir: 'shop', fresh: true })
  expect(queued).toMatchObject({ queue: { place: 1, waitsFor: ['a session of another agent'] } })
  expect(JSON.stringify((await bound('coding.sessions')).result)).not.toContain(secret)
  expect(JSON.stringify((await rpc(house, 'coding.sessions')).result)).toContain(`waits for ${secret}-c`)
  for (const session of [id, (queued as { id: string }).id]) await rpc(house, 'coding.kill', { session })
})

test('a repository that is taken, and machines, are not described to another agent', async () => {
  const session = { name: secret, request: { agentId: 'main' } } as CodingSession
  expect(['main', 'work', undefined].map((agentId) => nameFor(agentId, session))).toEqual([
    secret,
    'a session of another agent',
    secret,
  ])
  const find = async (): Promise<never> => {
    throw new RockpoolError('not-found', `No machine has the name x.`, { hint: `There are: ${secret}.` })
  }
  await expect(asSeenBy({ agentId: undefined }, find)).rejects.toMatchObject({
    hint: `There are: ${secret}.`,
  })
  const error = await asSeenBy({ agentId: 'work' }, find).catch((thrown: RockpoolError) => thrown)
  expect(error).toMatchObject({ code: 'not-found' })
  expect(`${String(error)} ${error.hint}`).not.toContain(secret)
})

test('it reads no list of sessions by its path', async () => {
  const store = house.app.paths.sessionsJson('main')
  expect((await rpc(house, 'sessions.list', { store })).error).toBeUndefined()
  expect((await bound('sessions.list', { store })).error?.data?.code).toBe('forbidden')
})

test('it answers, and takes back, only what its own agent was asked', async () => {
  expect((await bound('approvals.list', { all: true })).result).toMatchObject({
    approvals: [{ id: 'work-ask' }],
  })
  expect((await bound('approvals.grants')).result).toMatchObject({ rules: [{ id: 'work-grant' }] })
  for (const alike of [[], ['work-ask']]) {
    const { error } = await bound('approvals.answer', { id: 'main-ask', alike })
    expect(error?.data?.code).toBe('not-found')
    expect(JSON.stringify(error)).not.toContain(secret)
  }
  expect((await bound('approvals.revoke', { id: 'main-grant' })).error?.data?.code).toBe('not-found')
  // The only open one need not be the one that a person saw.
  expect((await bound('approvals.answer')).error?.data?.code).toBe('ambiguous')
  expect((await bound('approvals.answer', { id: 'work-ask' })).result).toMatchObject({
    approvals: [{ id: 'work-ask', alike: [] }],
  })
  expect((await rpc(house, 'approvals.list')).result).toMatchObject({ approvals: [{ id: 'main-ask' }] })
})

describe('a launch with its token', () => {
  const launch = (more: object): ReturnType<typeof rpc> =>
    bound('coding.launch', { prompt: '[[offline: say hello]]', fresh: true, ...more })
  const codeOf = async (answer: ReturnType<typeof rpc>): Promise<string | undefined> =>
    (await answer).error?.data?.code

  test('starts in its workspace if it names no directory, also before the workspace exists', async () => {
    const own = house.app.paths.workspace('work')
    rmSync(own, { recursive: true, force: true })
    expect((await launch({})).result).toMatchObject({ workdir: own })
  })

  test('starts only in its own workspace and in the repositories of the configuration', async () => {
    const { dir, app } = house
    const own = app.paths.workspace('work')
    mkdirSync(join(own, 'notes'), { recursive: true })
    mkdirSync(join(dir, 'shop', 'sub'), { recursive: true })
    symlinkSync(dir, join(own, 'out'))
    const closed = ['/', dir, repoIn(dir, 'other'), repoIn(dir, 'shop-2'), app.paths.workspace('main')]
    for (const workdir of [...closed, join(own, 'out'), join(own, '..')]) {
      expect({ workdir, code: await codeOf(launch({ workdir })) }).toEqual({ workdir, code: 'refused' })
    }
    for (const workdir of [own, join(own, 'notes'), 'shop', join(dir, 'shop', 'sub'), undefined]) {
      expect({ workdir, error: (await launch({ workdir })).error }).toEqual({ workdir, error: undefined })
    }
    const spawned = { task: 'x', mode: 'claude-code', repo: join(dir, 'other') }
    expect((await bound('sessions.spawn', spawned)).result).toMatchObject({ status: 'forbidden' })
    expect((await rpc(house, 'coding.launch', { prompt: 'x', workdir: join(dir, 'other') })).error).toBe(
      undefined,
    )
  })

  test('spends at most the configured budget', async () => {
    expect(await codeOf(launch({ workdir: 'shop', maxBudgetUsd: 3.01 }))).toBe('refused')
    expect((await launch({ workdir: 'shop', maxBudgetUsd: 2 })).result).toMatchObject({ budgetUsd: 2 })
    expect((await launch({ workdir: 'shop' })).result).toMatchObject({ budgetUsd: 3 })
  })

  test('continues no session in a directory that is closed to it', async () => {
    const workdir = repoIn(house.dir, 'other')
    const ask = { prompt: '[[offline: say hello]]', fresh: true, workdir, agent: 'work', name: 'elsewhere' }
    const { id } = (await rpc(house, 'coding.launch', ask)).result as { id: string }
    await house.app.coding().pool.whenQuiet(id)
    await rpc(house, 'coding.kill', { session: id })
    expect(await codeOf(bound('coding.resume', { session: id }))).toBe('refused')
  })

  test('tells only chats of its own agent', async () => {
    expect(await codeOf(launch({ workdir: 'shop', originChannel: 'telegram|77' }))).toBe('refused')
    await house.app.storage.sessions('work').update('agent:work:telegram:direct:78', () => ({
      sessionId: 's78',
      updatedAt: 1,
      deliveryContext: { channel: 'telegram', to: '78', accountId: 'default' },
    }))
    expect((await launch({ workdir: 'shop', originChannel: 'telegram|78' })).error).toBe(undefined)
  })
})

test('it sends messages only to the chats of its own agent', async () => {
  const to = (target: string): object => ({ channel: 'telegram', target, message: 'hello' })
  expect((await bound('message.send', to('4711'))).error?.data?.code).toBe('forbidden')
  await house.app.storage.sessions('work').update('agent:work:telegram:direct:4712', () => ({
    sessionId: 's4712',
    updatedAt: 1,
    deliveryContext: { channel: 'telegram', to: '4712', accountId: 'default' },
  }))
  expect((await bound('message.send', to('4712'))).error?.message).toContain('no longer has access')
  const asked = await house.app.storage.people.request({
    channel: 'telegram',
    accountId: 'default',
    senderId: '4712',
  })
  await rpc(house, 'pairing.approve', { code: (asked as { code: string }).code })
  // Telegram is not set up here: only callers that may send learn that.
  const unset = 'not-found'
  expect((await bound('message.send', to('4712'))).error?.data?.code).toBe(unset)
  expect((await rpc(house, 'message.send', to('4711'))).error?.data?.code).toBe(unset)
})

test('it reads documents only of its own workspace and of the configured repositories', async () => {
  const read = (repo: string): ReturnType<typeof rpc> => bound('project.doc', { repo, path: 'README.md' })
  expect((await read(join(house.dir, 'shop'))).result).toMatchObject({ text: 'about shop' })
  expect((await read(repoIn(house.dir, 'other'))).error?.data?.code).toBe('not-found')
  const listed = await bound('project.docs', { repo: join(house.dir, 'other') })
  expect(listed.error?.data?.code).toBe('not-found')
})

test('names that other agents have are free for it, for schedules and for coding sessions', async () => {
  const schedule = { when: 'in 2 hours', text: 'x', name: 'watch' }
  expect((await rpc(house, 'schedules.add', schedule)).error).toBeUndefined()
  expect((await bound('schedules.add', schedule)).result).toMatchObject({ name: 'watch', agentId: 'work' })
  expect((await bound('schedules.add', schedule)).error?.data?.code).toBe('conflict')
  const unnamed = { when: 'in 2 hours', text: 'Look at the sea' }
  for (const call of [
    (p: object) => rpc(house, 'schedules.add', p),
    (p: object) => bound('schedules.add', p),
  ])
    expect((await call(unnamed)).result).toMatchObject({ name: 'look-at-the-sea' })
  // An operator sees both, and gets the ids that tell them apart.
  const { error } = await rpc(house, 'schedules.show', { schedule: 'watch' })
  expect(error?.data).toMatchObject({
    code: 'ambiguous',
    hint: expect.stringMatching(/[0-9a-f]{8} \(main\)/),
  })
  expect((await bound('schedules.show', { schedule: 'watch' })).error).toBeUndefined()

  const launch = { prompt: '[[offline: say x]]', workdir: 'shop', name: 'kestrel-plan', fresh: true }
  const theirs = (await rpc(house, 'coding.launch', launch)).result as { id: string; name: string }
  const own = (await bound('coding.launch', launch)).result as { id: string; name: string }
  expect([theirs.name, own.name]).toEqual(['kestrel-plan', 'kestrel-plan'])
  expect((await bound('coding.launch', launch)).result).toMatchObject({ name: 'kestrel-plan-2' })
  expect((await bound('coding.output', { session: 'kestrel-plan' })).result).toMatchObject({ id: own.id })
  const either = await rpc(house, 'coding.output', { session: 'kestrel-plan' })
  expect(either.error?.data?.code).toBe('ambiguous')
  for (const { id } of [theirs, own]) expect(either.error?.message).toContain(id)
})

test('it reads no figures of the whole gateway, and learns no other agent from the list of agents', async () => {
  expect((await http(house, '/metrics', { token })).status).toBe(403)
  expect((await bound('agents.list')).result).toMatchObject({ defaultId: 'work' })
})

test.each(['', ' ', '\u001b[31mred', 'a\u0000b', 'two\nlines', 'a\u202eb', '-rf', '..', 'agent:main:main'])(
  'no coding session or schedule is called %j',
  async (name) => {
    const launch = { prompt: '[[offline: say x]]', workdir: 'shop', fresh: true }
    for (const call of [
      bound('coding.launch', { ...launch, name }),
      bound('coding.launch', { ...launch, label: name }),
      rpc(house, 'coding.launch', { ...launch, name }),
      bound('schedules.add', { when: 'in 2 hours', text: 'x', name }),
    ])
      expect((await call).error?.data?.code).toBe('input-invalid')
  },
)

test('a linked folder of notes is neither read nor written', async () => {
  const own = join(house.app.paths.workspace('work'), 'memory')
  const theirs = join(house.app.paths.workspace('main'), 'memory')
  rmSync(own, { recursive: true, force: true })
  mkdirSync(join(own, '..'), { recursive: true })
  symlinkSync(theirs, own)
  const before = readdirSync(theirs).map((name) => readFileSync(join(theirs, name), 'utf8'))
  expect((await bound('memory.add', { text: 'written through a link' })).error?.data?.code).toBe(
    'disk-failed',
  )
  expect((await bound('memory.list')).result).toMatchObject({ notes: [] })
  expect(JSON.stringify((await bound('memory.search', { query: secret })).result)).not.toContain(
    'The herring',
  )
  expect(readdirSync(theirs).map((name) => readFileSync(join(theirs, name), 'utf8'))).toEqual(before)
  rmSync(own)
})

describe("the token of an agent host, such as OpenClaw's plugin", () => {
  const codeOf = async (named: string | string[] | undefined, method: string, params = {}) => {
    const headers: Record<string, string | string[]> = named === undefined ? {} : { 'rockpool-agent': named }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
    const answer = await http(house, '/rpc', { method: 'POST', body, token: hostToken, headers })
    const { error } = answer.json() as { error?: { data: { code: string } } }
    return error?.data.code
  }

  test('opens nothing that belongs to an agent before it names one of its own', async () => {
    const open: string[] = []
    for (const { name } of operations) if ((await codeOf(undefined, name)) !== 'forbidden') open.push(name)
    expect(open).toEqual(['health', 'openclaw.answer', 'openclaw.delivered', 'openclaw.hello'])
    expect((await http(house, '/metrics', { token: hostToken })).status).toBe(403)
  })

  test.each(['main', 'work', 'openclaw', 'openclaw-', 'Openclaw-main', '', 'openclaw-main,main'])(
    'does not speak for %j',
    async (named) => {
      expect(await codeOf(named, 'coding.sessions')).toMatch(/^(forbidden|input-invalid)$/)
    },
  )

  test('refuses ids that are no names', async () => {
    for (const named of ['openclaw-../main', 'openclaw-..', 'openclaw-a/b', `openclaw-${'x'.repeat(64)}`])
      expect(await codeOf(named, 'sessions.list')).toBe('input-invalid')
    expect(await codeOf(['openclaw-a', 'openclaw-b'], 'sessions.list')).toBe('input-invalid')
  })

  test('does what a token that is bound to the named agent may do, and no more', async () => {
    expect(await codeOf('openclaw-main', 'coding.sessions')).toBeUndefined()
    expect(await codeOf('openclaw-main', 'sessions.list', { agentId: 'main' })).toBe('not-found')
    const operators = operations.filter(isOperatorOnly)
    for (const { name } of operators) expect(await codeOf('openclaw-main', name)).toBe('forbidden')
    for (const method of ['openclaw.hello', 'openclaw.delivered'])
      for (const each of [token, house.token])
        expect((await rpc(house, method, {}, each)).error?.data?.code).toBe('forbidden')
  })

  test('names its agent in the first frame of a WebSocket, too', async () => {
    const frame = async (params: object): Promise<Client> => {
      const client = await connect(house)
      await client.call('connect', { token: hostToken, ...params })
      return client
    }
    const named = await frame({ agentId: 'openclaw-main' })
    expect((await named.call('coding.sessions')).error).toBeUndefined()
    const unnamed = await frame({})
    expect((await unnamed.call('coding.sessions')).error?.data?.code).toBe('forbidden')
    expect((await unnamed.call('coding.subscribe')).error?.data?.code).toBe('forbidden')
    expect((await unnamed.call('openclaw.subscribe')).error).toBeUndefined()
    await expect(frame({ agentId: 'main' }).then((client) => client.closed)).resolves.toMatchObject({
      code: 1008,
    })
    for (const client of [named, unnamed]) client.socket.close()
  })

  test('is not a token with a damaged limit', async () => {
    const damaged = newToken()
    const hash = hashOf(damaged).toString('base64url')
    const records = readTokenRecords(house.dir)
    const scopes = ['read', 'write']
    for (const limit of [
      { agents: '' },
      { agents: 'm' },
      { agents: 7 },
      { agents: 'openclaw-', agentId: 'main' },
    ]) {
      // What a hand or an older program could have written.
      const record = { name: 'damaged', scopes, createdAt: 0, hash, ...limit } as (typeof records)[number]
      writeTokenRecords(house.dir, [...records, record])
      expect((await rpc(house, 'health', {}, damaged)).error?.data?.code).toBe('unauthorized')
    }
    writeTokenRecords(house.dir, records)
  })

  describe('with what the plugin reports', () => {
    const asAgent = async (id: string, method: string, params: object) => {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params })
      const headers = { 'rockpool-agent': `openclaw-${id}` }
      return (await http(house, '/rpc', { method: 'POST', body, token: hostToken, headers })).json() as {
        result?: Record<string, unknown>
        error?: { data: { code: string } }
      }
    }
    /** One at a time: few sessions may wait for a repository. */
    const launchAs = async (id: string, more: object) => {
      const asked = { prompt: '[[offline: say hello]]', fresh: true, ...more }
      const answer = await asAgent(id, 'coding.launch', asked)
      if (answer.result) await house.app.coding().pool.whenQuiet(answer.result['id'] as string)
      return answer
    }
    const chatOf = (agentId: string): string =>
      formatOpenClawOrigin({ channel: 'telegram', to: '9', sessionKey: `agent:${agentId}:main`, agentId })
    const folder = (name: string): string => {
      const path = join(outside, name)
      mkdirSync(path, { recursive: true })
      return path
    }

    beforeAll(async () => {
      const claudeCode = {
        repos: { tide: folder('tide'), state: house.dir, odd: 'relative' },
        maxBudgetUsd: 2,
        permissionMode: 'acceptEdits',
        sessionSelection: { resumeThreshold: 0.9 },
        fallbackChannel: 'telegram|9',
        surprise: true,
      }
      const agents = [
        { id: 'main', workspace: folder('main'), claudeCode },
        { id: 'other', workspace: folder('other'), claudeCode: { maxBudgetUsd: 100 } },
        { id: '../main', workspace: '/' },
        { id: 'root', workspace: '/' },
      ]
      const report = { version: '2026.9.6', pluginVersion: '1', agents }
      const { result } = await rpc(house, 'openclaw.hello', report, hostToken)
      const { ignored } = result as { ignored: string[] }
      const about = [
        'main: claudeCode.surprise',
        'main: claudeCode.repos.state',
        'main: claudeCode.repos.odd',
      ]
      expect(ignored.map((line) => line.split(': ').slice(0, 2).join(': '))).toEqual([
        ...about,
        '../main: agent',
        'root: workspace',
      ])
    })

    test('an agent starts sessions in its own workspace and repositories only', async () => {
      for (const workdir of [folder('other'), outside, house.dir, '/'])
        expect((await launchAs('main', { workdir })).error?.data.code).toBe('refused')
      for (const [workdir, real] of [
        [undefined, folder('main')],
        ['tide', folder('tide')],
        ['shop', join(house.dir, 'shop')],
      ])
        expect((await launchAs('main', { workdir })).result).toMatchObject({ workdir: real })
      expect((await launchAs('other', { workdir: 'tide' })).error?.data.code).toBe('refused')
      // A Rockpool agent does not work in OpenClaw's folders.
      const { error } = await bound('coding.launch', { prompt: 'x', workdir: folder('main') })
      expect(error?.data?.code).toBe('refused')
    })

    test("OpenClaw's settings narrow the budget and the permissions, and never widen them", async () => {
      expect((await launchAs('main', {})).result).toMatchObject({ budgetUsd: 2 })
      expect((await launchAs('main', { maxBudgetUsd: 3 })).error?.data.code).toBe('refused')
      expect((await launchAs('other', {})).result).toMatchObject({ budgetUsd: 3 })
      const { id } = (await launchAs('main', {})).result as { id: string }
      expect(house.app.storage.coding.get(id)?.request).toMatchObject({ permissionMode: 'default' })
      expect(house.app.coding().choice.settings('openclaw-main').resumeThreshold).toBe(0.9)
      expect(house.app.coding().choice.settings('main').resumeThreshold).toBe(0.6)
    })

    test('an agent names only its own chats, for notices and for streams', async () => {
      const originOf = async (launched: ReturnType<typeof launchAs>): Promise<string | undefined> =>
        house.app.storage.coding.get((await launched).result?.['id'] as string)?.request.originChannel
      expect(await originOf(launchAs('main', { originChannel: chatOf('main') }))).toBe(chatOf('main'))
      expect(await originOf(launchAs('main', {}))).toBe(chatOf('main'))
      expect(await originOf(launchAs('other', {}))).toBe('gateway')
      for (const originChannel of [chatOf('other'), 'telegram|9', 'openclaw|default|e30'])
        expect((await launchAs('main', { originChannel })).error?.data.code).toBe('refused')
      expect(
        (await bound('coding.launch', { prompt: 'x', originChannel: chatOf('work') })).error?.data?.code,
      ).toBe('refused')
      const { id } = (await launchAs('main', {})).result as { id: string }
      const stream = (channel: string) => asAgent('main', 'coding.foreground', { session: id, channel })
      expect((await stream(chatOf('other'))).error?.data.code).toBe('refused')
      expect((await stream(chatOf('main'))).error).toBeUndefined()
      const end = (channel: string) => asAgent('main', 'coding.background', { session: id, channel })
      expect((await end(chatOf('other'))).error?.data.code).toBe('refused')
      expect((await end(chatOf('main'))).result).toEqual({ ids: [id] })
      expect((await asAgent('other', 'coding.output', { session: id })).error?.data.code).toBe('not-found')
    })

    test('a person gives the same commands as in a chat of Rockpool', async () => {
      const command = (name: string, args = '', originChannel = chatOf('main')) =>
        asAgent('main', 'openclaw.command', { name, args, originChannel })
      expect((await command('claude', '--name otter [[offline: say hello]]')).result).toMatchObject({
        isError: false,
      })
      expect((await command('claude_sessions')).result?.['text']).toContain('otter')
      expect((await command('claude_approve', 'nothing')).result).toMatchObject({ isError: true })
      await command('claude', '--name asker [[offline: ask Bash {"command":"ls"}]]')
      const isAsked = (): boolean => house.app.coding().approvals.pending('openclaw-main').length === 1
      await vi.waitFor(() => expect(isAsked()).toBe(true))
      // It need not be the one that the person saw.
      expect((await command('claude_approve')).result?.['text']).toContain('Which one?')
      expect(isAsked()).toBe(true)
      expect((await command('sessions_delete', 'all')).result).toMatchObject({ isError: true })
      expect((await command('claude_stats', '', chatOf('other'))).error?.data.code).toBe('refused')
    })
  })
})
