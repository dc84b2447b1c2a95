// The built program as people run it: `node bin/rockpool.js …` with a home and a state directory of its own.
import { spawn } from 'node:child_process'
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

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
  // Whoever only waits for the end does not care whether there was a line.
  line.catch(() => {})
  const ended = new Promise<Ran>((resolve) => {
    child.on('close', (code) =>
      resolve({ code, stdout, stderr, json: () => JSON.parse(stdout) as { [field: string]: unknown } }),
    )
  })
  child.stdin.end(input)
  return { child, line, ended }
}
