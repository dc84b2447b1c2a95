// Around the turns of the real Claude: spare processes, the pool, the memory flush, and questions to a small model.
import { randomUUID } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeAskStructured } from '../src/agent/ask-structured.ts'
import { findCredential } from '../src/agent/credentials.ts'
import { resolveMemoryFlushSettings, runMemoryFlush } from '../src/agent/memory-flush.ts'
import type { Clock } from '../src/domain/clock.ts'
import { systemClock } from '../src/domain/clock.ts'
import { configSchema } from '../src/domain/config.ts'
import { readEnvironment } from '../src/store/config-file.ts'
import { descendantsOf } from './support/descendants.ts'
import type { TestAgent } from './support/claude-agent.ts'
import { makeTestAgent, take } from './support/claude-agent.ts'
import { testModel } from './support/claude-home.ts'
import { inline } from './support/messages-api.ts'

let t: TestAgent
beforeAll(async () => void (t = await makeTestAgent({ maxLive: 1 })))
afterAll(() => t.close())

test('a process that was started ahead of time takes the first turn, wherever it is', async () => {
  await t.agent.prewarm!(t.options())
  const elsewhere = join(t.home.root, 'elsewhere')
  mkdirSync(elsewhere)
  const before = descendantsOf(process.pid).map((child) => child.pid)
  const conversation = await t.open({ cwd: elsewhere, systemPromptAppend: 'Speak softly.' })
  expect(before).toContain(conversation.pid)
  const first = await take(conversation, `hello ${inline({ text: 'Hi.' })}`)
  expect(first).toMatchObject({ end: { kind: 'completed' }, text: 'Hi.' })
  expect(t.api.calls().at(-1)!.text).toContain('Speak softly.')
  expect(t.api.calls().at(-1)!.text).toContain(elsewhere)
  await conversation.close()
})

test('where conversations begin, a process is kept ready for the next, and ended when none comes', async () => {
  // Minutes pass in moments.
  const clock: Clock = {
    ...systemClock,
    after: (ms, fn) => systemClock.after(ms < 60_000 ? ms : ms / 100, fn),
  }
  const busy = await makeTestAgent({ idleMinutes: 5 }, { api: t.api, home: t.home, clock })
  const claudes = (): number => descendantsOf(process.pid).filter(({ pid }) => isClaude(pid)).length
  const before = claudes()
  const first = await busy.open({ key: 'first' })
  await take(first, inline({ text: 'Hi.' }))
  await expect.poll(claudes, { timeout: 10_000 }).toBe(before + 2)
  await expect.poll(claudes, { timeout: 15_000 }).toBe(before + 1)
  await busy.close()
})

test('an idle conversation is closed to free a slot, and continues later', async () => {
  const first = await t.open({ key: 'one' })
  await take(first, `I am one ${inline({ text: 'Hello, one.' })}`)
  const second = await t.open({ key: 'two' })
  expect(await first.ended).toEqual({ why: 'evicted' })
  await take(second, `I am two ${inline({ text: 'Hello, two.' })}`)
  const again = await t.open({ key: 'one', resume: { sdkSessionId: first.sdkSessionId! } })
  await take(again, `still here? ${inline({ text: 'Yes.' })}`)
  expect(t.api.calls().at(-1)!.text).toContain('I am one')
})

test('the memory flush sees the conversation, writes its file, and leaves no trace in it', async () => {
  const conversation = await t.open({ key: 'flush' })
  await take(conversation, `my cat is called Miez ${inline({ text: 'Noted.' })}`)
  const sdkSessionId = conversation.sdkSessionId!
  const sessions = (): string[] =>
    readdirSync(join(t.home.configDir, 'projects')).flatMap((name) =>
      readdirSync(join(t.home.configDir, 'projects', name)),
    )
  const before = sessions()
  const file = join(t.home.project, 'memory', '2026-02-01.md')
  const outside = join(t.home.project, 'elsewhere.md')
  t.api.script('Pre-compaction memory flush', [
    { tools: [{ name: 'Write', input: { file_path: outside, content: 'no' } }] },
    { tools: [{ name: 'Read', input: { file_path: file } }] },
    // Not a notification: it rewrites the whole file.
    { tools: [{ name: 'Write', input: { file_path: file, content: '- the cat is called Miez\n' } }] },
    { text: 'NO_REPLY' },
  ])
  mkdirSync(dirname(file))
  writeFileSync(file, '- tea at five\n')
  const result = await runMemoryFlush(t.agent, t.options({ key: 'flush' }), {
    sdkSessionId,
    settings: resolveMemoryFlushSettings(configSchema.parse({}), 'main')!,
    now: Date.UTC(2026, 0, 31, 23, 30),
    timeZone: 'Europe/Berlin',
    uuid: randomUUID(),
    copies: join(t.home.project, '..', 'copies'),
  })
  expect(result).toMatchObject({ end: { kind: 'completed' }, text: 'NO_REPLY' })
  expect(readdirSync(join(t.home.project, '..', 'copies'))).toEqual([])
  expect(readFileSync(file, 'utf8')).toBe('- tea at five\n\n- the cat is called Miez\n')
  expect(existsSync(outside)).toBe(false)
  expect(t.api.calls().at(-1)!.text).toContain('my cat is called Miez')
  expect(sessions()).toEqual(before)
  await take(conversation, `and now? ${inline({ text: 'Well.' })}`)
  expect(t.api.calls().at(-1)!.text).not.toContain('memory flush')
})

function isClaude(pid: number): boolean {
  try {
    return readFileSync(`/proc/${pid}/comm`, 'utf8').trim() === 'claude'
  } catch {
    // It ended while we looked.
    return false
  }
}

const question = {
  model: testModel,
  maxTokens: 200,
  system: 'You judge.',
  prompt: 'How related?',
  schema: { type: 'object', properties: { score: { type: 'number' } }, required: ['score'] },
}

test('a small model is asked through the Messages API, and the answer is JSON', async () => {
  t.api.script('How related?', [{ tools: [{ name: 'answer', input: { score: 0.7 } }] }])
  const ask = makeAskStructured(askOptions())
  expect(await ask(question, AbortSignal.timeout(5_000))).toEqual({ score: 0.7 })
  expect(t.api.calls().at(-1)!.body).toMatchObject({ model: testModel, tool_choice: { name: 'answer' } })
  t.api.script('How related?', [{ status: 500, message: 'broken' }])
  await expect(ask(question, AbortSignal.timeout(5_000))).rejects.toMatchObject({ code: 'unavailable' })
})

test('with a login it is asked through a process that leaves no session', async () => {
  t.api.script('How related?', [
    { tools: [{ name: 'StructuredOutput', input: { score: 0.4 } }] },
    { text: 'ok' },
  ])
  const { ANTHROPIC_API_KEY: _key, ...variables } = t.home.variables
  const ask = makeAskStructured(askOptions({ ...variables, CLAUDE_CODE_OAUTH_TOKEN: 'sk-ant-oat01-test' }))
  expect(await ask(question, AbortSignal.timeout(20_000))).toEqual({ score: 0.4 })
  expect(readdirSync(join(t.home.configDir, 'projects')).join()).not.toContain('tmp-ask')
})

function askOptions(variables = t.home.variables) {
  const environment = readEnvironment(variables)
  const temporaryDirectory = join(t.home.root, 'tmp-ask')
  mkdirSync(temporaryDirectory, { recursive: true })
  writeFileSync(join(temporaryDirectory, '.keep'), '')
  return {
    environment,
    credential: findCredential(environment, 'auto')!,
    models: {},
    temporaryDirectory,
    version: 'test',
  }
}
