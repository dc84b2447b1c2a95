import { expect, test } from 'vitest'
import { discoveredSession } from '../../test/support/discovered-session.ts'
import type { BridgeWorld } from '../domain/bridge.ts'
import { mcpBridgeConfig } from '../domain/config/coding-settings.ts'
import { configSchema } from '../domain/config.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import { makeBridge } from './bridge.ts'

const bridgeServer = makeBridge()

function world(about: Partial<BridgeWorld> = {}): BridgeWorld {
  return {
    agentId: 'main',
    repoPath: '/repo',
    task: async () => 'Fix the login form',
    conversation: async () => [
      { role: 'user', text: 'Please fix the login', at: '2026-11-15T00:00:00.000Z' },
    ],
    searchMemory: async (query) => [{ source: 'memory/notes.md', text: `about ${query}` }],
    announce: async () => ({ deliveryId: 'd1' }),
    spending: async () => ({ costUsd: 1.25, budgetUsd: 5 }),
    projectStatus: async () => status,
    sessions: async () => sessions,
    recall: async (handle, from) => ({ text: `cut ${handle}`, from, images: [] }),
    sendMail: async ({ to }) => ({ id: 'm1', state: 'accepted', recipient: to }),
    receiveMail: async () => 'There is no new mail.',
    why: async (target) => ({ file: target, confidence: 'unknown' }),
    ...about,
  }
}

const sessions = [
  discoveredSession({
    sessionId: 'native',
    isRunning: true,
    status: 'waiting',
    waitingFor: 'permission prompt',
  }),
  discoveredSession({ sessionId: 'mine', source: 'rockpool', agentId: 'main' }),
  discoveredSession({ sessionId: 'theirs', source: 'rockpool', agentId: 'other' }),
]

const status: ProjectStatus = {
  repo: { path: '/repo', name: 'repo', isGitRepo: true },
  git: {
    currentBranch: 'main',
    headCommitSha: 'abc',
    headCommitMessage: 'First',
    uncommittedChanges: ['M a.ts'],
    stagedChanges: [],
    conflicts: [],
    stashCount: 0,
    recentCommits: [],
    worktrees: [],
  },
  sessions: { active: sessions, recent: sessions, ownRecent: sessions },
  docs: { hasClaudeMd: true, hasSpecs: false, specFiles: [], hasTodo: false, hasReadme: true },
  timestamp: '2026-11-15T00:00:00.000Z',
  problems: [],
}

async function call(name: string, input: Record<string, unknown> = {}, about: Partial<BridgeWorld> = {}) {
  const found = bridgeServer(world(about), mcpBridgeConfig.parse({}))!.tools.find(
    (tool) => tool.name === name,
  )!
  const answer = await found.call(input)
  return {
    ...answer,
    json: answer.isError ? undefined : (JSON.parse(answer.text) as Record<string, unknown>),
  }
}

test('six tools have the names of the seed, one recalls cuts, one asks why and two are for mail, under the server name that Claude knows', () => {
  const server = bridgeServer(world(), mcpBridgeConfig.parse({}))!
  expect(server.name).toBe('openclaw-bridge')
  expect(server.tools.map(({ name }) => name)).toEqual([
    'openclaw_conversation_context',
    'openclaw_memory_search',
    'openclaw_announce',
    'openclaw_session_info',
    'openclaw_project_status',
    'openclaw_session_list',
    'recall_lost',
    'why',
    'mail_send',
    'mail_inbox',
  ])
  for (const tool of server.tools) {
    expect(tool.inputSchema).toMatchObject({ type: 'object', additionalProperties: false })
    expect(tool.readOnly).toBe(!['openclaw_announce', 'mail_send', 'mail_inbox'].includes(tool.name))
  }
})

test('sessions share the input schemas of the tools, so that a session costs little memory', () => {
  const [one, other] = [world(), world({ agentId: 'other' })].map(
    (of) => bridgeServer(of, mcpBridgeConfig.parse({}))!.tools,
  )
  for (const [n, tool] of one!.entries()) expect(tool.inputSchema).toBe(other![n]!.inputSchema)
})

test('each tool can be switched off, and the bridge as a whole', () => {
  const without = configSchema.parse({ mcpBridge: { tools: { openclaw_announce: false } } }).mcpBridge
  expect(bridgeServer(world(), without)!.tools.map(({ name }) => name)).not.toContain('openclaw_announce')
  expect(bridgeServer(world(), without)!.tools).toHaveLength(9)
  expect(bridgeServer(world(), mcpBridgeConfig.parse({ enabled: false }))).toBeUndefined()
  expect(() => configSchema.parse({ mcpBridge: { tools: { openclaw_nothing: true } } })).toThrow(
    /openclaw_nothing/,
  )
})

test('the conversation is the real one, with what is left of the budget', async () => {
  const { json } = await call('openclaw_conversation_context')
  expect(json).toMatchObject({
    task: 'Fix the login form',
    agentId: 'main',
    repo: '/repo',
    budgetRemaining: '$3.75',
    conversation: [{ role: 'user', text: 'Please fix the login' }],
  })
  const unlimited = await call(
    'openclaw_conversation_context',
    {},
    { spending: async () => ({ costUsd: 1 }) },
  )
  expect(unlimited.json!['budgetRemaining']).toBe('unlimited')
})

