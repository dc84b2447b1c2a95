// Commands around the house, as people run them: setup, service, agents, tokens and logs. Each in a home of its own.
import { spawn } from 'node:child_process'
import {
  appendFileSync,
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { makeHome, programFile } from './support/program.ts'
import type { Home } from './support/program.ts'

let home: Home
beforeEach(() => {
  home = makeHome()
})
afterEach(() => home.remove())

const configFile = (): string => join(home.dir, 'state', 'rockpool.json')
const readConfig = (): string | undefined =>
  existsSync(configFile()) ? readFileSync(configFile(), 'utf8') : undefined

async function until(condition: () => boolean): Promise<void> {
  const give = performance.now() + 30_000
  while (!condition()) {
    if (performance.now() > give) throw new Error('it did not happen in 30 s')
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
}

describe('setup', () => {
  test('where no one can answer it reports what it found and changes nothing', async () => {
    const first = await home.type(['setup', '--json'])
    expect(first.json()).toMatchObject({
      claude: { found: false, hint: expect.stringContaining('ANTHROPIC_API_KEY') },
      agents: [],
      service: { installed: false },
    })
    expect((await home.type(['setup', '--json'])).stdout).toBe(first.stdout)
    expect((await home.run(['setup'])).code).toBe(0)
    expect(readConfig()).toBeUndefined()
  })

  test('at a terminal every step can be skipped, and what is set is not asked again', async (context) => {
    if (process.platform !== 'linux') context.skip("needs Linux' script command")
    // The arrow changes Yes to No.
    const steps = { 'first channel': '', 'terminal sessions': '\x1b[C', 'at login': '' }
    const skipped = await walkThrough({ 'Name of the agent': '', ...steps })
    expect(skipped).toContain('Ready.')
    expect(existsSync(join(home.dir, '.claude'))).toBe(false)
    expect(readConfig()).toBeUndefined()
    await walkThrough({ 'Name of the agent': 'Ada', ...steps })
    expect(JSON.parse(readConfig()!)).toEqual({
      agents: { list: [{ id: 'main', name: 'Ada', default: true }] },
    })
    const before = readConfig()
    const again = await walkThrough(steps)
    expect(again).toContain('Agents: main')
    expect(again).not.toContain('Name of the agent')
    expect(readConfig()).toBe(before)
  })
})

/** Runs `rockpool setup` at a terminal and answers each question when it is on the screen. */
async function walkThrough(answers: Record<string, string>): Promise<string> {
  const args = ['-qec', `stty cols 100; ${process.execPath} ${programFile} setup`, '/dev/null']
  const env = { ...home.env, TERM: 'xterm', NO_COLOR: '1' }
  const child = spawn('script', args, { env, stdio: ['pipe', 'pipe', 'inherit'] })
  let screen = ''
  child.stdout.setEncoding('utf8').on('data', (chunk) => (screen += chunk))
  const ended = new Promise((resolve) => child.once('close', resolve))
  for (const [question, answer] of Object.entries(answers)) {
    await until(() => screen.includes(question))
    child.stdin.write(`${answer}\r`)
  }
  await ended
  return screen
}

describe('service', () => {
  const unit = (): string => join(home.dir, '.config', 'systemd', 'user', 'rockpool.service')

  /** A systemd that notes what it is asked. */
  function systemd(): { env: Record<string, string>; asked: () => string[] } {
    const bin = join(home.dir, 'bin')
    const notes = join(home.dir, 'asked')
    mkdirSync(bin)
    for (const name of ['systemctl', 'journalctl']) {
      writeFileSync(join(bin, name), `#!/bin/sh\necho ${name} "$@" >> ${notes}\necho a line of ${name}\n`)
      chmodSync(join(bin, name), 0o755)
    }
    const asked = (): string[] => readFileSync(notes, 'utf8').trim().split('\n')
    return { env: { PATH: `${bin}:${home.env['PATH']}` }, asked }
  }

  test('is installed, seen, read and removed; each may be done again', async (context) => {
    if (process.platform !== 'linux') context.skip('systemd is on Linux only')
    const { env, asked } = systemd()
    const installed = (await home.type(['service', 'install', '--json'], env)).json()
    expect(installed).toMatchObject({ installed: true, changed: true, started: true, file: unit() })
    expect(readFileSync(unit(), 'utf8')).toContain(`ROCKPOOL_STATE_DIR=${home.env['ROCKPOOL_STATE_DIR']}`)
    expect(asked()).toEqual([
      'systemctl --user daemon-reload',
      'systemctl --user enable --now rockpool.service',
    ])
    expect((await home.type(['service', 'install', '--json'], env)).json()).toMatchObject({ changed: false })
    expect((await home.type(['service', 'status', '--json'], env)).json()).toMatchObject({
      installed: true,
      running: true,
    })
    expect((await home.type(['service', 'logs', '--json'], env)).json()).toEqual({
      lines: ['a line of journalctl'],
    })
    expect((await home.type(['service', 'uninstall', '--json'], env)).json()).toMatchObject({ changed: true })
    expect(existsSync(unit())).toBe(false)
    expect((await home.type(['service', 'uninstall', '--json'], env)).json()).toMatchObject({
      changed: false,
    })
  })

  test('where systemd does not answer, the file is in place and the error says what to do', async (context) => {
    if (process.platform !== 'linux') context.skip('systemd is on Linux only')
    const failed = await home.type(['service', 'install', '--json'], { PATH: '/nowhere' })
    expect([failed.code, failed.json()]).toMatchObject([69, { error: { code: 'unavailable' } }])
    expect(existsSync(unit())).toBe(true)
  })
})

test('an agent is added beside the one that answers, and set aside when it is removed', async () => {
  expect(await home.type(['agents', 'add', 'main'])).toMatchObject({ code: 5 })
  const add = await home.type(['agents', 'add', 'work', '--name', 'Work', '--json'])
  expect(add.json()).toMatchObject({ ok: true, id: 'work' })
  expect((await home.type(['agents', 'list', '--json'])).json()).toMatchObject({
    defaultId: 'main',
    agents: [{ id: 'main' }, { id: 'work', name: 'Work' }],
  })
  expect((await home.type(['agents', 'add', 'work', '--name', 'X', '--json'])).json()).toMatchObject({
    error: { code: 'conflict' },
  })
  await home.type(['sessions', 'patch', 'agent:work:main', '--label', 'kept'])
  const removed = (await home.type(['agents', 'remove', 'work', '--yes', '--json'])).json()
  expect(existsSync(String(removed['setAside']))).toBe(true)
  expect((await home.type(['agents', 'remove', 'main', '--yes', '--json'])).json()).toMatchObject({
    error: { code: 'refused' },
  })
  await home.type(['agents', 'add', 'boss', '--default'])
  expect((await home.type(['agents', 'list', '--json'])).json()).toMatchObject({ defaultId: 'boss' })
})

test('a token is made, shown once, listed without its secret, and withdrawn', async () => {
  const made = (await home.type(['tokens', 'add', 'grafana', '--scope', 'read', '--json'])).json()
  expect(made).toMatchObject({
    name: 'grafana',
    scopes: ['read'],
    token: expect.stringMatching(/^[\w-]{43}$/),
  })
  const listed = await home.type(['tokens', 'list', '--json'])
  expect(listed.json()).toMatchObject({ tokens: [{ name: 'grafana', scopes: ['read'] }] })
  expect(listed.stdout).not.toContain(made['token'])
  expect((await home.type(['tokens', 'add', 'grafana', '--json'])).json()).toMatchObject({
    error: { code: 'conflict' },
  })
  expect((await home.type(['tokens', 'remove', 'grafana', '--yes', '--json'])).code).toBe(0)
  expect((await home.type(['tokens', 'list', '--json'])).json()).toMatchObject({ tokens: [] })
  const file = join(home.dir, 'state', 'credentials', 'gateway-token')
  await home.type(['tokens', 'rotate', '--yes'])
  const first = readFileSync(file, 'utf8')
  expect(await home.type(['tokens', 'rotate'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs <which> or --yes') as string,
  })
  expect(readFileSync(file, 'utf8')).toBe(first)
  await home.type(['tokens', 'rotate', 'operator'])
  expect(readFileSync(file, 'utf8')).not.toBe(first)
  const wrong = await home.type(['tokens', 'add', 'z', '--scope', 'foo'])
  expect(wrong.stderr).toContain('--scope "foo": read, write, approve or admin is expected.')
  const unseen = await home.type(['tokens', 'add', 'a\nb'])
  expect(unseen.stderr).toContain('"a\\nb" cannot be a name.')
  const help = await home.type(['tokens', 'add', '--help'])
  expect(help.stdout).toMatch(/--scope <value> +What it may do\. One of read, write, approve, admin\./)
})

test('a script that purges the whole vault has to say yes', async () => {
  const purge = ['vault', 'purge', '--all']
  expect(await home.type(purge)).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('needs <id> or --yes') as string,
  })
  expect(await home.type([...purge, '--yes'])).toMatchObject({ code: 0 })
})

test('a key that the shell would not read as one word is quoted in advice', async () => {
  const { stdout } = await home.type(['config', 'set', 'coding.repos.my shop', home.dir])
  expect(stdout).toContain("Undo: rockpool config set 'coding.repos.my shop' --unset")
  await home.type(['config', 'set', 'coding.repos.my shop', '--unset'])
})

test('one purged session is kept again, or all of them', async () => {
  expect(await home.type(['vault', 'keep', '3f2a', '--purged'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('Name a session, or use --purged; not both.') as string,
  })
})

test('for a short wrong command no command with another meaning is offered', async () => {
  const { stderr } = await home.type(['cc', 'end', 'shop'])
  expect(stderr).toContain('`rockpool cc --help` lists them all.')
})

test('logs --follow shows what is there, and then what comes', async () => {
  const folder = join(home.dir, 'state', 'logs')
  mkdirSync(folder, { recursive: true })
  const write = (msg: string): void =>
    appendFileSync(
      join(folder, 'rockpool.log'),
      `${JSON.stringify({ level: 30, time: '2026-11-16T00:00:00Z', msg })}\n`,
    )
  write('the first line')
  const follow = home.start(['logs', '--follow'])
  let said = ''
  follow.child.stdout!.on('data', (chunk) => (said += String(chunk)))
  await until(() => said.includes('the first line'))
  write('a later line')
  await until(() => said.includes('a later line'))
  follow.child.kill('SIGTERM')
  expect(said.match(/the first line/g)).toHaveLength(1)
})

test('the demo shows sessions in every state without touching anything else, and leaves nothing behind', async () => {
  const demo = home.start(['demo', '--json'])
  const { stateDir } = JSON.parse(await demo.line) as { stateDir: string }
  const env = { ROCKPOOL_STATE_DIR: stateDir }
  const states = async (): Promise<string[]> => {
    const { sessions } = (await home.run(['cc', 'sessions', '--json'], env)).json() as {
      sessions: Array<{ name: string; state: string }>
    }
    return sessions.map(({ name, state }) => `${name} ${state}`).sort()
  }
  const wanted = [
    'fix-login-button ready',
    'migrate-orders needs you',
    'retry-sync needs you',
    'update-dependencies failed',
    'write-api-docs working',
  ]
  await vi.waitFor(async () => expect(await states()).toEqual(wanted), { timeout: 30_000 })
  const review = (await home.run(['cc', 'review', 'fix-login-button', '--json'], env)).json() as {
    files: Array<{ path: string }>
  }
  expect(review.files.map(({ path }) => path)).toEqual(['src/login.test.tsx', 'src/login.tsx'])
  expect(readdirSync(home.dir)).toEqual([])
  demo.child.kill('SIGINT')
  // npm and an older Node send on the signal that the terminal has sent already.
  demo.child.kill('SIGINT')
  expect(await demo.ended).toMatchObject({ code: 0 })
  expect(existsSync(dirname(stateDir))).toBe(false)
})
