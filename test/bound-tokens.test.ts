// A token that is bound to an agent, held by somebody who tries every operation on another agent's things: whatever
// scopes it has, that agent's world is all there is.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { allOperations } from '../src/operations/all.ts'
import { isOperators } from '../src/operations/authorize.ts'
import type { Operation } from '../src/operations/operation.ts'
import { hashOf, newToken, writeTokenRecords } from '../src/store/tokens.ts'
import { openHouse, rpc } from './gateway-house.ts'
import type { House } from './gateway-house.ts'

const operations = await allOperations()
/** What only stands in the world of `main`. */
const secret = 'herring-under-the-stairs'
const key = 'agent:main:main'
const token = newToken()
let house: House
let sessionId: string

const bound = (method: string, params: object = {}): ReturnType<typeof rpc> =>
  rpc(house, method, params, token)

beforeAll(async () => {
  const hash = hashOf(token).toString('base64url')
  const scopes = ['read', 'write', 'approve', 'admin']
  house = await openHouse({
    before: (dir) => writeTokenRecords(dir, [{ name: 'w', scopes, agentId: 'work', createdAt: 0, hash }]),
  })
  await rpc(house, 'agents.add', { id: 'work' })
  const asked = await rpc(house, 'turns.run', { message: `where is the ${secret}?` })
  sessionId = (asked.result as { sessionId: string }).sessionId
  await rpc(house, 'sessions.patch', { key, label: secret })
  await rpc(house, 'memory.add', { text: `The ${secret}.` })
  const delivery = { id: 'd1', lane: key, sessionKey: key, idempotencyKey: 'reply:d1', createdAt: 1 }
  const address = { channel: 'web', accountId: 'default', to: 'dashboard' }
  await house.app.work().outbox.leave([{ ...delivery, address, reply: { text: secret } }])
  for (const agentId of ['main', 'work']) await askFor(agentId)
})
afterAll(() => house.close())

async function askFor(agentId: string): Promise<void> {
  const { approvalStore } = house.app.coding()
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
  const operators = operations.filter(isOperators)
  const answers = await Promise.all(operators.map(({ name }) => bound(name)))
  const open = operators.filter((_, n) => answers[n]!.error?.data?.code !== 'forbidden')
  expect(open.map(({ name }) => name)).toEqual([])
  expect(operators.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['dashboard.code', 'tokens.add', 'config.show', 'web.file', 'web.notices']),
  )
})

test('an operation that is open to it looks at who asks', () => {
  const careless = operations.filter((operation) => !isOperators(operation) && operation.run.length < 3)
  // A run is named by a number that nobody can guess; that the gateway is well is no secret.
  expect(careless.map(({ name }) => name)).toEqual(['health', 'turns.wait'])
})

test('no reading operation gives it anything of another agent, by no name', { timeout: 60_000 }, async () => {
  const workspace = join(house.app.paths.workspace('main'))
  mkdirSync(workspace, { recursive: true })
  writeFileSync(join(workspace, 'README.md'), secret)
  const reading = operations.filter((operation) => operation.scope === 'read' && !isOperators(operation))
  for (const operation of reading) {
    for (const params of questions(operation, workspace)) {
      const { result } = await bound(operation.name, params)
      // What it said itself tells it nothing.
      const told = [params['keys'], params['query'], params['key']]
        .flat()
        .reduce<string>(
          (text, said) => text.replaceAll(JSON.stringify(said ?? ''), ''),
          JSON.stringify(result ?? null),
        )
      const found = [secret, sessionId].filter((word) => told.includes(word))
      expect({ name: operation.name, params, found }).toMatchObject({ found: [] })
    }
  }
})

/** Everything that names something of `main`, in every field that takes a name. */
function questions({ input }: Operation, workspace: string): Array<Record<string, unknown>> {
  const names = [key, sessionId, secret, 'main', 'main-ask']
  const folders = [workspace, house.dir, '/']
  const path = join(workspace, 'README.md').slice(1)
  const fixed = { query: secret, pattern: secret, task: secret, text: secret, path, all: true, limit: 50 }
  const asked = [...names.map((name) => [name, workspace]), ...folders.map((repo) => ['main', repo])]
  return asked.map(([name, repo]) => {
    const naming = ['key', 'ref', 'id', 'sessionId', 'sessionKey', 'name', 'agent', 'agentId', 'label']
    const all: Record<string, unknown> = {
      ...fixed,
      ...Object.fromEntries(naming.map((f) => [f, name])),
      repo,
    }
    return Object.fromEntries(Object.entries({ ...all, keys: [name] }).filter(([f]) => f in input.shape))
  })
}

test('it reads no list of sessions by its path', async () => {
  const store = house.app.paths.sessionsJson('main')
  expect((await rpc(house, 'sessions.list', { store })).error).toBeUndefined()
  expect((await bound('sessions.list', { store })).error?.data?.code).toBe('forbidden')
})

test('it answers, and takes back, only what its own agent was asked', async () => {
  expect((await bound('approvals.list', { all: true })).result).toMatchObject({
    approvals: [{ id: 'work-ask' }],
  })
  expect((await bound('approvals.grants')).result).toMatchObject({ grants: [{ id: 'work-grant' }] })
  for (const alike of [false, true]) {
    const { error } = await bound('approvals.answer', { id: 'main-ask', alike })
    expect(error?.data?.code).toBe('not-found')
    expect(JSON.stringify(error)).not.toContain(secret)
  }
  expect((await bound('approvals.revoke', { id: 'main-grant' })).error?.data?.code).toBe('not-found')
  // The only open one there is: its own.
  expect((await bound('approvals.answer')).result).toMatchObject({
    approvals: [{ id: 'work-ask', alike: 0 }],
  })
  expect((await rpc(house, 'approvals.list')).result).toMatchObject({ approvals: [{ id: 'main-ask' }] })
})
