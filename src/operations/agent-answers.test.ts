import { expect, test } from 'vitest'
import { operationTools } from './agent-tools.ts'
import { answerText, compactAnswer } from './agent-answers.ts'

const scopes = ['read', 'write'] as const

/** Answers as large as real ones. */
const long = 'We should look at how the login form handles expired tokens. '.repeat(20)
const outputs: Record<string, () => object> = {
  cc_list: () => ({ total: 41, sessions: Array.from({ length: 41 }, discovered) }),
  claude_sessions: () => ({ count: 41, sessions: Array.from({ length: 41 }, coding) }),
  sessions_list: () => ({
    ts: 1,
    path: '/x',
    count: 41,
    total: 41,
    sessions: Array.from({ length: 41 }, own),
  }),
  sessions_search: () => ({ tookMs: 1, total: 20, hits: Array.from({ length: 20 }, hit), notes: [] }),
  sessions_history: () => ({ key: 'k', entries: Array.from({ length: 50 }, entry), damage: [] }),
}

const uuid = '0a1b2c3d-0000-4000-8000-00000000000a'
const place = { repoPath: '/home/somebody/projects/shop-frontend', branch: 'feature/login-expired-token' }
const discovered = (): object => ({
  ...place,
  sessionId: uuid,
  title: long,
  firstMessage: long,
  lastPrompt: long,
  status: 'stopped',
  lastModified: '2026-11-16T22:10:11.123Z',
  costUsd: 1.23456789,
  filePath: `/x/${uuid}`,
  subagentTokens: {},
})
const coding = (): object => ({
  id: 'AbCd1234',
  name: 'fix-login-form',
  lifecycle: 'ended',
  status: 'completed',
  prompt: long,
  display: `✅ fix-login-form [AbCd1234] (12m 3s) — background, multi-turn\n   📁 ${place.repoPath}\n   📝 "${long.slice(0, 79)}…"\n   🔗 Claude ID: ${uuid}`,
})
const own = (): object => ({
  key: 'agent:main:telegram:direct:501234567',
  agentId: 'main',
  sessionId: uuid,
  updatedAt: 1.7e12,
  displayName: 'Ada Lovelace',
  model: 'claude-sonnet-5-5',
  totalTokens: 123_456,
  origin: { label: long },
})
const hit = (): object => ({
  sessionId: uuid,
  source: 'native',
  ...place,
  role: 'user',
  line: 7,
  snippet: long,
})
const entry = (): object => ({
  type: 'message',
  id: uuid,
  timestamp: '2026-11-16T22:10:11.123Z',
  message: {
    role: 'assistant',
    content: [{ type: 'text', text: long }],
    usage: { input: 1, cost: { total: 1 } },
  },
})

test.each(Object.keys(outputs))('%s answers with at most 2 kB, and says that there is more', async (name) => {
  const tools = await operationTools(scopes, async () => outputs[name]!())
  const { text, structured } = await tools.find((tool) => tool.name === name)!.call({})
  expect(Buffer.byteLength(text)).toBeLessThanOrEqual(2048)
  expect(Buffer.byteLength(JSON.stringify(structured ?? null))).toBeLessThanOrEqual(2048)
  expect(text).toMatch(/\d+ more; set limit/)
})

test('a limit gives as many rows as it says; a history is whole then', () => {
  const { sessions } = compactAnswer('cc.list', { limit: 41 }, outputs['cc_list']!()) as {
    sessions: object[]
  }
  expect(sessions).toHaveLength(41)
  const history = outputs['sessions_history']!()
  expect(compactAnswer('sessions.history', { limit: 50 }, history)).toBe(history)
})

test('each operation is listed once; second names work when they are called', async () => {
  const tools = await operationTools(scopes, async () => ({ sessions: [], count: 0 }))
  const listed = tools.filter(({ isListed }) => isListed)
  expect(new Set(listed.map(({ operation }) => operation.name)).size).toBe(listed.length)
  expect(listed.map(({ name }) => name)).toEqual(
    expect.arrayContaining(['claude_launch', 'cc_list', 'session_status']),
  )
  const second = tools.find(({ name }) => name === 'coding_sessions')!
  expect(second.isListed).toBe(false)
  expect((await second.call({})).structured).toMatchObject({ sessions: [] })
})

test('the answer to a launch says when it continues an earlier conversation, and how to start a new one', () => {
  const row = { id: 'AbCd1234', name: 'fix-login-form', workdir: '/shop', reason: 'same branch' }
  expect(answerText('coding.launch', { ...row, action: 'resume' })).toContain('launch it with fresh: true')
  expect(answerText('coding.launch', { ...row, action: 'fresh' })).not.toContain('fresh: true')
  expect(answerText('coding.launch', { ...row, action: 'fresh' })).toContain('(fresh: same branch)')
  const named = { ...row, action: 'fresh', reason: 'fresh: no session here can be continued' }
  expect(answerText('coding.launch', named)).toContain('(fresh: no session here can be continued)')
})
