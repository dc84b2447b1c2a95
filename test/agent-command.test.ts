// `rockpool agent` and `rockpool chat` as they are typed, with and without a gateway.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeClaudeHome, testModel } from './support/claude-home.ts'
import type { ClaudeHome } from './support/claude-home.ts'
import { inline, startMessagesApi } from './support/messages-api.ts'
import type { MessagesApi } from './support/messages-api.ts'
import { startProgram } from './support/program.ts'
import type { Ran } from './support/program.ts'

let offlineHome: string
const started: Array<() => void> = []
beforeAll(() => {
  offlineHome = mkdtempSync(join(tmpdir(), 'rockpool-command-'))
})
afterAll(() => {
  for (const stop of started) stop()
  rmSync(offlineHome, { recursive: true, force: true })
})

function type(
  args: string[],
  options: { variables?: Record<string, string>; input?: string } = {},
): Promise<Ran> {
  return startProgram(args, options.variables ?? offline(), options.input).ended
}

function offline(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: offlineHome,
    ROCKPOOL_STATE_DIR: join(offlineHome, 'state'),
  }
}

test('without a gateway the turn is taken here, and the session is the same the next time', async () => {
  const first = await type(['agent', '-m', 'hello there'])
  expect(first).toMatchObject({ code: 0, stderr: '' })
  expect(first.stdout).toMatch(/not Claude.*\n\n\(offline\) hello there\n$/s)
  const json = await type(['agent', '-m', 'again', '--json'])
  expect(JSON.parse(json.stdout)).toMatchObject({ sessionKey: 'agent:main:main', model: 'offline' })
  const piped = await type(['agent', '--to', 'ada'], { input: 'from a pipe' })
  expect(piped.stdout).toContain('(offline) from a pipe')
  const turns = JSON.parse((await type(['turns', 'list', '--json'])).stdout) as {
    turns: Array<{ lane: string }>
  }
  expect(turns.turns.map((turn) => turn.lane)).toEqual([
    'agent:main:console:direct:ada',
    'agent:main:main',
    'agent:main:main',
  ])
})

test('exit codes tell apart what went wrong', async () => {
  expect(await type(['agent', '-m', 'x', '--session-id', 'no-such-session'])).toMatchObject({ code: 3 })
  expect(await type(['agent', '-m', 'x', '--deliver'])).toMatchObject({ code: 2 })
  expect(await type(['agent', '-m', ' '])).toMatchObject({ code: 2 })
  const nowhere = await type(['agent', '-m', 'x', '--deliver', '--channel', 'telegram', '--to', '7'])
  expect(nowhere).toMatchObject({ code: 3, stdout: '' })
  expect(nowhere.stderr).toMatch(/telegram \(default\) is not set up/)
  const unknown = await type(['agent', '-m', 'x', '--model', 'gtp-5'])
  expect(unknown).toMatchObject({ code: 2, stdout: '' })
  expect(unknown.stderr).toMatch(/There is no model "gtp-5".*opus, sonnet, haiku/s)
  const late = await type(['agent', '-m', 'x', '--timeout', '0.0001', '--json'])
  expect(late.code).toBe(7)
  expect(JSON.parse(late.stdout)).toMatchObject({ error: { code: 'timed-out', retryable: true } })
})

test('chat is a conversation; commands work in it', async () => {
  const { stdout, code } = await type(['chat'], { input: 'hi\n/whoami\n/new\n/exit\n' })
  expect(code).toBe(0)
  expect(stdout).toContain('(offline) hi')
  expect(stdout).toMatch(/You are cli on internal|You are/)
  expect(stdout).toContain('New session.')
})

test('with a gateway the same command asks it, and SIGTERM ends it cleanly', async () => {
  const gateway = startProgram(['up', '--port', '0', '--json'], offline())
  started.push(() => gateway.child.kill('SIGKILL'))
  await gateway.line
  const asked = await type(['agent', '-m', 'through the gateway'])
  expect(asked).toMatchObject({ code: 0 })
  expect(asked.stdout).toContain('(offline) through the gateway')
  expect(await type(['system', 'event', 'The build is red.'])).toMatchObject({ code: 0 })
  const began = performance.now()
  gateway.child.kill('SIGTERM')
  expect(await gateway.ended).toMatchObject({ code: 0 })
  expect(performance.now() - began).toBeLessThan(25_000)
})

test('words and tools are shown as they come, only the answer on stdout', async () => {
  const api: MessagesApi = await startMessagesApi()
  const home: ClaudeHome = makeClaudeHome({ apiUrl: api.url, name: 'command' })
  writeFileSync(join(home.stateDir, 'rockpool.json'), '{ claude: { maxRetries: 0 } }')
  try {
    const script = inline(
      { text: 'Let me look.', tools: [{ name: 'Bash', input: { command: 'echo hi' } }] },
      { text: 'It says hi.' },
    )
    const shown = await type(['agent', '--model', testModel, '-m', `look ${script}`], {
      variables: home.variables,
    })
    expect(shown).toMatchObject({ code: 0 })
    expect(shown.stdout).toBe('Let me look.\nIt says hi.\n')
    expect(shown.stderr).toContain('🔧 Bash: echo hi')
    const touch = { tools: [{ name: 'Bash', input: { command: 'touch unasked.txt' } }] }
    const denied = await type(
      ['agent', '--model', testModel, '-m', `touch ${inline(touch, { text: 'Not allowed, I see.' })}`],
      { variables: home.variables },
    )
    expect(denied.stdout).toContain('Not allowed, I see.')
    expect(denied.stderr).toMatch(
      /touch unasked\.txt\n +directory: .+\nDenied: there is no terminal to ask at\./,
    )
    const failed = await type(
      [
        'agent',
        '--model',
        testModel,
        '-m',
        `fail ${inline({ status: 401, errorType: 'authentication_error', message: 'invalid x-api-key' })}`,
      ],
      { variables: home.variables },
    )
    expect(failed.code).toBe(4)
    expect(failed.stderr).toMatch(/^Error: /m)
  } finally {
    await api.close()
    home.remove()
  }
})
