// Coding sessions of other agents: the real Codex, Gemini CLI, opencode and pi from npm, launched by Rockpool against APIs on loopback.
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { openApp } from '../../src/app.ts'
import type { OtherAgent } from '../../src/domain/agent.ts'
import { perform } from '../../src/operations/all.ts'
import type { App } from '../../src/operations/app.ts'
import { readEnvironment } from '../../src/store/config-file.ts'
import { codexConfig, installed } from '../support/agent-programs.ts'
import { startAgentsApi, type AgentsApi } from '../support/agents-api.ts'
import { makeClaudeHome, type ClaudeHome } from '../support/claude-home.ts'
import { startMessagesApi, type MessagesApi } from '../support/messages-api.ts'

const kinds: OtherAgent[] = ['codex', 'gemini', 'opencode', 'pi']
const waiting = { timeout: 120_000, interval: 50 }
const timeout = 400_000

let messages: MessagesApi
let api: AgentsApi
let home: ClaudeHome
let app: App
const missing = new Map<OtherAgent, string>()

beforeAll(async () => {
  ;[messages, api] = [await startMessagesApi(), await startAgentsApi()]
  home = makeClaudeHome({ apiUrl: messages.url, name: 'programs' })
  pointAtLoopback()
  const programs = Object.fromEntries(kinds.map((kind) => [kind, programSettings(kind)]))
  const config = { coding: { programs, perRepo: { running: 20 }, maxSessions: 20 } }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  const keys = {
    TEST_KEY: 'test',
    GEMINI_API_KEY: 'test',
    GOOGLE_GEMINI_BASE_URL: api.url,
    PI_OFFLINE: '1',
    OPENCODE_DISABLE_MODELS_FETCH: '1',
    OPENCODE_DISABLE_LSP_DOWNLOAD: '1',
  }
  app = await openApp(readEnvironment({ ...home.variables, ...keys }), { version: 'test' })
}, timeout)

afterAll(async () => {
  await app.close()
  await messages.close()
  await api.close()
  home.remove()
})

function programSettings(kind: OtherAgent): Record<string, unknown> {
  const found = installed(kind)
  if (found.missing !== undefined) missing.set(kind, found.missing)
  const keys = ['TEST_KEY', 'OPENCODE_DISABLE_LSP_DOWNLOAD']
  const models = { gemini: 'gemini-2.5-pro', opencode: 'anthropic/claude-sonnet-4-5' }
  return { path: found.file, passEnvironment: keys, model: models[kind as keyof typeof models] }
}

/** The settings of each program in the private home. */
function pointAtLoopback(): void {
  const write = (path: string, text: string): void => {
    mkdirSync(join(home.home, path, '..'), { recursive: true })
    writeFileSync(join(home.home, path), text)
  }
  const anthropic = { baseUrl: messages.url, apiKey: 'test' }
  write('.codex/config.toml', codexConfig(`${api.url}/v1`))
  write('.pi/agent/models.json', JSON.stringify({ providers: { anthropic } }))
  write(
    '.pi/agent/settings.json',
    JSON.stringify({ defaultProvider: 'anthropic', defaultModel: 'claude-sonnet-4-5' }),
  )
  write(
    '.gemini/settings.json',
    JSON.stringify({
      security: { auth: { selectedType: 'gemini-api-key' }, folderTrust: { enabled: false } },
      privacy: { usageStatisticsEnabled: false },
    }),
  )
  const options = { baseURL: `${messages.url}/v1`, apiKey: 'test' }
  write(
    '.config/opencode/opencode.json',
    JSON.stringify({
      autoupdate: false,
      share: 'disabled',
      small_model: 'anthropic/claude-haiku-4-5',
      provider: { anthropic: { options } },
    }),
  )
}

interface Row {
  id: string
  agentKind: string
  claudeSessionId: string
  lifecycle: string
  state: string
  stateText: string
  costUsd: number
  model?: string
  output: string
  note?: string
  turns: number
  contextTokens?: number
}

const operator = { via: 'cli' as const, scopes: ['admin' as const] }

async function act(name: string, input: Record<string, unknown>): Promise<Row> {
  return (await perform(app, name, input, operator)) as Row
}

function launch(kind: OtherAgent, prompt: string, more: Record<string, unknown> = {}): Promise<Row> {
  return act('coding.launch', { prompt, workdir: home.project, agentKind: kind, fresh: true, ...more })
}

