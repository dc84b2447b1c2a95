// Sessions that were handed over, continued by the real programs: Codex and pi from npm, installed at the first run, and the Claude
// binary of the Agent SDK. The request that each of them sends to its model must contain the earlier conversation.
import { execFile } from 'node:child_process'
import { cpSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../src/app.ts'
import { perform } from '../../src/operations/all.ts'
import type { App } from '../../src/operations/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { codexConfig, installed } from '../support/agent-programs.ts'
import { claudeBinary, makeClaudeHome, testModel, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { startAgentsApi, type AgentsApi } from '../support/agents-api.ts'

const run = promisify(execFile)
const recorded = join(import.meta.dirname, '../fixtures/agents')
const codexId = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
const piId = '01a1e4d3-23f5-73cd-ac48-9dc2b92016de'

let messages: MessagesApi
let responses: AgentsApi
let home: ClaudeHome
let app: App

beforeAll(async () => {
  messages = await startMessagesApi()
  responses = await startAgentsApi()
  home = makeClaudeHome({ apiUrl: messages.url, name: 'handoff' })
  copySessions('codex/home/sessions', join(home.home, '.codex/sessions'))
  copySessions('pi/agent/sessions', join(home.home, '.pi/agent/sessions'))
  writeFileSync(join(home.home, '.codex/config.toml'), codexConfig(`${responses.url}/v1`))
  const provider = { baseUrl: messages.url, apiKey: 'test' }
  const models = JSON.stringify({ providers: { anthropic: provider } })
  writeFileSync(join(home.home, '.pi/agent/models.json'), models)
  app = await openApp(readEnvironment(home.variables), { version: 'test' })
})
afterAll(async () => {
  await app.close()
  await messages.close()
  await responses.close()
  home.remove()
})

/** Their folder is one that exists here. */
function copySessions(from: string, to: string): void {
  cpSync(join(recorded, from), to, { recursive: true })
  for (const name of readdirSync(to, { recursive: true, encoding: 'utf8' }))
    if (name.endsWith('.jsonl')) {
      const text = readFileSync(join(to, name), 'utf8')
      writeFileSync(join(to, name), text.replaceAll('/home/dev/projects/demo', home.project))
    }
}

async function handOver(id: string, to: string): Promise<string> {
  const operator = { via: 'cli', scopes: ['admin'] } as const
  const { sessionId } = (await perform(
    app,
    'cc.handoff',
    { id, to },
    { ...operator, scopes: ['admin'] },
  )) as {
    sessionId: string
  }
  return sessionId
}

const earlier = [
  'List the files, then add a greeting',
  'greet.js',
  'Added greet.js and mentioned it in the README.',
]

test('Codex continues a session of pi', { timeout: 300_000 }, async (ctx) => {
  const codex = installed('codex')
  if (codex.missing !== undefined) ctx.skip(codex.missing)
  const id = await handOver(piId, 'codex')
  const env = { ...home.variables, TEST_KEY: 'test' }
  const args = ['exec', '--skip-git-repo-check', 'resume', id, 'What is next?']
  const running = run(codex.file, args, { cwd: home.project, env, timeout: 120_000 })
  running.child.stdin?.end()
  expect((await running).stdout).toContain('Go on.')
  for (const text of [...earlier, 'What is next?']) expect(responses.requests.at(-1)).toContain(text)
})

test('pi continues a session of Codex', { timeout: 300_000 }, async (ctx) => {
  const pi = installed('pi')
  if (pi.missing !== undefined) ctx.skip(pi.missing)
  messages.script('What is next?', [{ text: 'Go on.' }])
  const id = await handOver(codexId, 'pi')
  const env = { ...home.variables, PI_OFFLINE: '1', ANTHROPIC_API_KEY: 'test' }
  const args = ['-p', '--session', id, 'What is next?']
  const running = run(pi.file, args, { cwd: home.project, env, timeout: 120_000 })
  running.child.stdin?.end()
  expect((await running).stdout).toContain('Go on.')
  const request = JSON.stringify(messages.requests.at(-1)!.body)
  for (const text of [...earlier, 'What is next?']) expect(request).toContain(text)
})

test.each([
  ['Codex', codexId],
  ['pi', piId],
])('Claude Code continues a session of %s', { timeout: 120_000 }, async (_program, from) => {
  messages.script('What is next?', [{ text: 'Go on.' }])
  const id = await handOver(from, 'claude')
  const args = ['-p', 'What is next?', '--resume', id, '--model', testModel]
  const running = run(claudeBinary, args, { cwd: home.project, env: home.variables, timeout: 100_000 })
  running.child.stdin?.end()
  expect((await running).stdout).toContain('Go on.')
  const asked = messages.requests.filter(({ kind }) => kind === 'messages').at(-1)!
  for (const text of [...earlier, 'What is next?']) expect(JSON.stringify(asked.body)).toContain(text)
})
