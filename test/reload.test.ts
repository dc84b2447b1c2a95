// A changed configuration takes effect in the running gateway, or the gateway says that it needs a restart.
import { writeFileSync } from 'node:fs'
import { expect, test, vi } from 'vitest'
import { applyConfig } from '../src/store/config-reload.ts'
import { configSchema } from '../src/domain/config.ts'
import type { Config } from '../src/domain/config.ts'
import type { RockpoolEvent } from '../src/domain/events.ts'
import { ownerGives } from '../src/domain/giver.ts'
import type { Message } from '../src/domain/message.ts'
import { Admission } from '../src/flow/admission.ts'
import { rightsOfTurn } from '../src/flow/turn-rights.ts'
import type { Converse } from '../src/flow/converse.ts'
import { writeHookToken } from '../src/store/gateway-tokens.ts'
import { home, newRepo, openGateway, parentKey } from './support/coding-gateway.ts'
import { http, rpc } from './support/gateway-house.ts'
import type { House } from './support/gateway-house.ts'

interface Running {
  house: House
  converse: Converse
  admission: Admission
  /** Where a message of the owner goes now. */
  route: () => ReturnType<Admission['routeByChat']>
}

/** What is changed in a section, and what then is different in the gateway that runs. */
interface Reloadable {
  to: unknown
  seen: (running: Running) => unknown
  before: unknown
  after: unknown
}

/** Every section of the configuration: a new one must say here how it is reloaded. */
const sections: Record<keyof Config, Reloadable | { restart: unknown }> = {
  store: { restart: 'files' },
  durability: { restart: 'relaxed' },
  timeZone: { restart: 'Asia/Tokyo' },
  log: { restart: { level: 'debug' } },
  claude: { restart: { credential: 'none', maxLive: 3 } },
  channels: { restart: { telegram: { enabled: false } } },
  memory: { restart: { folders: ['notes'] } },
  discovery: { restart: { onlyConfigured: true } },
  vault: { restart: { enabled: false } },
  session: {
    to: { dmScope: 'main' },
    seen: ({ route }) => route().lane,
    before: 'agent:main:telegram:direct:42',
    after: 'agent:main:main',
  },
  agents: {
    to: { list: [{ id: 'main' }, { id: 'crab', default: true }] },
    seen: ({ route }) => route().agentId,
    before: 'main',
    after: 'crab',
  },
  bindings: {
    to: [{ agentId: 'crab', match: { channel: 'telegram' } }],
    seen: ({ route }) => route().agentId,
    before: 'main',
    after: 'crab',
  },
  messages: {
    to: { groupChat: { mentionPatterns: ['oyster'] } },
    seen: ({ admission }) => admission.mentionsFor({ ...message, chatType: 'group' }).patterns?.length,
    before: 0,
    after: 1,
  },
  gateway: {
    to: { hosts: ['reef.example'] },
    seen: async ({ house }) => (await http(house, '/health', { headers: { host: 'reef.example' } })).status,
    before: 403,
    after: 200,
  },
  hooks: {
    to: { enabled: true },
    // 404 while hooks are off; then this token is not the hooks' own.
    seen: async ({ house }) =>
      (await http(house, '/hooks/wake', { method: 'POST', body: '{}', token: house.token })).status,
    before: 404,
    after: 401,
  },
  coding: {
    to: { perRepo: { running: 3 } },
    seen: ({ house }) => house.app.coding().choice.sources(false).atOnce,
    before: 1,
    after: 3,
  },
  sessionSelection: {
    to: { resumeThreshold: 0.9 },
    seen: ({ house }) => house.app.coding().choice.settings(undefined).resumeThreshold,
    before: 0.6,
    after: 0.9,
  },
  mcpBridge: {
    to: { enabled: false },
    seen: async ({ converse }) => {
      const entry = { sessionId: 's', updatedAt: 0, chatType: 'direct' as const }
      const session = { key: parentKey, agentId: 'main', entry }
      const rights = rightsOfTurn(session, { address: home }, converse.parts)
      return (await converse.parts.toolsFor!(session, home, rights)).length
    },
    before: 2,
    after: 1,
  },
  mail: {
    to: { perMinute: 5 },
    seen: ({ house }) => house.app.config.mail.perMinute,
    before: 20,
    after: 5,
  },
  machine: {
    to: { turnsAtOnce: 3 },
    seen: ({ converse }) => converse.parts.config.machine.turnsAtOnce,
    before: 16,
    after: 3,
  },
}

const base = {
  claude: { credential: 'none' },
  agents: { list: [{ id: 'main', default: true }, { id: 'crab' }] },
}
const address = { channel: 'telegram' as const, accountId: 'default', to: '42' }
const message = {
  id: '1',
  address,
  chatType: 'direct',
  sender: { id: '42' },
  text: 'hello',
  media: [],
} as unknown as Message

test('every section of the configuration takes effect when it is changed, or is said to need a restart', async () => {
  const running = await openRunning()
  for (const [section, expected] of Object.entries(sections)) {
    if ('restart' in expected) {
      expect(change(running, { [section]: expected.restart }), section).toMatchObject({
        reloaded: [],
        needsRestart: [section],
      })
      continue
    }
    expect(await expected.seen(running), section).toEqual(expected.before)
    expect(change(running, { [section]: expected.to }), section).toMatchObject({
      reloaded: [section],
      needsRestart: [],
    })
    expect(await expected.seen(running), section).toEqual(expected.after)
    change(running, {})
  }
})