async function until(id: string, lifecycle: string): Promise<Row> {
  return vi.waitFor(async () => {
    const row = await act('coding.output', { session: id, lines: 100 })
    const session = app.storage.coding.get(id)!
    expect(session.lifecycle, JSON.stringify(session.end)).toBe(lifecycle)
    return row
  }, waiting)
}

function processesOf(id: string): string[] {
  return readdirSync('/proc').filter((pid) => {
    try {
      return /^\d+$/.test(pid) && readFileSync(`/proc/${pid}/cmdline`, 'utf8').includes(id)
    } catch {
      return false
    }
  })
}

function leaveSmallFile(sessionId: string): void {
  const tmp = join(home.home, '.gemini/tmp')
  const chats = readdirSync(tmp, { recursive: true, encoding: 'utf8' }).find((name) =>
    name.endsWith('/chats'),
  )!
  const name = `session-2026-11-16T00-00-${sessionId.slice(0, 8)}.jsonl`
  const time = '2026-11-16T00:00:00.000Z'
  const header = { sessionId, projectHash: '', startTime: time, lastUpdated: time, kind: 'main' }
  writeFileSync(join(tmp, chats, name), `${JSON.stringify(header)}\n`)
}

const skipUnless = (kind: OtherAgent, ctx: { skip: (why?: string) => void }): void => {
  const why = missing.get(kind)
  if (why !== undefined) ctx.skip(why)
}

test(
  'Codex takes a turn with a command, says what it may do, and continues with the next message',
  { timeout },
  async (ctx) => {
    skipUnless('codex', ctx)
    const command = { name: 'exec_command', input: { cmd: 'echo found-$((6*7))' } }
    api.script('List the files', [
      { text: 'Look first.', tool: command, input: 10_000 },
      { text: 'All listed.', input: 12_000 },
    ])
    const row = await launch('codex', 'List the files', { wait: true, systemPrompt: 'Answer like a pirate.' })
    expect(row).toMatchObject({
      agentKind: 'codex',
      lifecycle: 'awaiting-input',
      state: 'ready',
      model: 'gpt-5.5',
    })
    expect(row.output).toMatch(/Codex cannot ask here: it reads files and runs commands in its sandbox/)
    for (const text of ['Look first.', 'command: ', 'All listed.']) expect(row.output).toContain(text)
    expect(api.requests.at(-1)).toContain('found-42')
    expect(api.requests.at(-1)).toContain('Answer like a pirate.')
    // 22,000 tokens read and 10 written, at the prices of gpt-5.5.
    expect(row.costUsd).toBeCloseTo((22_000 * 5 + 10 * 30) / 1e6)
    expect(row.contextTokens).toBe(12_000)
    await act('coding.respond', { session: row.id, message: 'And now?' })
    await vi.waitFor(
      () => expect(app.storage.coding.get(row.id)).toMatchObject({ turns: 2, lifecycle: 'awaiting-input' }),
      waiting,
    )
    for (const text of ['List the files', 'All listed.', 'And now?'])
      expect(api.requests.at(-1)).toContain(text)
    const listed = await app.discovery().get(row.claudeSessionId)
    expect(listed).toMatchObject({ agentKind: 'codex', source: 'rockpool', promptCount: 2 })
  },
)

test('Codex writes files only if the launch says so', { timeout }, async (ctx) => {
  skipUnless('codex', ctx)
  const write = (name: string) => ({ name: 'exec_command', input: { cmd: `echo hello > ${name}.txt` } })
  api.script('Write closed', [{ tool: write('closed') }, { text: 'Tried.' }])
  api.script('Write open', [{ tool: write('open') }, { text: 'Written.' }])
  await launch('codex', 'Write closed', { wait: true })
  const { note } = await launch('codex', 'Write open', { permissionMode: 'acceptEdits' })
  expect(note).toMatch(/changes files and runs commands in its sandbox/)
  await vi.waitFor(() => expect(existsSync(join(home.project, 'open.txt'))).toBe(true), waiting)
  expect(existsSync(join(home.project, 'closed.txt'))).toBe(false)
})

