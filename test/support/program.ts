// The built program as people run it: `node bin/rockpool.js …` with a home and a state directory of its own. And its command line
// within the test, from the sources: the built program takes a fifth of a second to start.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { openApp } from '../../src/app.ts'
import { allLocalCommands } from '../../src/cli/commands.ts'
import { run } from '../../src/cli/run.ts'
import { makeCatalog } from '../../src/operations/catalog.ts'
import { readEnvironment } from '../../src/store/config-file.ts'

export const programFile = join(import.meta.dirname, '../../bin/rockpool.js')

export interface Ran {
  code: number | null
  stdout: string
  stderr: string
  json(): { [field: string]: unknown }
}

export interface Home {
  dir: string
  env: Record<string, string>
  run(args: string[], extra?: Record<string, string>): Promise<Ran>
  /** The same within the test. */
  type(args: string[], extra?: Record<string, string>): Promise<Ran>
  start(args: string[], extra?: Record<string, string>): Running
  remove(): void
}

export interface Running {
  child: ChildProcess
  /** The first line on stdout. */
  line: Promise<string>
  ended: Promise<Ran>
}

export function makeHome(): Home {
  const dir = mkdtempSync(join(tmpdir(), 'rockpool-home-'))
  const env = {
    PATH: process.env['PATH'] ?? '',
    HOME: dir,
    ROCKPOOL_STATE_DIR: join(dir, 'state'),
    CLAUDE_CONFIG_DIR: join(dir, 'claude'),
  }
  const start = (args: string[], extra: Record<string, string> = {}): Running =>
    startProgram(args, { ...env, ...extra })
  return {
    dir,
    env,
    start,
    run: (args, extra) => start(args, extra).ended,
    type: (args, extra) => typeCommand(args, { ...env, ...extra }),
    remove: () => rmSync(dir, { recursive: true, force: true }),
  }
}

export function startProgram(args: string[], env: Record<string, string>, input = ''): Running {
  const child = spawn(process.execPath, [programFile, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] })
  let stdout = ''
  let stderr = ''
  child.stderr.setEncoding('utf8').on('data', (chunk) => (stderr += chunk))
  const line = new Promise<string>((resolve, reject) => {
    child.stdout.setEncoding('utf8').on('data', (chunk) => {
      stdout += chunk
      const end = stdout.indexOf('\n')
      if (end >= 0) resolve(stdout.slice(0, end))
    })
    child.on('close', () => reject(new Error(`it ended before its first line: ${stderr}`)))
  })
  // A caller that only waits for the end does not read the line.
  line.catch(() => {})
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (code) => resolve(ranWith(code, stdout, stderr)))
  })
  child.stdin.end(input)
  return { child, line, ended }
}

/** Runs one command line within the test: no terminal, no colours, lines of any width. */
export async function typeCommand(
  args: string[],
  variables: Record<string, string>,
  cwd = process.cwd(),
): Promise<Ran> {
  const environment = readEnvironment(variables)
  const written = { out: '', err: '' }
  const code = await run(args, {
    environment,
    terminal: {
      out: (text) => void (written.out += text),
      err: (text) => void (written.err += text),
      isInteractive: false,
      canAsk: false,
      width: 10_000,
      color: false,
    },
    version: '0.0.0-test',
    now: () => Date.now(),
    cwd,
    program: programFile,
    openApp: ({ withLastConfig } = {}) => openApp(environment, { version: '0.0.0-test', withLastConfig }),
    catalog: async () => makeCatalog(await allLocalCommands()),
    serveMcp: () => Promise.reject(new Error('`mcp` needs the program')),
    up: () => Promise.reject(new Error('`up` needs the program')),
  })
  return ranWith(code, written.out, written.err)
}

function ranWith(code: number | null, stdout: string, stderr: string): Ran {
  return { code, stdout, stderr, json: () => JSON.parse(stdout) as { [field: string]: unknown } }
}
