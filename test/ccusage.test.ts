// Our totals are those of ccusage, to the token, on the same files.
import { execFileSync } from 'node:child_process'
import { appendFileSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openDiscovery } from '../src/discovery/discovery.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Discovery } from '../src/domain/discovered-session.ts'
import type { Cost } from '../src/domain/costs.ts'
import { silentLog } from '../src/domain/log.ts'
import { makeCorpus } from './support/corpus.ts'

const program = join(import.meta.dirname, '../node_modules/ccusage/src/cli.js')
const binary = join(
  import.meta.dirname,
  `../node_modules/@ccusage/ccusage-${process.platform}-${process.arch}/bin/ccusage`,
)
const missing =
  existsSync(program) && existsSync(binary) ? undefined : 'ccusage has no binary for this machine'
const folder = mkdtempSync(join(tmpdir(), 'rockpool-ccusage-'))
afterAll(() => rmSync(folder, { recursive: true }))

interface Usage {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  totalCost: number
}

function byCcusage(configDir: string): Usage {
  const args = [program, 'claude', 'daily', '--json', '--offline']
  const env = { PATH: '/usr/bin:/bin', HOME: folder, CLAUDE_CONFIG_DIR: configDir, TZ: 'UTC' }
  return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' })).totals
}

function discoveryOf(configDir: string): Discovery {
  return openDiscovery({
    configDirs: [configDir],
    indexFile: join(mkdtempSync(join(folder, 'index-')), 'x.sqlite'),
    registries: [],
    clock: systemClock,
    log: silentLog,
    timeZone: 'UTC',
  })
}

async function byUs(configDir: string): Promise<Cost> {
  const discovery = discoveryOf(configDir)
  const { totals } = await discovery.costs()
  await discovery.close()
  return totals
}

async function expectTheSame(configDir: string): Promise<void> {
  const theirs = byCcusage(configDir)
  const ours = await byUs(configDir)
  expect({ ...ours, costUsd: undefined, guessed: undefined }).toEqual({
    inputTokens: theirs.inputTokens,
    outputTokens: theirs.outputTokens,
    cacheReadTokens: theirs.cacheReadTokens,
    cacheCreationTokens: theirs.cacheCreationTokens,
  })
  expect(ours.costUsd).toBeCloseTo(theirs.totalCost, 6)
}

const recorded = join(import.meta.dirname, 'fixtures/claude-code')

test('recorded sessions have the tokens and the cost that ccusage counts', async (ctx) => {
  if (missing) ctx.skip(missing)
  for (const part of ['', 'old-versions/2.0.30', 'old-versions/2.1.197', 'raw'])
    await expectTheSame(join(recorded, part))
})

test('so has a generated corpus with repeated lines, two orders of keys, resumed copies and torn tails', async (ctx) => {
  if (missing) ctx.skip(missing)
  const configDir = join(folder, 'corpus')
  const corpus = makeCorpus({ configDir, files: 80, bytes: 4_000_000, longLineBytes: 5_000_000 })
  expect(byCcusage(configDir)).toMatchObject(corpus.totals)
  await expectTheSame(configDir)
})

test('so have records that repeat, contradict themselves or lack an id', async (ctx) => {
  if (missing) ctx.skip(missing)
  const reply = (
    id: string | undefined,
    requestId: string | undefined,
    usage: object,
    more: object = {},
  ): string =>
    JSON.stringify({
      type: 'assistant',
      timestamp: '2026-11-15T19:50:00.000Z',
      requestId,
      message: {
        id,
        model: 'claude-sonnet-4-5-20250929',
        usage: { input_tokens: 10, output_tokens: 5, ...usage },
      },
      ...more,
    })
  const creation = (m5: number, h1: number): object => ({
    cache_creation_input_tokens: 9,
    cache_creation: { ephemeral_5m_input_tokens: m5, ephemeral_1h_input_tokens: h1 },
  })
  const lines = [
    reply('a', 'r', { output_tokens: 50 }),
    reply('a', 'r', { output_tokens: 5 }),
    reply('a', 'other', {}),
    reply('b', undefined, {}),
    reply('b', undefined, {}),
    reply(undefined, 'r', {}),
    reply(undefined, 'r', {}),
    reply('c', 'r', creation(0, 0)),
    reply('d', 'r', creation(4, 0)),
    reply('e', 'r', creation(4, 7)),
    reply('f', 'r', { cache_creation_input_tokens: 9 }),
    reply('g', 'r', {}, { isSidechain: true }),
    reply('h', 'r', {}, { isApiErrorMessage: true }),
    '{"type":"assistant","timestamp":"2026-11-15T19:50:00.000Z","message":{"id":"torn","usage":{"input_tokens":7',
  ]
  const project = join(folder, 'odd', 'projects', '-a')
  mkdirSync(project, { recursive: true })
  writeFileSync(join(project, 'aaaaaaaa-0000-4000-8000-000000000001.jsonl'), lines.join('\n'))
  writeFileSync(join(project, 'aaaaaaaa-0000-4000-8000-000000000002.jsonl'), lines.slice(0, 2).join('\n'))
  await expectTheSame(join(folder, 'odd'))
})

const model = 'claude-sonnet-4-5-20250929'

