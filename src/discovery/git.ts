// Runs git in a repository that may be hostile: its configuration must not make us run a program, write a file or reach the
// network. Nothing from outside becomes an argument; output is separated by NUL, and time and size are limited.
import { spawn } from 'node:child_process'
import { isAbsolute, relative } from 'node:path'
import { attempt } from '../domain/errors.ts'

export const gitTimeoutMs = 5_000
const mostBytes = 4 * 1024 * 1024

export type Variables = Readonly<Record<string, string | undefined>>

/** Settings of a repository that would run a program, with the value that runs none. */
const harmless: ReadonlyArray<readonly [key: string, value: string]> = [
  ['core.fsmonitor', 'false'],
  ['core.hooksPath', '/dev/null'],
  ['core.pager', 'cat'],
  ['core.editor', 'false'],
  ['core.askPass', 'false'],
  ['core.sshCommand', 'false'],
  ['core.gitProxy', ''],
  ['core.alternateRefsCommand', 'false'],
  ['credential.helper', ''],
  ['diff.external', ''],
  // Otherwise the log of a signed commit runs gpg.program.
  ['log.showSignature', 'false'],
  ['gpg.program', 'false'],
  ['protocol.allow', 'never'],
]

export interface Git {
  (args: readonly string[]): Promise<Ran>
}

interface GitOptions {
  timeoutMs?: number
  /** Of the output. */
  maxBytes?: number
  /** Variables for git itself. */
  more?: Readonly<Record<string, string>>
  /** Starts the program. */
  run?: Run
}

/** Git in `cwd`, with every setting disabled that could start a program. */
export function gitIn(
  cwd: string,
  variables: Variables,
  { timeoutMs = gitTimeoutMs, maxBytes = mostBytes, more = {}, run = runBounded }: GitOptions = {},
): Git {
  const env = { ...gitEnvironment(cwd, variables), ...more }
  const settings = harmless.flatMap(([key, value]) => ['-c', `${key}=${value}`])
  return (args) =>
    run('git', ['--no-optional-locks', '--no-pager', ...settings, ...args], { cwd, env, timeoutMs, maxBytes })
}

/** The environment for git, and for programs that call git themselves (gh). */
export function gitEnvironment(cwd: string, variables: Variables): Record<string, string> {
  const env: Record<string, string> = {
    PATH: pathOutside(cwd, variables['PATH'] ?? '/usr/bin:/bin'),
    LC_ALL: 'C.UTF-8',
    GIT_TERMINAL_PROMPT: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_PAGER: 'cat',
    // No remote may be contacted: a partial clone would fetch missing objects.
    GIT_ALLOW_PROTOCOL: 'none',
    GIT_NO_LAZY_FETCH: '1',
    GIT_CONFIG_COUNT: String(harmless.length),
  }
  // The user's own settings (safe.directory, ignored files) are trusted; the repository's are not.
  for (const name of ['HOME', 'XDG_CONFIG_HOME', 'USER']) {
    if (variables[name] !== undefined) env[name] = variables[name]
  }
  harmless.forEach(([key, value], index) => {
    env[`GIT_CONFIG_KEY_${index}`] = key
    env[`GIT_CONFIG_VALUE_${index}`] = value
  })
  return env
}

/** PATH without relative folders and without folders of the repository: `./git` there would be run as git. */
function pathOutside(cwd: string, path: string): string {
  return path
    .split(':')
    .filter((folder) => isAbsolute(folder) && relative(cwd, folder).startsWith('..'))
    .join(':')
}

/**
 * Arguments that switch off the content filters that the repository defines. Git runs `filter.<name>.clean` to compare a file,
 * and names are free, so they must be read first. Undefined if a filter has a name that cannot be switched off, or if there are
 * more settings than we read. Empty outside a repository.
 */
