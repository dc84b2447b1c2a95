// A real PostgreSQL for tests, in a temporary folder, on loopback. It does not run as root, so it runs as `nobody` there.
import { execFile, execFileSync } from 'node:child_process'
import { chownSync, existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { createServer } from 'node:net'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'

export interface TestPostgres {
  url: string
  /** Ends it at once, as a crash would, and starts it again after a while. */
  restart(downMs: number): Promise<void>
  stop(): Promise<void>
}

/** Undefined where there is none; the test then says so. */
export async function startPostgres(): Promise<TestPostgres | undefined> {
  const bin = binaries()
  if (bin === undefined) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'rockpool-pg-'))
  const asRoot = process.getuid?.() === 0
  if (asRoot) chownSync(folder, idOf('-u'), idOf('-g'))
  const run = (program: string, ...args: string[]): Promise<unknown> => {
    const command = [join(bin, program), ...args]
    const prefix = asRoot
      ? ['setpriv', '--reuid', String(idOf('-u')), '--regid', String(idOf('-g')), '--clear-groups']
      : []
    const [first = '', ...rest] = [...prefix, ...command]
    return promisify(execFile)(first, rest, {
      cwd: folder,
      env: { PATH: process.env['PATH'], LC_ALL: 'C.UTF-8' },
    })
  }
  const data = join(folder, 'data')
  const port = await freePort()
  await run('initdb', '-D', data, '-U', 'rockpool', '-A', 'trust', '-E', 'UTF8', '--no-sync')
  const options = `-h 127.0.0.1 -p ${port} -k ${folder} -c fsync=off -c max_connections=400`
  const start = (): Promise<unknown> =>
    run('pg_ctl', '-D', data, '-w', '-o', options, '-l', join(folder, 'log'), 'start')
  await start()
  return {
    url: `postgres://rockpool@127.0.0.1:${port}/postgres`,
    async restart(downMs) {
      await run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      await new Promise((resolve) => setTimeout(resolve, downMs))
      await start()
    },
    async stop() {
      await run('pg_ctl', '-D', data, '-m', 'immediate', 'stop')
      rmSync(folder, { recursive: true, force: true })
    },
  }
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

function freePort(): Promise<number> {
  return new Promise((resolve) => {
    const server = createServer().listen(0, '127.0.0.1', () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })
}
