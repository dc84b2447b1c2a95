// Sessions that were handed over, continued by the real programs: Codex and pi from npm, installed at the first run, and the Claude
// binary of the Agent SDK. The request that each of them sends to its model must contain the earlier conversation.
import { execFile, execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openApp } from '../../src/app.ts'
import { perform } from '../../src/operations/all.ts'
import type { App } from '../../src/operations/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { claudeBinary, makeClaudeHome, testModel, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'
import { startResponsesApi, type ResponsesApi } from '../support/responses-api.ts'

const run = promisify(execFile)
/** Codex has 436 MB, so it is kept for the next run. */
const programs = join(tmpdir(), 'rockpool-test-agents')
const recorded = join(import.meta.dirname, '../fixtures/agents')
const codexId = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
const piId = '01a1e4d3-23f5-73cd-ac48-9dc2b92016de'

let messages: MessagesApi
let responses: ResponsesApi
let home: ClaudeHome
let app: App

beforeAll(async () => {
  messages = await startMessagesApi()
  responses = await startResponsesApi('Go on.')
  home = makeClaudeHome({ apiUrl: messages.url, name: 'handoff' })
  copySessions('codex/home/sessions', join(home.home, '.codex/sessions'))
  copySessions('pi/agent/sessions', join(home.home, '.pi/agent/sessions'))
  writeFileSync(join(home.home, '.codex/config.toml'), codexConfig(responses.url))
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

function codexConfig(url: string): string {
  return `model = "gpt-5.5"
model_provider = "test"
check_for_update_on_startup = false
[analytics]
enabled = false
[features]
daemon_auto_start = false
plugins = false
apps = false
[model_providers.test]
name = "test"
base_url = "${url}"
wire_api = "responses"
env_key = "TEST_KEY"
`
}

/** The program's file, or why it cannot be had. */
function installed(name: string, version: string, file: string): { file: string; missing?: string } {
  const folder = join(programs, `${name.replaceAll(/\W+/g, '-')}-${version}`)
  const path = join(folder, file)
  if (existsSync(path)) return { file: path }
  mkdirSync(folder, { recursive: true })
  try {
    // pi cannot be installed where one of its optional packages is missing, but its tarball is complete.
    if (file.startsWith('package/')) {
      const [tarball] = JSON.parse(
        execFileSync('npm', ['pack', `${name}@${version}`, '--json'], { cwd: folder }).toString(),
      ) as Array<{ filename: string }>
      execFileSync('tar', ['xzf', tarball!.filename], { cwd: folder })
    } else {
      const options = ['--prefix', folder, '--no-audit', '--no-fund', '--no-save']
      execFileSync('npm', ['install', ...options, `${name}@${version}`])
    }
    return { file: path }
  } catch (error) {
    return { file: path, missing: `${name} cannot be installed: ${String(error).split('\n')[0]}` }
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
  const codex = installed('@openai/codex', '0.166.0', 'node_modules/.bin/codex')
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
  const pi = installed('@earendil-works/pi-coding-agent', '1.5.0', 'package/dist/bundle/cli.js')
  if (pi.missing !== undefined) ctx.skip(pi.missing)
  messages.script('What is next?', [{ text: 'Go on.' }])
  const id = await handOver(codexId, 'pi')
  const env = { ...home.variables, PI_OFFLINE: '1', ANTHROPIC_API_KEY: 'test' }
  const args = [pi.file, '-p', '--session', id, 'What is next?']
  const running = run(process.execPath, args, { cwd: home.project, env, timeout: 120_000 })
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