test(
  'an interrupt stops the turn of Codex, the session takes the next message, and a kill leaves no process',
  { timeout },
  async (ctx) => {
    skipUnless('codex', ctx)
    api.script('Take your time', [{ hang: true }])
    const { id } = await launch('codex', 'Take your time')
    await vi.waitFor(() => expect(app.storage.coding.get(id)!.sdkSessionId).toBeDefined(), waiting)
    await vi.waitFor(() => expect(api.requests.at(-1)).toContain('Take your time'), waiting)
    // It cannot join the turn, so it waits.
    await act('coding.respond', { session: id, message: 'Hurry up' })
    expect(app.storage.coding.get(id)!.inbox).toEqual(['Hurry up'])
    await act('coding.interrupt', { session: id })
    await until(id, 'awaiting-input')
    expect(api.requests.at(-1)).toContain('Hurry up')
    api.script('Hang again', [{ hang: true }])
    await act('coding.respond', { session: id, message: 'Hang again' })
    await vi.waitFor(() => expect(api.requests.at(-1)).toContain('Hang again'), waiting)
    const { sdkSessionId = '' } = app.storage.coding.get(id)!
    expect(processesOf(sdkSessionId).length).toBeGreaterThan(0)
    await act('coding.kill', { session: id })
    expect(app.storage.coding.get(id)).toMatchObject({ lifecycle: 'ended', end: { reason: 'user' } })
    expect(processesOf(sdkSessionId)).toEqual([])
    // The kill is no loss: it can be resumed.
    await act('coding.resume', { session: id, prompt: 'Once more', wait: true })
    expect(api.requests.at(-1)).toContain('Take your time')
  },
)

test('a budget stops Codex in its turn until a person raises it', { timeout }, async (ctx) => {
  skipUnless('codex', ctx)
  const look = { name: 'exec_command', input: { cmd: 'sleep 4; echo looked' } }
  api.script('Look around', [
    { tool: look, input: 100_000 },
    { tool: look, input: 100_000 },
    { text: 'Seen.' },
  ])
  const { id } = await launch('codex', 'Look around', { maxBudgetUsd: 0.1 })
  await until(id, 'awaiting-budget')
  const { approvals } = (await perform(app, 'approvals.list', {}, operator)) as {
    approvals: Array<{ id: string; codingId: string }>
  }
  const asked = approvals.find(({ codingId }) => codingId === id)!
  await perform(app, 'approvals.answer', { id: asked.id, decision: 'allow', text: '5' }, operator)
  const done = await until(id, 'awaiting-input')
  expect(done.costUsd).toBeGreaterThan(1)
})

test(
  'a refused turn of Codex ends the session with what happened and what to do',
  { timeout },
  async (ctx) => {
    skipUnless('codex', ctx)
    api.script('Fail please', [{ status: 401 }, { status: 401 }, { status: 401 }])
    const row = await launch('codex', 'Fail please', { wait: true })
    expect(row).toMatchObject({ state: 'failed', lifecycle: 'ended' })
    expect(row.stateText).toMatch(/^Codex did not finish the turn: .*401/)
    expect(app.storage.coding.get(row.id)!.end!.message).toMatch(/codex login.*rockpool cc resume/)
  },
)

test('a session that Codex made without Rockpool is resumed, and forked', { timeout }, async (ctx) => {
  skipUnless('codex', ctx)
  const id = '01a1e4c8-ef42-70d2-bd42-fae609cc165c'
  const recorded = join(import.meta.dirname, '../fixtures/agents/codex/home/sessions')
  const sessions = join(home.home, '.codex/sessions')
  cpSync(recorded, sessions, { recursive: true })
  for (const name of readdirSync(sessions, { recursive: true, encoding: 'utf8' }))
    if (name.includes(id)) {
      const text = readFileSync(join(sessions, name), 'utf8')
      const here = text.replaceAll('/home/dev/projects/demo', home.project)
      writeFileSync(join(sessions, name), here.replaceAll('"stub"', '"test"'))
    }
  const resumed = await act('coding.resume', { session: id, prompt: 'What is next?', wait: true })
  expect(resumed, resumed.output).toMatchObject({
    agentKind: 'codex',
    claudeSessionId: id,
    lifecycle: 'awaiting-input',
  })
  for (const text of ['List the files, then add a greeting', 'What is next?'])
    expect(api.requests.at(-1)).toContain(text)
  const forked = await act('coding.resume', {
    session: resumed.id,
    prompt: 'Another way',
    fork: true,
    wait: true,
  })
  expect(forked.claudeSessionId).not.toBe(id)
  expect(api.requests.at(-1)).toContain('List the files, then add a greeting')
})

