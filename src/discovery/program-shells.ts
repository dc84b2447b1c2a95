// Starts programs from a small process. For every program that a process starts, the system copies the tables of its memory; a gateway
// has a large memory, so that this takes longer than git needs for an answer. A shell has a small one: it reads commands from a
// pipe, and runs one after another.
import { spawn, type ChildProcessWithoutNullStreams } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import type { Socket } from 'node:net'
import type { Clock } from '../domain/clock.ts'
import { shellWord } from '../domain/text.ts'
import {
  BoundedText,
  endGroup,
  mostErrorBytes,
  runBounded,
  type Ran,
  type Run,
  type RunLimits,
} from './git.ts'

/** A shell ends when it has run nothing for this long. */
const idleMs = 60_000
const mostIdle = 4
/** How a shell reports that a program does not exist. */
const absentCode = 127

export class ProgramShells {
  readonly #clock: Clock
  /** Shells that run nothing, each with what cancels its end. */
  readonly #idle = new Map<Shell, () => void>()
  #isClosed = false

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Does what `runBounded` does. Programs that run at the same time have a shell each. */
  readonly run: Run = async (command, args, limits) => {
    // No argument of a program can contain it.
    if ([command, limits.cwd, ...args].some((text) => text.includes('\0')))
      return runBounded(command, args, limits)
    const shell = this.#take()
    const ran = await shell.run(command, args, limits)
    this.#giveBack(shell)
    return ran ?? runBounded(command, args, limits)
  }

  close(): void {
    this.#isClosed = true
    for (const shell of this.#idle.keys()) this.#end(shell)
  }

  #take(): Shell {
    for (const [shell, cancel] of this.#idle) {
      cancel()
      this.#idle.delete(shell)
      if (!shell.hasEnded) return shell
    }
    return new Shell()
  }

  #giveBack(shell: Shell): void {
    if (shell.hasEnded) return
    this.#idle.set(
      shell,
      this.#clock.after(idleMs, () => this.#end(shell)),
    )
    if (this.#isClosed || this.#idle.size > mostIdle) this.#end(shell)
  }

  #end(shell: Shell): void {
    this.#idle.get(shell)?.()
    this.#idle.delete(shell)
    shell.end()
  }
}

interface Running {
  out: MarkedText
  err: MarkedText
  /** Called when there is more output, and when the shell has ended. */
  check: () => void
}

class Shell {
  hasEnded = false
  /** Follows the output of every program. No repository knows it, so that no output can look like its end. */
  readonly #mark = `\n${randomUUID()} `
  readonly #child: ChildProcessWithoutNullStreams
  #running: Running | undefined

  constructor() {
    // In a process group of its own, so that a program that takes too long is ended together with its shell.
    this.#child = spawn('/bin/sh', [], { cwd: '/', env: {}, stdio: 'pipe', detached: true })
    const { stdin, stdout, stderr } = this.#child
    stdout.on('data', (chunk: Buffer) => this.#read('out', chunk))
    stderr.on('data', (chunk: Buffer) => this.#read('err', chunk))
    const noteEnd = (): void => {
      this.hasEnded = true
      this.#running?.check()
    }
    this.#child.on('error', noteEnd).on('close', noteEnd)
    // Writing to a shell that has ended fails; its end is noticed anyway.
    stdin.on('error', () => {})
    // It must not keep this process alive.
    this.#child.unref()
    // Pipes are sockets; the types do not say so.
    for (const pipe of [stdin, stdout, stderr] as unknown as Socket[]) pipe.unref()
  }

  end(): void {
    this.hasEnded = true
    this.#child.stdin.end()
  }

  /** Undefined if the shell could not be started, or ended before the program. */
  run(command: string, args: readonly string[], limits: RunLimits): Promise<Ran | undefined> {
    const { promise, resolve } = Promise.withResolvers<Ran | undefined>()
    const out = new MarkedText(this.#mark, limits.maxBytes)
    const err = new MarkedText(this.#mark, mostErrorBytes)
    const kill = (ran: Ran): void => {
      this.hasEnded = true
      endGroup(this.#child.pid)
      resolve(ran)
    }
    const timer = setTimeout(() => kill({ kind: 'timed-out', afterMs: limits.timeoutMs }), limits.timeoutMs)
    const check = (): void => {
      const { code } = out
      if (out.full) kill({ kind: 'done', code: 0, stdout: out.text, stderr: err.text, isCut: true })
      else if (code !== undefined && err.code !== undefined)
        resolve(
          code === absentCode
            ? { kind: 'absent' }
            : { kind: 'done', code, stdout: out.text, stderr: err.text, isCut: false },
        )
      else if (this.hasEnded) resolve(undefined)
    }
    this.#running = { out, err, check }
    this.#child.stdin.write(this.#commandLine(command, args, limits))
    return promise.finally(() => {
      clearTimeout(timer)
      this.#running = undefined
    })
  }

  #read(stream: 'out' | 'err', chunk: Buffer): void {
    this.#running?.[stream].add(chunk)
    this.#running?.check()
  }

  #commandLine(command: string, args: readonly string[], { cwd, env }: RunLimits): string {
    const variables = Object.entries(env).map(([name, value]) => `${name}=${shellWord(value)}`)
    const program = [command, ...args].map(shellWord).join(' ')
    const inFolder = `cd ${shellWord(cwd)} || exit ${absentCode}; unset PWD OLDPWD; export ${variables.join(' ')}; exec ${program}`
    return `(${inFolder}) </dev/null; printf '${this.#mark}%d\n' $?; printf '${this.#mark}0\n' >&2\n`
  }
}

/** The output of a program, with the mark and the exit code after it. */
class MarkedText {
  readonly #mark: string
  readonly #text: BoundedText
  #end = ''

  constructor(mark: string, maxBytes: number) {
    this.#mark = mark
    this.#text = new BoundedText(maxBytes + mark.length + 4)
  }

  add(chunk: Buffer): void {
    this.#text.add(chunk)
    const most = this.#mark.length + 4
    this.#end = (this.#end + chunk.subarray(-most).toString('latin1')).slice(-most)
  }

  get full(): boolean {
    return this.#text.full
  }

  /** Of the program; undefined as long as it runs. */
  get code(): number | undefined {
    const at = this.#end.indexOf(this.#mark)
    return at >= 0 && this.#end.endsWith('\n') ? Number(this.#end.slice(at + this.#mark.length)) : undefined
  }

  get text(): string {
    const { text } = this.#text
    const end = text.lastIndexOf(this.#mark)
    return end < 0 ? text : text.slice(0, end)
  }
}
