// The bridge with the real Claude binary, in-process and over stdio, and with a plain MCP client: live answers to all
// six tools.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openApp } from '../src/app.ts'
import { chooseAgent } from '../src/agent/choose.ts'
import { makeBridge } from '../src/discovery/bridge.ts'
import { systemClock } from '../src/domain/clock.ts'
import { silentLog } from '../src/domain/log.ts'
import type { App } from '../src/operations/app.ts'
import { bridgeWorld } from '../src/operations/cc/bridge-world.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import type { ClaudeHome } from './support/claude-home.ts'
import { claudeBinary, makeClaudeHome, testModel } from './support/claude-home.ts'
import type { MessagesApi, Step } from './support/messages-api.ts'
import { startMessagesApi } from './support/messages-api.ts'
import { programFile } from './support/program.ts'
import { toolsOf } from '../src/rights/tools.ts'

const key = 'agent:main:telegram:direct:7'
const calls: Array<[string, Record<string, unknown>]> = [
  ['openclaw_conversation_context', {}],
  ['openclaw_memory_search', { query: 'cookies' }],
  ['openclaw_announce', { message: 'Half done' }],
  ['openclaw_session_info', {}],
  ['openclaw_project_status', {}],
  ['openclaw_session_list', {}],
]

let api: MessagesApi
let home: ClaudeHome
let app: App

beforeEach(async () => {
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'bridge' })
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=Ada', '-c', 'user.email=a@example.com', ...args], {
      cwd: home.project,
    })
  git('init', '-q', '-b', 'trunk')
  git('commit', '-q', '--allow-empty', '-m', 'First')
  const config = { channels: { ownerAllowFrom: ['telegram:7'] } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  app = await openApp(readEnvironment(home.variables), { version: '0' })
  await app.storage.sessions('main').update(key, () => ({
    sessionId: 'chat-1',
    updatedAt: 1,
    estimatedCostUsd: 0.5,
    deliveryContext: { channel: 'telegram', to: '7' },
  }))
  const said = {
    type: 'message' as const,
    message: { role: 'user' as const, content: 'Please mend the login', timestamp: 1 },
  }
  await app.storage.transcripts('main').append({ sessionId: 'chat-1' }, [said], { cwd: home.project })
  mkdirSync(join(app.paths.agent('main'), 'memory'), { recursive: true })
  writeFileSync(join(app.paths.agent('main'), 'memory', 'notes.md'), 'The login uses cookies.')
})

afterEach(async () => {
  await app.close()
  await api.close()
  home.remove()
})

/** The model calls every tool, one after the other, and then says that it is done. */
const steps: Step[] = [
  ...calls.map(([name, input]): Step => ({ tools: [{ name: `mcp__openclaw-bridge__${name}`, input }] })),
  { text: 'All six answered.' },
]

/** What the tools returned to the model, in order. */
function toolResults(): string[] {
  const last = api.calls().at(-1)!
  const blocks = (last.body.messages ?? []).flatMap(({ content }) =>
    typeof content === 'string' ? [] : content,
  )
  return blocks.filter(({ type }) => type === 'tool_result').map(({ content }) => JSON.stringify(content))
}

test('the real binary calls all six tools in-process and gets live answers', async (ctx) => {
  ctx.skip(!existsSync(claudeBinary), 'there is no Claude binary for this platform')
  api.script('Use the bridge', steps)
  const runtime = await chooseAgent({
    environment: app.environment,
    config: app.config,
    paths: app.paths,
    clock: systemClock,
    log: silentLog,
    version: '0',
  })
  try {
    const world = bridgeWorld(app, { agentId: 'main', repoPath: home.project, sessionKey: key })
    const conversation = await runtime.open({
      key,
      agent: { id: 'main', name: 'main', workspace: home.project, settingSources: [] },
      cwd: home.project,
      model: testModel,
      permissionMode: 'default',
      allowedTools: [],
      toolRights: toolsOf('owner'),
      tools: [makeBridge()(world, app.config.mcpBridge)!],
      askPermission: async () => ({ behavior: 'deny', message: 'Nobody is there.' }),
    })
    const result = await conversation.turn({ text: 'Use the bridge', uuid: crypto.randomUUID() }, () => {})
    expect(result).toMatchObject({
      end: { kind: 'completed' },
      text: expect.stringContaining('All six answered.'),
    })
    const [context, memory, announced, info, status, list] = toolResults()
    expect(context).toContain('Please mend the login')
    expect(memory).toContain('The login uses cookies.')
    expect(announced).toContain('deliveryId')
    expect(info).toContain('costAccumulatedUsd')
    expect(status).toContain('trunk')
    // The session that asks is running, and the list knows it: it is live.
    expect(list).toContain(conversation.sdkSessionId)
    expect(list).toContain('\\"isRunning\\":true')
    const outbox = await app.storage.work.outbox.list()
    expect(outbox.map(({ delivery }) => delivery.reply.text)).toEqual(['Half done'])
  } finally {
    await runtime.close()
  }
})