test(
  'pi has only the tools that the launch allows, and continues with the next message',
  { timeout },
  async (ctx) => {
    skipUnless('pi', ctx)
    const edit = { name: 'write', input: { path: 'pi.txt', content: 'hello\n' } }
    messages.script('Write with pi', [{ tools: [edit] }, { text: 'Written.' }])
    const row = await launch('pi', 'Write with pi', { wait: true, permissionMode: 'acceptEdits' })
    expect(row).toMatchObject({
      agentKind: 'pi',
      lifecycle: 'awaiting-input',
      model: 'anthropic/claude-sonnet-4-5',
    })
    expect(row.output).toContain('Written.')
    expect(row.costUsd).toBeGreaterThan(0)
    expect(readFileSync(join(home.project, 'pi.txt'), 'utf8')).toBe('hello\n')
    const tools = messages.requests.at(-1)!.body.tools!.map(({ name }) => name)
    expect(tools).toEqual(expect.arrayContaining(['read', 'edit', 'write']))
    expect(tools).not.toContain('bash')
    messages.script('And then', [{ text: 'Done.' }])
    await act('coding.respond', { session: row.id, message: 'And then' })
    await vi.waitFor(() => expect(app.storage.coding.get(row.id)).toMatchObject({ turns: 2 }), waiting)
    expect(messages.requests.at(-1)!.text).toContain('Write with pi')
    messages.script('Wait for me', [{ hang: true }])
    await act('coding.respond', { session: row.id, message: 'Wait for me' })
    await vi.waitFor(() => expect(messages.requests.at(-1)!.prompt).toContain('Wait for me'), waiting)
    await act('coding.interrupt', { session: row.id })
    await until(row.id, 'awaiting-input')
  },
)

test('opencode takes turns, reads but does not write, and its own cost counts', { timeout }, async (ctx) => {
  skipUnless('opencode', ctx)
  const edit = { name: 'write', input: { filePath: join(home.project, 'opencode.txt'), content: 'hello\n' } }
  messages.script('Write with opencode', [{ tools: [edit] }, { text: 'It was refused.' }])
  const row = await launch('opencode', 'Write with opencode', { wait: true })
  expect(row, row.output).toMatchObject({ agentKind: 'opencode', lifecycle: 'awaiting-input' })
  expect(row.output).toContain('It was refused.')
  expect(row.costUsd).toBeGreaterThan(0)
  expect(existsSync(join(home.project, 'opencode.txt'))).toBe(false)
  messages.script('And then', [{ text: 'Done.' }])
  await act('coding.respond', { session: row.id, message: 'And then' })
  await vi.waitFor(() => expect(app.storage.coding.get(row.id)).toMatchObject({ turns: 2 }), waiting)
  const asked = messages.requests.filter(({ text }) => text.includes('And then')).at(-1)!
  expect(asked.text).toContain('Write with opencode')
})

test(
  'Gemini CLI takes turns, and keeps the session that it would delete after a resume',
  { timeout },
  async (ctx) => {
    skipUnless('gemini', ctx)
    const write = {
      name: 'write_file',
      input: { file_path: join(home.project, 'gemini.txt'), content: 'hello\n' },
    }
    api.script('Write with Gemini', [
      { tool: write, input: 1_000 },
      { text: 'Written.', input: 1_200 },
    ])
    const row = await launch('gemini', 'Write with Gemini', { wait: true, permissionMode: 'acceptEdits' })
    expect(row, row.output).toMatchObject({
      agentKind: 'gemini',
      lifecycle: 'awaiting-input',
      model: 'gemini-2.5-pro',
    })
    expect(row.output).toContain('Written.')
    expect(existsSync(join(home.project, 'gemini.txt'))).toBe(true)
    expect(row.costUsd).toBeCloseTo((2_200 * 1.25 + 10 * 10) / 1e6)
    for (const message of ['Second', 'Third']) {
      // What a resume in a later minute leaves behind: at its next start Gemini takes the session for empty, and deletes it.
      leaveSmallFile(row.claudeSessionId)
      await act('coding.respond', { session: row.id, message })
      await vi.waitFor(() => expect(api.requests.at(-1)).toContain(message), waiting)
      await until(row.id, 'awaiting-input')
    }
    expect(api.requests.at(-1)).toContain('Write with Gemini')
  },
)
