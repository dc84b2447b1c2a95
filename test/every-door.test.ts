// Walks every method, subscription, route and tool there is: each refuses without a credential and with too narrow a
// scope. What is added later is walked by itself; a new door without a scope fails here.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { routes } from '../src/gateway/routes.ts'
import { topics } from '../src/gateway/subscriptions.ts'
import { operationTools } from '../src/operations/agent-tools.ts'
import { aliases } from '../src/operations/aliases.ts'
import { allOperations } from '../src/operations/all.ts'
import { hasScope } from '../src/operations/perform-operation.ts'
import { scopes } from '../src/operations/operation.ts'
import type { Operation, Scope } from '../src/operations/operation.ts'
import { perform } from '../src/operations/all.ts'
import { hashOf, newToken, writeHookToken, writeTokenRecords } from '../src/store/gateway-tokens.ts'
import { connect, http, openHouse } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

const operations = await allOperations()
/** The scopes that are closest to a needed one and do not include it. */
const tooNarrow = (needed: Scope): Scope[] => scopes.filter((scope) => !hasScope([scope], needed))

let house: House
const tokens = Object.fromEntries(scopes.map((scope) => [scope, newToken()])) as Record<Scope, string>
beforeAll(async () => {
  house = await openHouse({
    config: { hooks: { enabled: true } },
    before(dir) {
      writeHookToken(dir, newToken())
      writeTokenRecords(
        dir,
        scopes.map((scope) => ({
          name: scope,
          scopes: [scope],
          createdAt: 0,
          hash: hashOf(tokens[scope]).toString('base64url'),
        })),
      )
    },
  })
})
afterAll(() => house.close())

test('every operation has a name, a sentence, a scope and a schema that refuses unknown fields', () => {
  expect(operations.length).toBeGreaterThan(30)
  for (const operation of operations) {
    expect(operation.name).toMatch(/^[a-z][a-z-]*(\.[a-z][a-z-]*)*$/)
    expect(operation.description).toMatch(/^[A-Z].*\.$/)
    expect(scopes).toContain(operation.scope)
    const unknown = operation.input.safeParse({ 'no-such-field': 1 })
    const codes = unknown.success ? [] : unknown.error.issues.map((issue) => issue.code)
    expect([operation.name, codes]).toEqual([operation.name, expect.arrayContaining(['unrecognized_keys'])])
  }
})

test('a command without options gets what the schema of its operation would make of that', () => {
  const some = operations.filter(({ withoutOptions }) => withoutOptions)
  expect(some.map(({ name }) => name)).toEqual(['cc.list', 'sessions.list'])
  for (const { input, withoutOptions } of some) {
    expect(input.parse({})).toEqual(withoutOptions!.program)
    expect(input.parse(withoutOptions!.person)).toEqual(withoutOptions!.person)
  }
})

test('what changes something is not open to readers', () => {
  const changing = operations.filter((operation) => operation.changesState || operation.destructive)
  expect(changing.filter((operation) => operation.scope === 'read').map(({ name }) => name)).toEqual([])
})

test('every alias leads to an operation', () => {
  const names = new Set(operations.map(({ name }) => name))
  const dead = Object.entries(aliases).flatMap(([door, table]) =>
    Object.entries(table as Record<string, { of: string }>)
      .filter(([, { of }]) => !names.has(of))
      .map(([name]) => `${door} ${name}`),
  )
  expect(dead).toEqual([])
})