const rockpool = {
  command: process.execPath,
  args: [programFile, 'mcp', '--bridge'],
}

test('an MCP client finds and calls all six over stdio', async () => {
  const client = new Client({ name: 'test', version: '1' })
  await client.connect(
    new StdioClientTransport({
      command: rockpool.command,
      args: [...rockpool.args, '--session-key', key],
      env: home.variables,
      cwd: home.project,
    }),
  )
  try {
    expect(client.getServerVersion()).toMatchObject({ name: 'openclaw-bridge', version: '2.0.0' })
    const { tools } = await client.listTools()
    expect(tools.map(({ name }) => name)).toEqual([
      ...calls.map(([name]) => name),
      'recall_lost',
      'why',
      'mail_send',
      'mail_inbox',
    ])
    const answers: string[] = []
    for (const [name, input] of calls) {
      const answer = await client.callTool({ name, arguments: input })
      expect(answer.isError).toBe(false)
      answers.push(JSON.stringify(answer.content))
    }
    expect(answers[0]).toContain('Please mend the login')
    expect(answers[1]).toContain('cookies')
    expect(answers[4]).toContain('trunk')
    // A commit later the same server tells of it: nothing was baked in.
    execFileSync('git', ['checkout', '-q', '-b', 'later'], { cwd: home.project })
    const again = await client.callTool({ name: 'openclaw_project_status', arguments: {} })
    expect(JSON.stringify(again.content)).toContain('later')
    const wrong = await client.callTool({
      name: 'openclaw_session_info',
      arguments: { sessionKey: 'agent:other:main' },
    })
    expect(wrong.isError).toBe(true)
  } finally {
    await client.close()
  }
  const outbox = await app.storage.work.outbox.list()
  expect(outbox.map(({ delivery }) => delivery.address.to)).toEqual(['7'])
})

test('the real binary, started without us, finds itself through the bridge over stdio', async (ctx) => {
  ctx.skip(!existsSync(claudeBinary), 'there is no Claude binary for this platform')
  // A model thinks first; meanwhile Claude Code writes the prompt to its transcript.
  api.script('Use the bridge', [{ ...steps[0]!, startDelayMs: 1_000 }, ...steps.slice(1)])
  const servers = { mcpServers: { 'openclaw-bridge': { ...rockpool, env: home.variables } } }
  const file = join(home.root, 'mcp.json')
  writeFileSync(file, JSON.stringify(servers))
  const args = ['-p', 'Use the bridge', '--model', testModel, '--mcp-config', file, '--strict-mcp-config']
  const code = await run(claudeBinary, [
    ...args,
    '--allowedTools',
    'mcp__openclaw-bridge',
    '--output-format',
    'json',
  ])
  expect(code).toBe(0)
  const [context, , , info, status, list] = toolResults()
  // A native session has no chat of ours: its conversation is what it said itself, its cost what its file says.
  expect(context).toContain('Use the bridge')
  expect(info).toMatch(/costAccumulatedUsd\\*":0\.0*[1-9]/)
  expect(status).toContain('trunk')
  expect(list).toContain('\\"activeCount\\":1')
})

function run(command: string, args: string[]): Promise<number | null> {
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: home.project, env: home.variables, stdio: 'ignore' })
    child.on('error', reject)
    child.on('close', resolve)
  })
}
