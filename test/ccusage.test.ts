// Our totals are those of ccusage, to the token, on the same files.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { openDiscovery } from '../src/discovery/discovery.ts'
import { systemClock } from '../src/domain/clock.ts'
import type { Cost } from '../src/domain/discovered-session.ts'
import { silentLog } from '../src/domain/log.ts'
import { makeCorpus } from './corpus.ts'

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

async function byUs(configDir: string): Promise<Cost> {
  const discovery = openDiscovery({
    configDirs: [configDir],
    indexFile: join(mkdtempSync(join(folder, 'index-')), 'x.sqlite'),
    registries: [],
    clock: systemClock,
    log: silentLog,
    timeZone: 'UTC',
  })
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