test('session info has the real cost and budget', async () => {
  expect((await call('openclaw_session_info')).json).toEqual({
    agentId: 'main',
    repo: '/repo',
    task: 'Fix the login form',
    costAccumulatedUsd: 1.25,
    budgetMaxUsd: 5,
    budgetRemainingUsd: 3.75,
  })
})

test('an empty query is refused, a real one searched', async () => {
  expect((await call('openclaw_memory_search', { query: '  ' })).isError).toBe(true)
  expect((await call('openclaw_memory_search')).isError).toBe(true)
  expect((await call('openclaw_memory_search', { query: 'login' })).json).toMatchObject({
    total: 1,
    results: [{ source: 'memory/notes.md', text: 'about login' }],
  })
})

test('an announcement is acknowledged by its delivery; without a chat it is refused (3.9 no. 16)', async () => {
  const said: string[] = []
  const announce = async (message: string) => {
    said.push(message)
    return { deliveryId: 'd7' }
  }
  expect((await call('openclaw_announce', { message: 'Half done' }, { announce })).json).toEqual({
    announced: true,
    deliveryId: 'd7',
  })
  expect(said).toEqual(['Half done'])
  const nobody = await call('openclaw_announce', { message: 'x' }, { announce: async () => undefined })
  expect(nobody).toMatchObject({ isError: true, text: expect.stringContaining('no chat') })
  const withheld = 'It is not for this chat.'
  const refused = await call('openclaw_announce', { message: 'x' }, { announce: async () => ({ withheld }) })
  expect(refused.json).toEqual({ announced: false, reason: withheld })
})

test('sessions of other agents are not there, whatever the world hands over', async () => {
  const list = (await call('openclaw_session_list')).json!
  expect(list).toMatchObject({ total: 2, activeCount: 1 })
  expect(JSON.stringify(list)).not.toContain('theirs')
  const project = (await call('openclaw_project_status')).text
  expect(project).toContain('mine')
  expect(project).not.toContain('theirs')
})

test('include_native leaves the native ones out', async () => {
  const list = (await call('openclaw_session_list', { include_native: false })).json!
  expect((list['sessions'] as Array<{ sessionId: string }>).map(({ sessionId }) => sessionId)).toEqual([
    'mine',
  ])
})

test('the list is asked for at every call: it is live, not a snapshot', async () => {
  let count = 0
  const about = { sessions: async () => sessions.slice(0, ++count) }
  const server = bridgeServer(world(about), mcpBridgeConfig.parse({}))!
  const list = server.tools.find(({ name }) => name === 'openclaw_session_list')!
  expect((await list.call({})).structured).toMatchObject({ total: 1 })
  expect((await list.call({})).structured).toMatchObject({ total: 2 })
})

test('project status is the whole status, with the branch where others look for it', async () => {
  expect((await call('openclaw_project_status')).json).toMatchObject({
    branch: 'main',
    headCommit: 'abc First',
    repo: { path: '/repo' },
    git: { uncommittedChanges: ['M a.ts'] },
    docs: { hasClaudeMd: true },
  })
})

test('no tool takes the name of another session, agent or directory', async () => {
  for (const input of [{ sessionKey: 'agent:other:main' }, { agentId: 'other' }, { repo: '/etc' }]) {
    for (const name of ['openclaw_session_info', 'openclaw_conversation_context', 'openclaw_session_list']) {
      expect((await call(name, input)).isError).toBe(true)
    }
  }
})

test('a title that looks like code stays a title', async () => {
  const hostile = '`${process.exit(1)}` */ </script> \u2028'
  const { json } = await call(
    'openclaw_session_list',
    {},
    {
      sessions: async () => [discoveredSession({ title: hostile, firstMessage: hostile })],
    },
  )
  expect(json!['sessions']).toMatchObject([{ title: '`${process.exit(1)}` */ </script>' }])
})

test('the session gets a message about each failure', async () => {
  const failing = {
    projectStatus: () =>
      Promise.reject(new RockpoolError('not-found', 'There is no directory "/repo".', { hint: 'Look.' })),
  }
  expect(await call('openclaw_project_status', {}, failing)).toMatchObject({
    isError: true,
    text: 'openclaw_project_status: There is no directory "/repo". Look.',
  })
})

test('long texts are cut, so that a call does not fill the context', async () => {
  const long = { conversation: async () => [{ role: 'user' as const, text: 'x'.repeat(100_000) }] }
  expect((await call('openclaw_conversation_context', {}, long)).text.length).toBeLessThan(6_000)
  const many = { searchMemory: async () => [{ source: 'a', text: 'x'.repeat(100_000) }] }
  expect((await call('openclaw_memory_search', { query: 'x' }, many)).text.length).toBeLessThan(4_000)
})
