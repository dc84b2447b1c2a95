// `rockpool agent` and `rockpool chat` as they are typed, with and without a gateway.
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { inline, startMessagesApi } from './messages-api.ts'
import type { MessagesApi } from './messages-api.ts'

const entry = `import { main } from ${JSON.stringify(join(import.meta.dirname, '../src/main.ts'))}; await main(process.argv.slice(1))`

interface Typed {
  out: string
  err: string
  code: number | null
  signal: NodeJS.Signals | null
}

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
): Promise<Typed> {
  const env = options.variables ?? offline()
  const child = spawn(process.execPath, ['--input-type=module', '-e', entry, ...args], { env, stdio: 'pipe' })
  child.stdin.end(options.input ?? '')
  let out = ''
  let err = ''
  child.stdout.on('data', (chunk) => (out += chunk))
  child.stderr.on('data', (chunk) => (err += chunk))
  return new Promise((resolve) => child.on('close', (code, signal) => resolve({ out, err, code, signal })))
}

function offline(): Record<string, string> {
  return {
    PATH: process.env['PATH'] ?? '',
    HOME: offlineHome,
    ROCKPOOL_STATE_DIR: join(offlineHome, 'state'),
  }
}

async function up(variables: Record<string, string>): Promise<{ stop(): Promise<number> }> {
  const child = spawn(process.execPath, ['--input-type=module', '-e', entry, 'up', '--port', '0', '--json'], {
    env: variables,
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  started.push(() => child.kill('SIGKILL'))
  const exited = new Promise<number>((resolve) => child.on('exit', (code) => resolve(code ?? -1)))
  await new Promise<void>((resolve, reject) => {
    child.stdout.once('data', () => resolve())
    void exited.then((code) => reject(new Error(`the gateway ended with ${code}`)))
  })
  return {
    async stop() {
      child.kill('SIGTERM')
      return exited
    },
  }
}

test('without a gateway the turn is taken here, and the session is the same the next time', async () => {
  const first = await type(['agent', '-m', 'hello there'])
  expect(first).toMatchObject({ code: 0, err: '' })
  expect(first.out).toMatch(/not Claude.*\n\n\(offline\) hello there\n$/s)
  const json = await type(['agent', '-m', 'again', '--json'])
  expect(JSON.parse(json.out)).toMatchObject({ sessionKey: 'agent:main:main', model: 'offline' })
  const piped = await type(['agent', '--to', 'ada'], { input: 'from a pipe' })
  expect(piped.out).toContain('(offline) from a pipe')
  const turns = JSON.parse((await type(['turns', 'list', '--json'])).out) as {
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
  const late = await type(['agent', '-m', 'x', '--timeout', '0.0001', '--json'])
  expect(late.code).toBe(7)
  expect(JSON.parse(late.out)).toMatchObject({ error: { code: 'timed-out', retryable: true } })
})

test('chat is a conversation; commands work in it', async () => {
  const { out, code } = await type(['chat'], { input: 'hi\n/whoami\n/new\n/exit\n' })
  expect(code).toBe(0)
  expect(out).toContain('(offline) hi')
  expect(out).toMatch(/You are cli on internal|You are/)
  expect(out).toContain('New session.')
})

test('with a gateway the same command asks it, and SIGTERM ends it cleanly', async () => {
  const gateway = await up(offline())
  const asked = await type(['agent', '-m', 'through the gateway'])
  expect(asked).toMatchObject({ code: 0 })
  expect(asked.out).toContain('(offline) through the gateway')
  expect(await type(['system', 'event', 'The build is red.'])).toMatchObject({ code: 0 })
  const began = performance.now()
  expect(await gateway.stop()).toBe(0)
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
    expect(shown.out).toBe('Let me look.\nIt says hi.\n')
    expect(shown.err).toContain('🔧 Bash: echo hi')
    const touch = { tools: [{ name: 'Bash', input: { command: 'touch unasked.txt' } }] }
    const denied = await type(
      ['agent', '--model', testModel, '-m', `touch ${inline(touch, { text: 'Not allowed, I see.' })}`],
      { variables: home.variables },
    )
    expect(denied.out).toContain('Not allowed, I see.')
    expect(denied.err).toMatch(/touch unasked\.txt\nNobody can be asked here, so the answer is no\./)
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
    expect(failed.err).toMatch(/^Error: /m)
  } finally {
    await api.close()
    home.remove()
  }
})
