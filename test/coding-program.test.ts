// Coding sessions as people run them: the built program, the real Claude binary, a gateway that is killed.
import { existsSync, mkdtempSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { isRunningClaude } from './claude-processes.ts'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { inline, startMessagesApi } from './messages-api.ts'
import type { MessagesApi } from './messages-api.ts'
import { makeHome } from './program.ts'
import type { Home, Ran, Running } from './program.ts'

let api: MessagesApi
let claude: ClaudeHome
let home: Home
const started: Running[] = []
beforeAll(async () => {
  api = await startMessagesApi()
  claude = makeClaudeHome({ apiUrl: api.url, name: 'coding' })
  home = makeHome()
})
afterAll(async () => {
  // A test that failed has left its gateway.
  for (const { child } of started) child.kill('SIGKILL')
  await api.close()
  claude.remove()
  home.remove()
})

const run = (...args: string[]): Promise<Ran> => home.run(args, claude.variables)
const newRepo = (): string => mkdtempSync(join(claude.root, 'repo-'))

interface Row {
  id: string
  name: string
  status: string
  lifecycle: string
  endReason?: string
  claudeSessionId?: string
}

async function sessions(): Promise<Row[]> {
  return (await run('coding', 'sessions', '--json')).json()['sessions'] as Row[]
}

async function startGateway(): Promise<Running> {
  const up = home.start(['up', '--port', '0', '--json'], claude.variables)
  started.push(up)
  await up.line
  return up
}

async function stop(up: Running): Promise<void> {
  up.child.kill('SIGTERM')
  await up.ended
}

const noticesOf = (id: string): string[] => {
  const db = new DatabaseSync(join(claude.stateDir, 'rockpool.sqlite'), { readOnly: true })
  const rows = db.prepare('SELECT * FROM outbox').all() as Array<Record<string, unknown>>
  db.close()
  return rows.map((row) => JSON.stringify(row)).filter((row) => row.includes(id))
}

test('`cc launch --wait` runs in its own process, shows the turn, and leaves no process and no gateway', async () => {
  const repo = newRepo()
  const prompt = inline({ text: 'the heron is home' })
  const ran = await run('cc', 'launch', prompt, '--repo', repo, '--model', testModel, '--fresh', '--wait')
  expect(ran.stderr).toBe('')
  expect(ran.stdout).toContain('the heron is home')
  expect(isRunningClaude(claude.root)).toBe(false)
  const [row] = await sessions()
  expect(row).toMatchObject({ lifecycle: 'suspended', endReason: 'shutdown' })
  const again = await run('cc', 'resume', row!.name, inline({ text: 'and it stays' }), '--wait', '--json')
  expect(again.json()).toMatchObject({ claudeSessionId: row!.claudeSessionId })
  expect(JSON.stringify(api.calls().at(-1)?.body.messages)).toContain('the heron is home')
})

test('what a waiting command is asked can be answered from another terminal, without any gateway', async () => {
  const touch = { tools: [{ name: 'Bash', input: { command: 'touch from-afar' } }] }
  const repo = newRepo()
  const prompt = inline(touch, { text: 'allowed from afar' })
  const args = ['--repo', repo, '--model', testModel, '--fresh', '--name', 'asker', '--wait']
  const launched = run('cc', 'launch', prompt, ...args)
  const asked = async (): Promise<void> => {
    const { approvals } = (await run('cc', 'approvals', '--json')).json() as { approvals: unknown[] }
    expect(approvals).toMatchObject([{ session: 'asker', shown: 'touch from-afar' }])
  }
  await vi.waitFor(asked, { timeout: 60_000, interval: 500 })
  expect((await run('cc', 'approve')).code).toBe(0)
  const ran = await launched
  expect(ran.stdout).toContain('allowed from afar')
  expect(ran.stderr).toMatch(/asker asks something: .*cc approve [0-9a-f]{8}/)
  expect(existsSync(join(repo, 'from-afar'))).toBe(true)
})

test('`cc launch` without a gateway starts one in the background, says so, and the session lives there', async () => {
  const prompt = inline({ text: 'left behind' })
  const ran = await run(
    'cc',
    'launch',
    prompt,
    '--repo',
    newRepo(),
    '--model',
    testModel,
    '--fresh',
    '--json',
  )
  expect(ran.stderr).toMatch(/started one in the background \(process \d+\)/)
  const pid = Number(/process (\d+)/.exec(ran.stderr)![1])
  const { id } = ran.json() as unknown as Row
  const gateway = JSON.parse(readFileSync(join(claude.stateDir, 'gateway.json'), 'utf8')) as {
    process: { pid: number }
  }
  expect(gateway.process.pid).toBe(pid)
  const waits = async (): Promise<void> => {
    const mine = (await sessions()).find((row) => row.id === id)
    expect(mine?.lifecycle).toBe('awaiting-input')
  }
  await vi.waitFor(waits, { timeout: 30_000, interval: 300 })
  process.kill(pid, 'SIGTERM')
  await vi.waitFor(() => expect(() => process.kill(pid, 0)).toThrow(), { timeout: 30_000, interval: 100 })
  expect(isRunningClaude(claude.root)).toBe(false)
})

/** Rows as they are on disk: asking the program again and again would cost more than the sessions. */
function storedRows(ids: string[]): Row[] {
  const db = new DatabaseSync(join(claude.stateDir, 'rockpool.sqlite'), { readOnly: true })
  const rows = db.prepare('SELECT * FROM coding_session').all() as Array<Record<string, unknown>>
  db.close()
  return rows.flatMap((row) => {
    const session = JSON.parse(String(row['record'])) as Row & { sdkSessionId?: string }
    return ids.includes(session.id) ? [{ ...session, claudeSessionId: session.sdkSessionId }] : []
  })
}

async function launchSleeper(name: string): Promise<string> {
  const command = 'python3 -c "import time; time.sleep(120)"'
  const prompt = inline({ tools: [{ name: 'Bash', input: { command } }] }, { text: 'never' })
  const args = ['--repo', newRepo(), '--model', testModel, '--fresh', '--name', name]
  const more = ['--allowed-tools', 'Bash', '--origin-channel', 'telegram|42', '--json']
  return String((await run('cc', 'launch', prompt, ...args, ...more)).json()['id'])
}

const isFull = process.env['ROCKPOOL_TEST'] === 'full'
const sleepers = isFull ? 5 : 2
/** What is promised; the default run shares its machine with everything else. */
const recoveredWithinMs = isFull ? 5_000 : 20_000

test('killed with -9 while sessions run: all are listed and resumable after the restart, none of their processes is left, each is told once', async () => {
  const first = await startGateway()
  const ids: string[] = []
  for (let n = 0; n < sleepers; n++) ids.push(await launchSleeper(`sleeper-${n}`))
  const working = (): void => {
    const rows = storedRows(ids).filter((row) => row.claudeSessionId && row.lifecycle === 'active')
    expect(rows).toHaveLength(sleepers)
  }
  await vi.waitFor(working, { timeout: 60_000, interval: 200 })
  first.child.kill('SIGKILL')
  await first.ended
  const second = await startGateway()
  const suspended = (): void => {
    expect(storedRows(ids).map(({ status, lifecycle }) => ({ status, lifecycle }))).toEqual(
      Array.from({ length: sleepers }, () => ({ status: 'killed', lifecycle: 'suspended' })),
    )
    expect(isRunningClaude(claude.root)).toBe(false)
  }
  await vi.waitFor(suspended, { timeout: recoveredWithinMs, interval: 100 })
  const listed = (await sessions()).filter(({ id }) => ids.includes(id))
  expect(listed.map(({ endReason }) => endReason)).toEqual(Array.from({ length: sleepers }, () => 'crash'))
  const resumed = await run('cc', 'resume', 'sleeper-0', inline({ text: 'awake' }), '--wait', '--json')
  expect(resumed.json()).toMatchObject({ lifecycle: 'awaiting-input' })
  await stop(second)
  const third = await startGateway()
  expect((await sessions()).length).toBeGreaterThan(sleepers)
  await stop(third)
  for (const id of ids) {
    expect(noticesOf(id).filter((notice) => notice.includes('Rockpool stopped while it ran'))).toHaveLength(1)
  }
}, 180_000)
