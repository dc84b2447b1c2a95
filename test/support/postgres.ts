// A real PostgreSQL for tests, in a temporary folder, on loopback. It refuses to run as root, so it runs as the user `nobody`.
import { execFile, execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readFileSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'

export interface TestPostgres {
  url: string
  /** Ends it at once, as a crash would, and starts it again after a while. */
  restart(downMs: number): Promise<void>
  /** The same, for as long as this takes. */
  whileAway<T>(work: () => Promise<T>): Promise<T>
  stop(): Promise<void>
}

export interface TestPostgresPair {
  /** Names both servers. */
  url: string
  /** Kills the server that accepts writes, and promotes the other one. */
  failOver(): Promise<void>
  /** As planned: the primary refuses writes from now on and still answers, and the other takes its place. */
  switchOver(): Promise<void>
  stop(): Promise<void>
}

/** Undefined where there is none; the test then says so. */
export async function startPostgres(): Promise<TestPostgres | undefined> {
  const bin = binaries()
  if (bin === undefined) return undefined
  const folder = makeFolder()
  const server = new Server(bin, folder, 'data', await freePort())
  await server.create()
  await server.start()
  return {
    url: `postgres://rockpool@${server.place}/postgres`,
    restart: (downMs) => server.whileStopped(() => pause(downMs)),
    whileAway: (work) => server.whileStopped(work),
    async stop() {
      await server.stop()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A primary, and a standby that has every commit before it is acknowledged. */
export async function startPostgresPair(): Promise<TestPostgresPair | undefined> {
  const bin = binaries()
  if (bin === undefined) return undefined
  const folder = makeFolder()
  const [first, second] = [
    new Server(bin, folder, 'first', await freePort()),
    new Server(bin, folder, 'second', await freePort()),
  ]
  await first.create()
  await first.start()
  await second.copyOf(first)
  await second.start()
  await first.ask("ALTER SYSTEM SET synchronous_standby_names = '*'")
  await first.ask('SELECT pg_reload_conf()')
  while (!(await first.ask('SELECT sync_state FROM pg_stat_replication')).includes('sync')) await pause(100)
  return {
    url: `postgres://rockpool@${first.place},${second.place}/postgres`,
    async failOver() {
      await first.kill()
      await second.run('pg_ctl', '-D', second.data, '-w', 'promote')
    },
    async switchOver() {
      await first.ask('ALTER SYSTEM SET default_transaction_read_only = on')
      await first.ask('SELECT pg_reload_conf()')
      await second.run('pg_ctl', '-D', second.data, '-w', 'promote')
    },
    async stop() {
      await second.stop()
      await first.stop().catch(() => {
        // It was killed.
      })
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

class Server {
  readonly data: string
  readonly place: string
  #bin: string
  #folder: string
  #port: number

  constructor(bin: string, folder: string, name: string, port: number) {
    this.#bin = bin
    this.#folder = folder
    this.#port = port
    this.data = join(folder, name)
    this.place = `127.0.0.1:${port}`
  }

  /** `initdb` takes a second of processor time; copying its result takes a tenth of that. */
  async create(): Promise<void> {
    const { ROCKPOOL_TEST_SHARED: shared } = process.env
    const made = shared === undefined ? undefined : join(shared, 'postgres')
    if (made !== undefined && existsSync(made)) return copyFolder(made, this.data)
    await this.run('initdb', '-D', this.data, '-U', 'rockpool', '-A', 'trust', '-E', 'UTF8', '--no-sync')
    if (made === undefined) return
    const copy = `${made}-${this.#port}`
    await copyFolder(this.data, copy)
    try {
      renameSync(copy, made)
    } catch {
      // Another file was first.
      rmSync(copy, { recursive: true })
    }
  }

  async copyOf({ place }: Server): Promise<void> {
    const [host = '', port = ''] = place.split(':')
    const from = ['-h', host, '-p', port, '-U', 'rockpool']
    await this.run('pg_basebackup', ...from, '-D', this.data, '-R', '-X', 'stream', '-c', 'fast', '--no-sync')
  }

  async start(): Promise<void> {
    const options = `-h 127.0.0.1 -p ${this.#port} -k ${this.#folder} -c fsync=off -c max_connections=400`
    const log = join(this.#folder, `log-${this.#port}`)
    await this.run('pg_ctl', '-D', this.data, '-w', '-o', options, '-l', log, 'start')
  }

  /** At once, as a crash would. */
  async stop(): Promise<void> {
    await this.run('pg_ctl', '-D', this.data, '-m', 'immediate', 'stop')
  }

  async whileStopped<T>(work: () => Promise<T>): Promise<T> {
    await this.stop()
    try {
      return await work()
    } finally {
      await this.start()
    }
  }

  /** Without a chance to say good-bye. */
  async kill(): Promise<void> {
    const pid = Number(readFileSync(join(this.data, 'postmaster.pid'), 'utf8').split('\n')[0])
    process.kill(pid, 'SIGKILL')
    while (identifyProcess(pid) !== undefined) await pause(20)
  }

  ask(sql: string): Promise<string> {
    const [host = '', port = ''] = this.place.split(':')
    return this.run('psql', '-h', host, '-p', port, '-U', 'rockpool', '-d', 'postgres', '-At', '-c', sql)
  }

  async run(program: string, ...args: string[]): Promise<string> {
    const command = [join(this.#bin, program), ...args]
    const asRoot = process.getuid?.() === 0
    const prefix = asRoot
      ? ['setpriv', '--reuid', String(idOf('-u')), '--regid', String(idOf('-g')), '--clear-groups']
      : []
    const [first = '', ...rest] = [...prefix, ...command]
    const env = { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' }
    return (await promisify(execFile)(first, rest, { cwd: this.#folder, env })).stdout
  }
}

/** With the owners of the files: the server reads only what belongs to its user. */
async function copyFolder(from: string, to: string): Promise<void> {
  await promisify(execFile)('cp', ['-a', from, to])
}

function makeFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-pg-'))
  if (process.getuid?.() === 0) chownSync(folder, idOf('-u'), idOf('-g'))
  return folder
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}

function binaries(): string | undefined {
  const debian = existsSync('/usr/lib/postgresql') ? readdirSync('/usr/lib/postgresql') : []
  const folders = [
    ...debian.map((version) => `/usr/lib/postgresql/${version}/bin`),
    '/usr/local/bin',
    '/usr/bin',
  ]
  return folders.find((folder) => existsSync(join(folder, 'initdb')) && existsSync(join(folder, 'pg_ctl')))
}

function idOf(which: '-u' | '-g'): number {
  return Number(execFileSync('id', [which, 'nobody'], { encoding: 'utf8' }))
}

/**
 * Below those that the system gives to connections: while a server is stopped, one of these could get its port, and a client
 * that tries to reach it could even connect with itself.
 */
async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer()
    server.once('error', () => resolve(false))
    server.listen(port, '127.0.0.1', () => server.close(() => resolve(true)))
  })
}
