// The way of a message with the real Claude binary, against the scripted Messages API.
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openClaudeAgent } from '../src/agent/claude.ts'
import { findCredential } from '../src/agent/credentials.ts'
import { findTranscript } from '../src/agent/transcripts.ts'
import { systemClock } from '../src/domain/clock.ts'
import { configSchema } from '../src/domain/config.ts'
import { silentLog } from '../src/domain/log.ts'
import { resetSession } from '../src/sessions/lifecycle.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { statePaths } from '../src/store/paths.ts'
import { makeClaudeHome, testModel } from './support/claude-home.ts'
import type { ClaudeHome } from './support/claude-home.ts'
import type { FlowBench, FlowBenchOptions } from './support/flow-bench.ts'
import { openFlow, wordsOf } from './support/flow-bench.ts'
import { inline, startMessagesApi } from './support/messages-api.ts'
import type { MessagesApi } from './support/messages-api.ts'

let api: MessagesApi
let home: ClaudeHome
let flow: FlowBench
const key = 'agent:main:memory:direct:7'

async function start(options: FlowBenchOptions = {}): Promise<FlowBench> {
  const environment = readEnvironment(home.variables)
  const config = {
    timeZone: 'UTC',
    claude: { maxRetries: 1 },
    agents: { defaults: { model: testModel } },
    ...options.config,
  }
  const runtime = await openClaudeAgent({
    environment,
    config: configSchema.parse(config),
    paths: statePaths(home.stateDir),
    credential: findCredential(environment, 'auto'),
    clock: systemClock,
    log: silentLog,
    version: 'test',
  })
  return openFlow({ folder: home.stateDir, runtime, ...options, config })
}

async function restart(): Promise<void> {
  await flow.stop()
  flow = await start()
}

async function say(text: string): Promise<string> {
  const before = flow.channel.sent.length
  await flow.channel.say(text, { id: `m${++messages}` })
  await flow.settled()
  return flow.channel.texts.slice(before).join('\n---\n')
}
let messages = 0

beforeAll(async () => {
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'converse' })
  flow = await start()
})
afterAll(async () => {
  await flow.stop()
  await api.close()
  home.remove()
})

test('ten turns over two restarts keep their context', async () => {
  for (let turn = 1; turn <= 10; turn++) {
    expect(await say(`word ${turn} is w${turn}x ${inline({ text: `noted ${turn}` })}`)).toBe(`noted ${turn}`)
    if (turn === 3 || turn === 7) await restart()
  }
  const seen = api.calls().at(-1)!.text
  for (let turn = 1; turn <= 10; turn++) expect(seen).toContain(`word ${turn} is w${turn}x`)
  const entry = await flow.sessions.get(key)
  expect(entry).toMatchObject({ modelProvider: 'anthropic', totalTokensFresh: true, contextTokens: 200_000 })
  expect(entry?.cliSessionIds?.['claude-cli']).toBe(entry?.sdkSessionId)
  expect(entry?.inputTokens).toBe(1_000)
  expect(wordsOf(await flow.transcript(key))).toHaveLength(20)
  expect(await flow.work.lanes.history()).toHaveLength(10)
})

test('/compact has Claude summarize the conversation, which continues from there', async () => {
  const summaries = (): number => api.requests.filter(({ kind }) => kind === 'summary').length
  const before = summaries()
  await say('/compact')
  expect(summaries()).toBe(before + 1)
  expect(await flow.sessions.get(key)).toMatchObject({ compactionCount: 1 })
  const entries = await flow.transcript(key)
  const compaction = entries.find(({ type }) => type === 'compaction')
  expect(compaction).toMatchObject({
    summary: 'A summary of the conversation so far.',
    tokensBefore: expect.any(Number) as number,
    details: { trigger: 'manual' },
  })
  const kept = entries.find(
    ({ id }) => compaction?.type === 'compaction' && id === compaction.firstKeptEntryId,
  )
  expect(wordsOf([kept!])).toEqual(['user: /compact'])
  expect(await say(`and on ${inline({ text: 'further' })}`)).toBe('further')
  expect(api.calls().at(-1)!.text).not.toContain('word 3 is w3x')
})