describe('methods', () => {
  test('none answers without a credential, over HTTP', async () => {
    const body = JSON.stringify(
      operations.slice(0, 100).map(({ name }, id) => ({ jsonrpc: '2.0', id, method: name })),
    )
    const answer = await http(house, '/rpc', { method: 'POST', body })
    expect(answer.status).toBe(401)
    expect(answer.json()).toMatchObject({ error: { data: { code: 'unauthorized' } } })
  })

  test('none answers without a credential, over a WebSocket', async () => {
    const methods = [...operations.map(({ name }) => name), ...topics.map(({ name }) => `${name}.subscribe`)]
    for (const method of [methods[0]!, methods.at(-1)!]) {
      const client = await connect(house)
      const answer = await client.call(method)
      expect(answer.error?.data?.code).toBe('unauthorized')
      expect(await client.closed).toMatchObject({ code: 1008 })
    }
  })

  test('each refuses every scope that is too narrow, before it looks at the input', async () => {
    for (const scope of scopes) {
      const narrow = operations.filter((operation) => tooNarrow(operation.scope).includes(scope))
      for (let start = 0; start < narrow.length; start += 100) {
        const some = narrow.slice(start, start + 100)
        const body = JSON.stringify(
          some.map(({ name }, id) => ({ jsonrpc: '2.0', id, method: name, params: {} })),
        )
        const answer = await http(house, '/rpc', { method: 'POST', body, token: tokens[scope] })
        const answers = JSON.parse(answer.body) as Array<{ id: number; error?: { data?: { code: string } } }>
        const refused = answers
          .filter(({ error }) => error?.data?.code === 'forbidden')
          .map(({ id }) => some[id]!.name)
        expect(new Set(refused)).toEqual(new Set(some.map(({ name }) => name)))
      }
    }
  })

  test('each alias of a method is as guarded as the method', async () => {
    const byName = new Map(operations.map((operation) => [operation.name, operation]))
    const guarded = Object.entries(aliases.rpc).filter(([, { of }]) => byName.get(of)!.scope !== 'read')
    for (const [alias] of guarded) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: alias, params: {} })
      const answer = await http(house, '/rpc', { method: 'POST', body, token: tokens.read })
      expect([alias, answer.json()]).toMatchObject([alias, { error: { data: { code: 'forbidden' } } }])
    }
  })

  test('each is refused in the process itself, where no gateway stands before it', async () => {
    for (const operation of operations) {
      for (const scope of tooNarrow(operation.scope)) {
        const refused = perform(house.app, operation.name, {}, { via: 'mcp', scopes: [scope] })
        await expect(refused).rejects.toMatchObject({ code: 'forbidden' })
      }
    }
  })
})

describe('subscriptions', () => {
  test('each needs a scope; one that has none is refused', async () => {
    for (const topic of topics) {
      expect(scopes).toContain(topic.scope)
      const method = `${topic.name}.subscribe`
      const input = topic.name === 'sessions.messages' ? { key: 'agent:main:main' } : {}
      const client = await connect(house)
      await client.call('connect', { token: tokens[topic.scope] })
      // Some topics are only for programs with agents of their own.
      const refusal = topic.forHosts === 'only' ? 'forbidden' : undefined
      expect((await client.call(method, input)).error?.data?.code).toBe(refusal)
      const bogus = await client.call(method, { ...input, bogus: 1 })
      expect(bogus.error?.data?.code).toBe(refusal ?? 'input-invalid')
      client.socket.close()
      if (topic.scope === 'read') continue
      const reader = await connect(house)
      await reader.call('connect', { token: tokens.read })
      expect((await reader.call(method, input)).error?.data?.code).toBe('forbidden')
      reader.socket.close()
    }
  })
})

describe('routes', () => {
  test.each(Object.entries(routes).filter(([, { access }]) => access !== 'public'))(
    '%s refuses without a credential and with a wrong one',
    async (route) => {
      const [method, path] = route.split(' ') as [string, string]
      const headers = { origin: `http://127.0.0.1:${house.gateway.port}` }
      for (const token of [undefined, 'wrong']) {
        const answer = await http(house, path, {
          method,
          token,
          headers: path === '/login' ? headers : {},
          body: method === 'POST' ? '{}' : undefined,
        })
        expect(answer.status).toBe(401)
      }
    },
  )

  test('only /health says anything to a stranger, and that it is well', async () => {
    const open = Object.entries(routes).filter(([, { access }]) => access === 'public')
    expect(open.map(([route]) => route)).toEqual(['GET /health', 'POST /logout'])
    expect((await http(house, '/health')).json()).toEqual({ ok: true })
    expect((await http(house, '/logout', { method: 'POST' })).json()).toEqual({ ok: true })
  })

  test('/metrics opens for a reader', async () => {
    expect((await http(house, '/metrics', { token: tokens.read })).status).toBe(200)
  })
})

describe('tools', () => {
  const offered = (operation: Operation): boolean => operation.forAgents === true

  test('a client is offered the operations for agents that its scopes allow, and no others', async () => {
    for (const scope of scopes) {
      const tools = await operationTools([scope], async () => undefined)
      for (const { operation } of tools) {
        expect(offered(operation)).toBe(true)
        expect(hasScope([scope], operation.scope)).toBe(true)
      }
      const expected = operations.filter(
        (operation) => offered(operation) && hasScope([scope], operation.scope),
      )
      expect(new Set(tools.map(({ operation }) => operation.name))).toEqual(
        new Set(expected.map(({ name }) => name)),
      )
    }
  })

  test('no tool that administers is for agents', () => {
    expect(operations.filter((operation) => offered(operation) && operation.scope === 'admin')).toEqual([])
  })
})
