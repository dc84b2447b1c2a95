// A token that is bound to an agent, and the sessions of Claude Code that the agent does not own: naming one in any operation
// neither continues it, nor makes it readable, nor tells that it exists.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { makeOfflineAgent } from '../src/agent/offline.ts'
import { allOperations } from '../src/operations/all.ts'
import type { Operation } from '../src/operations/operation.ts'
import { isOperatorOnly } from '../src/operations/perform-operation.ts'
import { newCodingId } from '../src/coding/session/names.ts'
import { ownerGives } from '../src/domain/giver.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { NativeTranscript } from './support/dashboard-house.ts'
import { openHouse, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const operations = await allOperations()
const token = newToken()
const idOf = (n: number): string => `${String(n).padStart(8, '0')}-2222-4333-8444-555555555555`
/** Of nobody in a closed folder; of nobody in a repository of the configuration; one that says that it is of `main`; one that
 *  is of `main`. */
const foreign = { closed: idOf(11), open: idOf(12), marked: idOf(13), main: idOf(19) }
const secret = 'herring-under-the-stairs'
let house: House
let shop: string

const bound = (method: string, params: object = {}): ReturnType<typeof rpc> =>
  rpc(house, method, params, token)

beforeAll(async () => {
  const hash = hashOf(token).toString('base64url')
  house = await openHouse({
    withChannels: true,
    before: (dir) => {
      shop = join(dir, 'shop')
      mkdirSync(shop)
      writeTokenRecords(dir, [{ name: 'w', scopes: ['read', 'write'], agentId: 'work', createdAt: 0, hash }])
      const coding = { repos: { shop }, maxSessions: 50 }
      writeFileSync(join(dir, 'rockpool.json'), JSON.stringify({ coding, claude: { credential: 'none' } }))
    },
  })
  const runtime = makeOfflineAgent({ clock: house.app.clock, directions: true })
  house.app.runtime = async () => runtime
  await rpc(house, 'agents.add', { id: 'work' })
  mkdirSync(house.app.paths.workspace('work'), { recursive: true })
  transcript(foreign.closed, '/srv/secret', `where is the ${secret}?`)
  transcript(foreign.open, shop, `is the ${secret} here?`)
  transcript(foreign.marked, '/srv/secret', `[openclaw:agent=main] the ${secret}`)
  transcript(foreign.main, shop, `main knows the ${secret}`)
  await ownSession(foreign.main, 'main', { name: 'of-main' })
})
afterAll(() => house.close())

function transcript(sessionId: string, cwd: string, prompt: string): void {
  const made = new NativeTranscript({ configDir: join(house.dir, '.claude') } as never, cwd, sessionId)
  made.prompt(prompt)
  made.answer('I do not know.')
}

/** A session of the agent: the row that a launch stores, and its transcript. */
async function ownSession(sdkSessionId: string, agentId = 'work', more: object = {}): Promise<string> {
  const answer = await rpc(house, 'coding.launch', {
    prompt: '[[offline: say x]]',
    workdir: shop,
    agent: agentId,
    fresh: true,
    multiTurnDisabled: true,
    ...more,
  })
  const { id } = answer.result as { id: string }
  await house.app.coding().pool.whenQuiet(id)
  await house.app.storage.coding.update(id, (row) => Object.assign(row, { sdkSessionId }))
  house.app.events.emit({ type: 'coding-changed', id, why: 'ended' })
  return id
}

/** The answer about a session that does not exist, with this word for its id. */
async function notFound(ref: string): Promise<unknown> {
  const { error } = await bound('cc.info', { id: 'ffffffff' })
  return JSON.parse(JSON.stringify(error).replaceAll('ffffffff', ref))
}

const refs = [...Object.values(foreign), '00000011', '0000', '0', 'of-main', 'where is']

test.each(refs)(
  'a session of others, named %s, is continued, changed and read by no operation',
  async (ref) => {
    const calls: Array<[method: string, params: object]> = [
      ['coding.launch', { prompt: 'x', resumeSessionId: ref }],
      ['coding.launch', { prompt: 'x', resumeSessionId: ref, forkSession: true }],
      ['coding.launch', { prompt: 'x', resumeSessionId: ref, trim: 'hard', workdir: 'shop' }],
      ['coding.resume', { session: ref }],
      ['coding.resume', { session: ref, fork: true }],
      ['coding.resume', { session: ref, trim: 'light' }],
      ['schedules.add', { when: 'in 1 hour', text: 'x', do: 'coding', session: ref, workdir: shop }],
      ['cc.read', { id: ref }],
      ['cc.label', { id: ref, title: 'mine' }],
      ['cc.archive', { id: ref }],
      ['cc.trim', { id: ref }],
      ['cc.repair', { id: ref }],
      ['cc.handoff', { id: ref, to: 'codex' }],
      ['cc.anatomy', { id: ref }],
    ]
    const expected = await notFound(ref)
    for (const [method, params] of calls) {
      const { error } = await bound(method, params)
      expect({ method, params, error }).toEqual({ method, params, error: expected })
    }
    for (const method of ['coding.respond', 'coding.release', 'coding.output']) {
      const message = method === 'coding.respond' ? { message: 'x' } : {}
      const { error } = await bound(method, { session: ref, ...message })
      expect({ method, code: error?.data?.code }).toEqual({ method, code: 'not-found' })
      expect(JSON.stringify(error).replaceAll(ref, '')).not.toMatch(/0000001|srv|shop|herring/)
    }
    expect(house.app.storage.coding.list({ agentId: 'work' })).toEqual([])
  },
)

test.each(refs.filter((ref) => ref.length > 1))(
  'no operation tells anything of it in any field, nor changes whose it is: %s',
  async (ref) => {
    const open = operations.filter((operation) => !isOperatorOnly(operation) && operation.forHosts !== 'only')
    for (const operation of open) {
      const params = fieldsWith(operation, ref)
      const { result, error } = await bound(operation.name, params)
      // The same words as for a name that no session has.
      const none = ref.replaceAll(/[0-9a-z]/g, 'f')
      const unknown = await bound(operation.name, fieldsWith(operation, none))
      const alike = JSON.stringify(unknown.error)?.replaceAll(none, ref)
      expect({ name: operation.name, error: JSON.stringify(error) }).toEqual({
        name: operation.name,
        error: alike,
      })
      const told = Object.values(params).reduce<string>(
        (text, word) => (typeof word === 'string' && word.length > 3 ? text.replaceAll(word, '') : text),
        JSON.stringify({ result, error }),
      )
      expect({ name: operation.name, params, told }).toEqual({
        name: operation.name,
        params,
        told: expect.not.stringMatching(/0000001[1239]-|of-main|\/srv|herring/),
      })
    }
    for (const id of Object.values(foreign)) {
      expect((await bound('cc.read', { id })).error?.data?.code).toBe('not-found')
      expect((await rpc(house, 'cc.info', { id })).result).not.toMatchObject({ session: { agentId: 'work' } })
    }
    for (const { id } of house.app.storage.coding.list({ agentId: 'work' }))
      await rpc(house, 'coding.kill', { session: id })
  },
)

/** The fields of the operation that can name a session, all with this name; the rest is what a call needs. */
function fieldsWith({ input }: Operation, ref: string): Record<string, unknown> {
  const naming = ['key', 'ref', 'id', 'session', 'sessionId', 'sessionKey', 'resumeSessionId', 'handle', 'to']
  const more = [
    'expectedSessionId',
    'parentSessionKey',
    'spawnedBy',
    'target',
    'in',
    'from',
    'about',
    'reply',
  ]
  const needed = { prompt: '[[offline: say x]]', message: 'x', text: 'x', when: 'in 1 hour', do: 'coding' }
  const words = { query: ref, pattern: ref, task: ref, title: 'mine', workdir: shop, repo: shop }
  const all = {
    ...Object.fromEntries([...naming, ...more].map((field) => [field, ref])),
    ...needed,
    ...words,
  }
  return Object.fromEntries(Object.entries(all).filter(([field]) => field in input.shape))
}

test('the choice of sessions is evaluated over its own history only', async () => {
  expect((await rpc(house, 'cc.select', { eval: true })).result).toMatchObject({ sessions: 4 })
  const { result } = await bound('cc.select', { eval: true })
  expect(result).toMatchObject({ sessions: 0, decisions: 0, repositories: 0, notes: [] })
  const elsewhere = await bound('cc.select', { eval: true, repo: '/srv' })
  expect(elsewhere.error?.data?.code).toBe('not-found')
})

test('a schedule that was added before asks again for the right when it runs', async () => {
  const schedule = {
    name: 'taken',
    agentId: 'work',
    byAgent: true,
    action: { kind: 'coding' as const, text: 'x', session: foreign.closed, workdir: shop },
    when: { kind: 'once' as const, at: 1 },
    jitterSeconds: 0,
    missed: 'once' as const,
    overlap: 'skip' as const,
    createdAt: 1,
  }
  const { id } = await house.app.storage.schedules.add(schedule as never)
  await rpc(house, 'schedules.run', { schedule: id })
  await vi.waitFor(async () => {
    const { result } = await rpc(house, 'schedules.log', { schedule: id })
    expect(JSON.stringify(result)).toContain('There is no session')
  })
  expect((await bound('cc.read', { id: foreign.closed })).error?.data?.code).toBe('not-found')
})

test('an agent continues its own sessions, by a beginning that others share', async () => {
  const own = idOf(14)
  transcript(own, shop, 'mine')
  await ownSession(own, 'work', { name: 'mine-here' })
  expect((await bound('cc.read', { id: '0' })).error).toBeUndefined()
  expect((await bound('cc.select', { eval: true })).result).toMatchObject({ sessions: 1 })
  const { error, result } = await bound('coding.launch', {
    prompt: '[[offline: say y]]',
    resumeSessionId: '0',
  })
  expect(error).toBeUndefined()
  await house.app.coding().pool.whenQuiet((result as { id: string }).id)
})

test('a conversation that now belongs to another agent is not continued by its earlier name', async () => {
  const shared = idOf(15)
  transcript(shared, shop, 'mine once')
  const early = await ownSession(shared, 'work', { name: 'early' })
  await ownSession(shared, 'main', { name: 'late' })
  await house.app.storage.coding.update(early, (row) => Object.assign(row, { lifecycle: 'suspended' }))
  for (const ref of [early, 'early', shared]) {
    for (const [method, params] of [
      ['coding.launch', { prompt: 'x', resumeSessionId: ref, workdir: 'shop' }],
      ['coding.resume', { session: ref }],
      ['coding.respond', { session: ref, message: 'x' }],
    ] as const)
      expect((await bound(method, params)).error).toEqual(await notFound(ref))
  }
})

test('an earlier session does not resume a conversation that belongs to another agent by now', async () => {
  const shared = idOf(20)
  transcript(shared, shop, 'mine once')
  const early = await ownSession(shared, 'work', { name: 'asks' })
  await ownSession(shared, 'main', { name: 'goes-on' })
  await house.app.storage.coding.update(early, (row) => Object.assign(row, { lifecycle: 'suspended' }))
  await expect(house.app.coding().givenBy(ownerGives).resume(early, 'x')).rejects.toMatchObject({
    code: 'conflict',
    message: 'The conversation of asks belongs to the agent main since goes-on continued it.',
  })
})

test('a name does not stand in for the id of a conversation', async () => {
  const victim = idOf(16)
  transcript(victim, shop, 'of main')
  const id = await ownSession(victim, 'main')
  await ownSession(newCodingId(), 'work', { name: victim })
  expect((await rpc(house, 'coding.output', { session: victim })).result).toMatchObject({ id })
  const native = idOf(22)
  const titled = await ownSession(newCodingId(), 'work', { name: native })
  await house.app.storage.coding.update(titled, (row) => Object.assign(row, { title: native }))
  const { error } = await rpc(house, 'coding.output', { session: native })
  expect(error?.data).toMatchObject({ code: 'not-found' })
  expect((await rpc(house, 'coding.output', { session: titled })).result).toMatchObject({ id: titled })
})

test('a conversation that a session has, also one that is only launched, is not launched a second time', async () => {
  const taken = idOf(17)
  transcript(taken, shop, 'shared')
  const early = await ownSession(taken, 'work', { name: 'shared-early' })
  const launch = { prompt: '[[offline: wait 60000]]', resumeSessionId: taken, workdir: shop, name: 'holder' }
  const both = await Promise.all([rpc(house, 'coding.launch', launch), rpc(house, 'coding.launch', launch)])
  const started = both.filter(({ result }) => result !== undefined)
  expect(started).toHaveLength(1)
  const { id } = started[0]!.result as { id: string }
  const words = 'The conversation is taken: holder still runs in it.'
  expect(both.find(({ error }) => error)?.error).toMatchObject({ message: words, data: { code: 'conflict' } })
  expect((await rpc(house, 'coding.resume', { session: early })).error?.message).toBe(words)
  // The agent that it was launched for is `main`; `work` may still read the conversation until it has started.
  const theirs = await bound('coding.launch', {
    prompt: 'x',
    resumeSessionId: 'shared-early',
    workdir: 'shop',
  })
  expect(theirs.error?.data?.code).toMatch(/conflict|not-found/)
  expect(JSON.stringify(theirs.error)).not.toContain('holder')
  await rpc(house, 'coding.kill', { session: id })
})

test('of several runs of one conversation the newest that has not ended is meant', async () => {
  const many = idOf(18)
  const first = await ownSession(many, 'main', { name: 'run-one' })
  const second = await ownSession(many, 'main', { name: 'run-two' })
  const meant = async (session: string): Promise<unknown> =>
    ((await rpc(house, 'coding.output', { session })).result as { id: string }).id
  expect([await meant(many), await meant('00000018')]).toEqual([second, second])
  await house.app.storage.coding.update(first, (row) => Object.assign(row, { lifecycle: 'suspended' }))
  expect([await meant(many), await meant('00000018')]).toEqual([first, first])
})