test('/new really begins a new conversation', async () => {
  const before = await flow.sessions.get(key)
  expect(await say(`/new what do you know? ${inline({ text: 'nothing' })}`)).toBe('New session.\n\nnothing')
  expect(api.calls().at(-1)!.text).not.toContain('w3x')
  const after = await flow.sessions.get(key)
  expect(after?.sdkSessionId).not.toBe(before?.sdkSessionId)
  expect(after?.sessionId).not.toBe(before?.sessionId)
})

test('a reset by another way than the chat is a reset, also while the process lives', async () => {
  await say(`my dog is Rex ${inline({ text: 'Hello Rex' })}`)
  const parts = {
    sessions: flow.sessions,
    transcripts: flow.transcripts,
    clock: systemClock,
    events: flow.events,
  }
  await resetSession(parts, key)
  expect(await say(`who? ${inline({ text: 'nobody' })}`)).toBe('nobody')
  expect(api.calls().at(-1)!.text).not.toContain('Rex')
})

test("Claude's lost transcript is noticed and reported, and the conversation continues from our own", async () => {
  api.script('remember the plum', [{ text: 'a plum, yes' }])
  api.script('which fruit', [{ text: 'the plum' }])
  api.script('and now, again', [{ text: 'still the plum' }])
  await say('/new')
  expect(await say('remember the plum')).toBe('a plum, yes')
  const lostId = (await flow.sessions.get(key))!.sdkSessionId!
  await flow.stop()
  const file = findTranscript(home.configDir, lostId)
  expect(file).toBeDefined()
  rmSync(file!)
  flow = await start()
  const answer = await say('which fruit?')
  expect(answer).toMatch(/Claude's own record of this conversation is gone/)
  expect(answer).toMatch(/the plum$/)
  const seen = api.calls().at(-1)!.text
  expect(seen).toContain('<conversation_history>')
  expect(seen).toContain('User: remember the plum')
  const entry = await flow.sessions.get(key)
  expect(entry?.sdkSessionId).not.toBe(lostId)
  expect(JSON.stringify(entry)).not.toContain(lostId)
  expect(await say('and now, again?')).toBe('still the plum')
})

test('tools are recorded with their results, and no permission is asked for where no one can answer', async () => {
  const script = inline(
    { tools: [{ name: 'Bash', input: { command: 'echo tool-says-hi' } }] },
    { tools: [{ name: 'Bash', input: { command: 'rm -rf everything' } }] },
    { text: 'done' },
  )
  expect(await say(`use tools ${script}`)).toBe('done')
  const words = wordsOf(await flow.transcript(key)).slice(-6)
  expect(words[1]).toBe('assistant: <toolCall Bash>')
  expect(words.join('\n')).toContain('toolResult: ')
})

test('an API error becomes a message for the person, and the session continues', async () => {
  const answer = await say(
    `fail ${inline({ status: 400, errorType: 'invalid_request_error', message: 'credit balance is too low' })}`,
  )
  expect(answer).not.toBe('')
  expect(flow.channel.sent.at(-1)?.reply.isError).toBe(true)
  expect(await say(`again ${inline({ text: 'fine' })}`)).toBe('fine')
})

test('when the context is nearly full, memory is written once before the turn', async () => {
  const full = { text: 'big', usage: { input_tokens: 180_000, output_tokens: 10 } }
  await say(`fill up ${inline(full)}`)
  expect((await flow.sessions.get(key))?.totalTokens).toBeGreaterThan(176_000)
  const day = new Date().toISOString().slice(0, 10)
  const file = join(flow.paths.workspace('main'), 'memory', `${day}.md`)
  api.script('Pre-compaction memory flush', [
    { tools: [{ name: 'Write', input: { file_path: file, content: 'The plum matters.\n' } }] },
    { text: 'NO_REPLY' },
  ])
  expect(await say(`next ${inline({ ...full, text: 'answered' })}`)).toBe('answered')
  expect(readdirSync(join(flow.paths.workspace('main'), 'memory'))).toEqual([`${day}.md`])
  expect(readFileSync(file, 'utf8')).toBe('The plum matters.\n')
  const entry = await flow.sessions.get(key)
  expect(entry).toMatchObject({ memoryFlushCompactionCount: 0, compactionCount: 0 })
  const calls = api.calls().length
  await say(`and next ${inline({ ...full, text: 'answered again' })}`)
  expect(api.calls().length).toBe(calls + 1)
})
