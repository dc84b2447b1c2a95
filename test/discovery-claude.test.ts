// Discovery beside the real Claude: a session that runs is seen running, what it used is what the API said, and a
// repaired session continues with everything that was lost.
import { execFile, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, realpathSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDiscovery } from '../src/discovery/discovery.ts'
import { repoPathToSlug } from '../src/discovery/repo-paths.ts'
import { systemClock } from '../src/domain/clock.ts'
import { writeTrimmed } from '../src/discovery/trim/write-trim.ts'
import type { Discovery } from '../src/domain/discovered-session.ts'
import { silentLog } from '../src/domain/log.ts'
import { claudeBinary, makeClaudeHome, testModel } from './support/claude-home.ts'
import type { ClaudeHome } from './support/claude-home.ts'
import { inline, startMessagesApi } from './support/messages-api.ts'
import type { MessagesApi } from './support/messages-api.ts'
import { originalId, TrimmableTranscript } from './support/trimmable-transcript.ts'

const run = promisify(execFile)
const missing = existsSync(claudeBinary) ? undefined : 'the Claude binary is not installed'
let api: MessagesApi
let home: ClaudeHome
let discovery: Discovery

beforeAll(async () => {
  api = await startMessagesApi()
  home = makeClaudeHome({ apiUrl: api.url, name: 'discovery' })
  discovery = openDiscovery({
    configDirs: [home.configDir],
    indexFile: join(home.stateDir, 'index', 'discovery.sqlite'),
    registries: [],
    clock: systemClock,
    log: silentLog,
  })
})
afterAll(async () => {
  await discovery.close()
  await api.close()
  home.remove()
})

/** A picture of one pixel. */
const pixel =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

const arguments_ = (prompt: string, ...more: string[]): string[] => [
  '-p',
  '--model',
  testModel,
  ...more,
  prompt,
]

test('a session is seen busy while the real Claude works, and stopped when it has ended', async (ctx) => {
  if (missing) ctx.skip(missing)
  const sessionId = '12345678-0000-4000-8000-000000000001'
  const usage = {
    input_tokens: 7,
    output_tokens: 11,
    cache_read_input_tokens: 500,
    cache_creation_input_tokens: 30,
  }
  const prompt = `Look around ${inline({ text: 'Done.', hold: 'look', usage })}`
  const child = spawn(claudeBinary, arguments_(prompt, '--session-id', sessionId), {
    cwd: home.project,
    env: home.variables,
    stdio: 'ignore',
  })
  const ended = new Promise((resolve) => child.on('close', resolve))
  const running = async (): Promise<unknown> => (await discovery.list({ running: true })).sessions.at(0)
  await expect.poll(running, { timeout: 20_000 }).toMatchObject({ sessionId, status: 'busy', pid: child.pid })
  api.release('look')
  expect(await ended).toBe(0)
  const session = await discovery.get(sessionId)
  expect(session).toMatchObject({
    status: 'stopped',
    isRunning: false,
    repoPath: home.project,
    totalInputTokens: 7,
    totalOutputTokens: 11,
    cacheReadTokens: 500,
    cacheCreationTokens: 30,
    promptCount: 1,
    replyCount: 1,
    entrypoint: 'sdk-cli',
    source: 'native-only',
  })
  expect(session.firstMessage).toMatch(/^Look around/)
  expect(session.costUsd).toBeCloseTo(session.reportedCostUsd!, 9)
  expect(session.filePath).toBe(
    join(home.configDir, 'projects', repoPathToSlug(realpathSync(home.project)), `${sessionId}.jsonl`),
  )
  expect((await discovery.health(sessionId)).verdict).toBe('sound')
})

test('the real Claude knows, after a repair and in a trimmed copy, a message that had joined the last turn', async (ctx) => {
  if (missing) ctx.skip(missing)
  const folder = join(home.configDir, 'projects', repoPathToSlug(home.project))
  mkdirSync(folder, { recursive: true })
  const image = { type: 'image', source: { type: 'base64', media_type: 'image/png', data: pixel } }
  const about = { cwd: home.project, userType: 'external', timestamp: '2026-11-01T10:00:00.000Z' }
  const talk = new TrimmableTranscript(about).prompt('Fix the login')
  talk.joined([{ type: 'text', text: 'and look at this' }, image])
  talk.call('Bash', { command: 'make' }, 'made\n'.repeat(15_000))
  for (let i = 0; i < 6; i++) talk.prompt(`part ${i}`).call('Bash', { command: 'ls' }, 'file\n'.repeat(2_000))
  talk.joined('and water the petunias')
  // The result of the last call was lost.
  talk.lines.splice(-2, 1)
  talk.lines.at(-1)!['parentUuid'] = talk.lines.at(-2)!['uuid']
  const filePath = join(folder, `${originalId}.jsonl`)
  writeFileSync(filePath, talk.text())
  const askedOf = async (sessionId: string): Promise<string> => {
    const args = arguments_(`And now? ${inline({ text: 'All of it.' })}`, '--resume', sessionId)
    await run(claudeBinary, args, { cwd: home.project, env: home.variables })
    return JSON.stringify(api.calls().at(-1)!.body.messages)
  }
  const repaired = await discovery.repair(originalId)
  expect(repaired).toMatchObject({ left: 0, health: { verdict: 'sound' } })
  expect(await askedOf(repaired.sessionId)).toMatch(/and look at this.*image\/png.*and water the petunias/)
  const trimmedId = '99999999-2222-4333-8444-555555555555'
  await writeTrimmed({ sessionId: originalId, filePath, firstMessage: 'Fix' }, 'normal', trimmedId)
  const asked = await askedOf(trimmedId)
  expect(asked).toMatch(/and look at this.*Cut by Rockpool: image of a prompt.*and water the petunias/)
  expect(asked).not.toContain('image/png')
})

test('the real Claude continues a repaired session, and knows what both writers had written', async (ctx) => {
  if (missing) ctx.skip(missing)
  const broken = '00000018-0000-4000-8000-00000000000a'
  const folder = join(home.configDir, 'projects', repoPathToSlug(home.project))
  mkdirSync(folder, { recursive: true })
  const recorded = join(
    import.meta.dirname,
    'fixtures/claude-code/projects/-home-dev-projects-demo',
    `${broken}.jsonl`,
  )
  const text = readFileSync(recorded, 'utf8').replaceAll('/home/dev/projects/demo', home.project)
  writeFileSync(join(folder, `${broken}.jsonl`), text)
  const repaired = await discovery.repair(broken)
  expect(repaired.health.verdict).toBe('sound')
  expect(readFileSync(join(folder, `${broken}.jsonl`), 'utf8')).toBe(text)
  const args = arguments_(`And now? ${inline({ text: 'All of it.' })}`, '--resume', repaired.sessionId)
  const { stdout } = await run(claudeBinary, args, { cwd: home.project, env: home.variables })
  expect(stdout.trim()).toBe('All of it.')
  const lost = JSON.parse(text.split('\n')[21]!).message.content[0].text as string
  const kept = JSON.parse(text.split('\n')[31]!).message.content as string
  const sent = JSON.stringify(api.calls().at(-1)!.body.messages)
  expect(sent).toContain(lost)
  expect(sent).toContain(kept)
})