test('single keys that are fixed at the start keep their value while the rest of their section is reloaded', async () => {
  const running = await openRunning()
  const { config } = running.house.app
  const said = change(running, {
    gateway: { port: 7, hosts: ['reef.example'] },
    machine: { name: 'heron', turnsAtOnce: 3 },
    agents: { ...base.agents, defaults: { heartbeat: { every: '30m' } } },
  })
  expect(said.reloaded.toSorted()).toEqual(['agents', 'gateway', 'machine'])
  expect(said.needsRestart).toEqual(['gateway.port', 'machine.name', 'agents.*.heartbeat.every'])
  expect(config.gateway).toMatchObject({ port: 18_789, hosts: ['reef.example'] })
  expect(config.machine).toMatchObject({ name: undefined, turnsAtOnce: 3 })
})

test('coding sessions follow changed settings: limits, time-outs and budgets of the next launch, answer and question', async () => {
  const { house, ...rest } = await openRunning()
  const { pool, approvals } = house.app.coding()
  change(
    { house, ...rest },
    {
      coding: {
        maxAutoResponds: 0,
        approvalTimeoutMinutes: 60,
        workspaceRoots: [house.dir],
        budgets: { usdPerDay: 1 },
      },
    },
  )
  const request = {
    prompt: 'one',
    workdir: newRepo(house),
    agentId: 'main',
    budgetUsd: 5,
    allowedTools: [],
    permissionMode: 'default' as const,
    multiTurn: true,
    originChannel: 'gateway',
  }
  const door = house.app.coding().givenBy(ownerGives)
  await expect(door.spawn({ ...request, workdir: '/' })).rejects.toThrow(/workspaceRoots|not below|outside/)
  const { id } = await door.spawn(request)
  await vi.waitFor(() => expect(pool.resolve(id).lifecycle).toBe('awaiting-input'))
  await expect(door.respond(id, 'two')).rejects.toThrow(/limit reached \(0\/0\)/)
  const signal = AbortSignal.abort()
  const ask = { requestId: 'r', kind: 'tool' as const, toolName: 'Bash', input: { command: 'ls' } }
  await approvals.settle({ codingId: id, agentId: 'main', request: ask }, signal, ({ askedAt, expiresAt }) =>
    expect(expiresAt! - askedAt).toBe(60 * 60_000),
  )
})

async function openRunning(): Promise<Running> {
  const house = await openGateway(base)
  writeHookToken(house.dir, 'a-token-of-the-hooks')
  applyConfig(house.app, configSchema.parse(base))
  const { converse } = await house.app.conversations()
  const admission = new Admission(converse.parts, {
    queue: converse.queue,
    deliverer: converse.deliverer,
    ask: (input) => converse.ask(input),
  })
  return { house, converse, admission, route: () => admission.routeByChat(message) }
}

/** Writes this configuration over the defaults; resolves to what the gateway says about it. */
function change(
  { house }: Pick<Running, 'house'>,
  to: Record<string, unknown>,
): Extract<RockpoolEvent, { type: 'config-changed' }> {
  const said: RockpoolEvent[] = []
  const off = house.app.events.on((event) => void said.push(event))
  applyConfig(house.app, configSchema.parse({ ...base, ...to }))
  off()
  return (
    said.find((event) => event.type === 'config-changed') ?? {
      type: 'config-changed',
      reloaded: [],
      needsRestart: [],
    }
  )
}

test('a raised limit lets a queued session start at once; status and doctor show a changed file that is invalid', async () => {
  const house = await openGateway({ coding: { maxSessions: 1 } })
  const { app } = house
  const launch = async (name: string): Promise<string> => {
    const input = { prompt: '[[offline: wait 60000]]', name, workdir: newRepo(house), fresh: true }
    return (await call(house, 'coding.launch', input))['id'] as string
  }
  const first = await launch('first')
  await vi.waitFor(() => expect(app.storage.coding.get(first)!.lifecycle).toBe('active'))
  const second = await launch('second')
  expect(app.storage.coding.get(second)!.lifecycle).toBe('queued')
  const { coding } = app.config
  applyConfig(app, { ...app.config, coding: { ...coding, maxSessions: 2 } })
  await vi.waitFor(() => expect(app.storage.coding.get(second)!.lifecycle).toBe('active'))
  expect(await call(house, 'status')).not.toHaveProperty('problems')
  writeFileSync(app.environment.configFile, '{ coding: { maxSessions: "many" } }')
  const { problems } = await call(house, 'status')
  expect(problems).toEqual([expect.stringMatching(/coding\.maxSessions.*stays in force/s)])
  expect(await call(house, 'doctor')).toMatchObject({
    ok: false,
    findings: expect.arrayContaining([expect.objectContaining({ kind: 'config-invalid' })]),
  })
})

async function call(house: House, method: string, params: object = {}): Promise<Record<string, unknown>> {
  const { result, error } = await rpc(house, method, params)
  expect(error).toBeUndefined()
  return result as Record<string, unknown>
}