export async function withoutFilters(git: Git): Promise<string[] | undefined> {
  const listed = await git(['config', '--list', '--name-only', '-z'])
  if (listed.kind === 'timed-out') return undefined
  if (listed.kind !== 'done' || listed.code !== 0) return []
  if (listed.isCut) return undefined
  const keys = listed.stdout.split('\0').filter((key) => /^filter\..*\.(clean|smudge|process)$/is.test(key))
  const drivers = new Set(keys.map((key) => key.slice(0, key.lastIndexOf('.'))))
  if ([...drivers].some((driver) => driver.includes('='))) return undefined
  return [...drivers].flatMap((driver) =>
    ['clean=', 'smudge=', 'process=', 'required=false'].flatMap((setting) => ['-c', `${driver}.${setting}`]),
  )
}

/** What a program printed; undefined if it failed, or did not run to its end. */
export function stdoutOf(ran: Ran): string | undefined {
  return ran.kind === 'done' && ran.code === 0 ? ran.stdout : undefined
}

/** The result of a program that ran for its output. `isCut`: it wrote more than was read. */
export type Ran =
  | { kind: 'done'; code: number; stdout: string; stderr: string; isCut: boolean }
  /** The program is not installed. */
  | { kind: 'absent' }
  | { kind: 'failed'; reason: string }
  | { kind: 'timed-out'; afterMs: number }

export interface RunLimits {
  cwd: string
  env: Record<string, string>
  timeoutMs: number
  maxBytes: number
}

export type Run = (command: string, args: readonly string[], limits: RunLimits) => Promise<Ran>

/** Of what a program writes to stderr. */
export const mostErrorBytes = 16_384

/** Runs a program without a shell. Output beyond `maxBytes` ends the program; the output up to there is returned. */
export const runBounded: Run = (command, args, limits) => {
  return new Promise((resolve) => {
    // A process group of its own, so that programs that git and gh start are ended, too.
    const child = spawn(command, args, {
      cwd: limits.cwd,
      env: limits.env,
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: true,
    })
    const stdout = new BoundedText(limits.maxBytes, () => endGroup(child.pid))
    const stderr = new BoundedText(mostErrorBytes)
    child.stdout.on('data', (chunk: Buffer) => stdout.add(chunk))
    child.stderr.on('data', (chunk: Buffer) => stderr.add(chunk))
    const timer = setTimeout(() => {
      endGroup(child.pid)
      // Do not wait for a program that cannot be killed (a disk that does not answer).
      child.stdout.destroy()
      child.stderr.destroy()
      child.unref()
      resolve({ kind: 'timed-out', afterMs: limits.timeoutMs })
    }, limits.timeoutMs)
    child.on('error', (error: NodeJS.ErrnoException) => {
      clearTimeout(timer)
      resolve(error.code === 'ENOENT' ? { kind: 'absent' } : { kind: 'failed', reason: error.message })
    })
    child.on('close', (code) => {
      clearTimeout(timer)
      const isCut = stdout.full
      resolve({
        kind: 'done',
        code: isCut ? 0 : (code ?? 1),
        stdout: stdout.text,
        stderr: stderr.text,
        isCut,
      })
    })
  })
}

/** Keeps the first `maxBytes`; calls `onFull` once when there is more. */
export class BoundedText {
  full = false
  #chunks: Buffer[] = []
  #room: number
  #onFull: () => void

  constructor(maxBytes: number, onFull: () => void = () => {}) {
    this.#room = maxBytes
    this.#onFull = onFull
  }

  add(chunk: Buffer): void {
    if (this.full) return
    this.#chunks.push(chunk.subarray(0, this.#room))
    this.#room -= chunk.length
    if (this.#room >= 0) return
    this.full = true
    this.#onFull()
  }

  get text(): string {
    return Buffer.concat(this.#chunks).toString('utf8')
  }
}

export function endGroup(pid: number | undefined): void {
  // Fails if it has already ended.
  if (pid !== undefined) attempt(() => process.kill(-pid, 'SIGKILL'))
}