/** A record in which Claude Code reports what a sub-agent said, as versions 2.1 write them into the session's own file. */
function progressOf(agentId: string, id: string, usage: object, second: number): string {
  return JSON.stringify({
    parentUuid: null,
    isSidechain: false,
    cwd: '/repo',
    sessionId: 'bbbbbbbb-0000-4000-8000-000000000001',
    version: '2.1.22',
    gitBranch: 'main',
    type: 'progress',
    data: {
      message: {
        type: 'assistant',
        timestamp: `2026-11-15T19:50:${second}.000Z`,
        message: {
          model,
          id,
          type: 'message',
          role: 'assistant',
          content: [{ type: 'tool_use', input: { list: [1], stop_reason: { usage: { input_tokens: 1 } } } }],
          stop_reason: null,
          usage: { input_tokens: 3, ...usage },
        },
        requestId: `req-${id}`,
        uuid: `uuid-${id}-${second}`,
      },
      normalizedMessages: [],
      type: 'agent_progress',
      prompt: 'Look for the cause',
      agentId,
    },
    toolUseID: `agent_${id}`,
    parentToolUseID: 'toolu_1',
    uuid: `progress-${id}-${second}`,
    timestamp: '2026-11-16T00:00:01.000Z',
  })
}

function lineOf(id: string, usage: object, more: object = {}): string {
  return JSON.stringify({
    isSidechain: false,
    message: { model, id, role: 'assistant', content: [], stop_reason: null, usage },
    type: 'assistant',
    requestId: `req-${id}`,
    timestamp: '2026-11-15T19:49:00.000Z',
    sessionId: 'bbbbbbbb-0000-4000-8000-000000000001',
    ...more,
  })
}

/** Sub-agent `kept` has its own transcript, `lost` is known only from the progress records of the session. */
function withSubagents(name: string): { configDir: string; session: string } {
  const configDir = join(folder, name)
  const project = join(configDir, 'projects', '-repo')
  const session = join(project, 'bbbbbbbb-0000-4000-8000-000000000001.jsonl')
  mkdirSync(join(project, 'bbbbbbbb-0000-4000-8000-000000000001', 'subagents'), { recursive: true })
  const lines = [
    '{"type":"user","timestamp":"2026-11-15T19:48:00.000Z","message":{"role":"user","content":"Find the cause"}}',
    lineOf('main', { input_tokens: 10, output_tokens: 1 }),
    progressOf('lost', 'lost-1', { output_tokens: 20 }, 10),
    progressOf('lost', 'lost-1', { output_tokens: 25 }, 11),
    progressOf('kept', 'kept-1', { output_tokens: 40, cache_creation_input_tokens: 7 }, 12),
    progressOf('lost', 'lost-2', { output_tokens: 30 }, 13),
    lineOf('main', { input_tokens: 10, output_tokens: 90 }),
  ]
  writeFileSync(session, lines.map((line) => `${line}\n`).join(''))
  const own = [
    lineOf(
      'kept-1',
      { input_tokens: 3, output_tokens: 40, cache_creation_input_tokens: 7 },
      { isSidechain: true },
    ),
    lineOf('kept-2', { input_tokens: 3, output_tokens: 11 }, { isSidechain: true }),
  ]
  const file = join(project, 'bbbbbbbb-0000-4000-8000-000000000001', 'subagents', 'agent-kept.jsonl')
  writeFileSync(file, own.join('\n'))
  return { configDir, session }
}

test('so have sub-agents whose usage is only in progress records, each message once', async (ctx) => {
  if (missing) ctx.skip(missing)
  const { configDir, session } = withSubagents('progress')
  // A side question repeats a message of the session under another request.
  const replayed = { isSidechain: true, requestId: 'replayed' }
  const aside = session.replace('.jsonl', '/subagents/agent-aside.jsonl')
  writeFileSync(aside, lineOf('main', { input_tokens: 10, output_tokens: 900 }, replayed))
  await expectTheSame(configDir)
})

test('a last line without a newline counts once, also after the newline has come; a torn one does not', async (ctx) => {
  if (missing) ctx.skip(missing)
  const { configDir, session } = withSubagents('unfinished')
  const discovery = discoveryOf(configDir)
  const outputTokens = async (): Promise<number> => (await discovery.costs()).totals.outputTokens
  const before = await outputTokens()
  // The last record of a message that earlier lines have with fewer tokens: its usage is the one that counts.
  appendFileSync(session, lineOf('main', { input_tokens: 10, output_tokens: 95 }))
  expect(await outputTokens()).toBe(before + 5)
  await expectTheSame(configDir)
  appendFileSync(session, `\n${progressOf('lost', 'lost-3', { output_tokens: 50 }, 14).slice(0, -1)}`)
  expect(await outputTokens()).toBe(before + 5)
  await expectTheSame(configDir)
  appendFileSync(session, '}')
  expect(await outputTokens()).toBe(before + 55)
  appendFileSync(session, '\n')
  expect(await outputTokens()).toBe(before + 55)
  await expectTheSame(configDir)
  await discovery.close()
})

test('the cost of a session holds each message of its sub-agents once', async () => {
  const { configDir } = withSubagents('one-session')
  const discovery = discoveryOf(configDir)
  const { totals } = await discovery.costs()
  const [session] = (await discovery.list()).sessions
  await discovery.close()
  expect(session).toMatchObject({ totalInputTokens: 10, totalOutputTokens: 90, replyCount: 1 })
  expect(session?.subagentTokens).toMatchObject({
    inputTokens: 12,
    outputTokens: 106,
    cacheCreationTokens: 7,
  })
  expect(session?.costUsd).toBeCloseTo(totals.costUsd, 9)
})
