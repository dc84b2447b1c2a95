// Two machines with homes and repositories of their own on one PostgreSQL: the real program on each, with the real Claude
// binary and a scripted API. What is asked of one is done by the other.
import { execFileSync } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, vi } from 'vitest'
import { makeClaudeHome, testModel } from './claude-home.ts'
import type { ClaudeHome } from './claude-home.ts'
import { startMessagesApi } from './messages-api.ts'
import type { MessagesApi } from './messages-api.ts'
import { startProgram } from './program.ts'
import { end } from './telegram-storm.ts'

export interface CodingRow {
  id: string
  name: string
  machine: string
  workdir: string
  lifecycle: string
  status: string
  endMessage?: string
  waiting?: { for: string; approvalId?: string }
  [field: string]: unknown
}

export interface CodingMachine {
  name: string
  home: ClaudeHome
  child: ChildProcess
  /** A command typed on this machine; what it prints as JSON, or its error. */
  type<T = CodingRow>(...words: string[]): Promise<T>
  /** The same for a command that may fail, because a process is killed. */
  try(...words: string[]): Promise<unknown>
  /** The same for a command that must fail. */
  typeInVain(...words: string[]): Promise<{ code: string; message: string; hint?: string }>
  /** Until the session is so, as this machine sees it. */
  until(id: string, lifecycle: string): Promise<CodingRow>
  start(): Promise<void>
  kill(): Promise<void>
}

export interface CodingMachines {
  api: MessagesApi
  a: CodingMachine
  b: CodingMachine
  /** The same repository at another path on each. */
  webapp: { a: string; b: string }
  /** A repository that only `b` has. */
  model: string
  close(): Promise<void>
}

const patience = { timeout: 60_000, interval: 100 }

export async function openCodingMachines(url: string): Promise<CodingMachines> {
  const api = await startMessagesApi()
  const [a, b] = [makeMachine('a', [], url, api), makeMachine('b', ['gpu'], url, api)]
  const webapp = { a: join(workOf(a), 'webapp'), b: join(workOf(b), 'shop') }
  const model = join(workOf(b), 'model')
  makeRepository(webapp.a)
  git(workOf(b), 'clone', '--quiet', webapp.a, webapp.b)
  makeRepository(model)
  await Promise.all([a.start(), b.start()])
  await vi.waitFor(async () => {
    const { machines } = await a.type<{ machines: Array<{ repositories: unknown[] }> }>('machines')
    expect(machines.map(({ repositories }) => repositories.length)).toEqual([1, 2])
  }, patience)
  return {
    api,
    a,
    b,
    webapp,
    model,
    async close() {
      await Promise.all([a, b].map(({ child }) => end(child, 'SIGTERM')))
      await api.close()
      for (const { home } of [a, b]) home.remove()
    },
  }
}

export function makeMachine(name: string, labels: string[], url: string, api: MessagesApi): CodingMachine {
  const home = makeClaudeHome({ apiUrl: api.url, name: `machine-${name}` })
  home.variables['ROCKPOOL_DATABASE_URL'] = url
  const work = join(home.root, 'work')
  mkdirSync(work)
  const config = {
    store: 'postgres',
    machine: { name, labels },
    claude: { maxRetries: 1 },
    agents: { defaults: { model: testModel } },
    coding: { workspaceRoots: [work], defaultModel: testModel },
  }
  writeFileSync(join(home.stateDir, 'rockpool.json'), JSON.stringify(config))
  const run = (words: string[]) => startProgram([...words, '--json'], home.variables).ended
  const machine: CodingMachine = {
    name,
    home,
    child: undefined as unknown as ChildProcess,
    async type<T>(...words: string[]) {
      const { code, stdout, stderr } = await run(words)
      expect(code, `${words.join(' ')}: ${stderr}${stdout}`).toBe(0)
      return JSON.parse(stdout) as T
    },
    try: (...words) => run(words),
    async typeInVain(...words) {
      const { code, stdout, stderr } = await run(words)
      expect(code, stdout).not.toBe(0)
      const text = stdout.trim() === '' ? stderr : stdout
      return (JSON.parse(text) as { error: { code: string; message: string; hint?: string } }).error
    },
    async until(id, lifecycle) {
      return vi.waitFor(async () => {
        const { sessions } = await machine.type<{ sessions: CodingRow[] }>('coding', 'sessions')
        const row = sessions.find((each) => each.id === id)
        expect(row?.lifecycle, row?.endMessage).toBe(lifecycle)
        return row!
      }, patience)
    },
    async start() {
      const { child, line } = startProgram(['up', '--port', '0', '--json'], home.variables)
      machine.child = child
      await line
    },
    kill: () => end(machine.child, 'SIGKILL'),
  }
  return machine
}

function workOf({ home }: CodingMachine): string {
  return join(home.root, 'work')
}

function makeRepository(path: string): void {
  mkdirSync(path)
  git(path, 'init', '--quiet', '--initial-branch', 'main')
  commit(path, 'README.md', `${path}\n`)
}

/** A new file, committed. */
export function commit(repository: string, file: string, text: string): string {
  writeFileSync(join(repository, file), text)
  git(repository, 'add', file)
  git(repository, 'commit', '--quiet', '-m', `Add ${file}`)
  return git(repository, 'rev-parse', 'HEAD')
}

function git(cwd: string, ...args: string[]): string {
  const who = ['-c', 'user.name=Ada', '-c', 'user.email=ada@example.org', '-c', 'commit.gpgsign=false']
  const env = { PATH: process.env['PATH'], HOME: cwd, GIT_CONFIG_NOSYSTEM: '1' }
  return execFileSync('git', [...who, ...args], { cwd, env, encoding: 'utf8' }).trim()
}
