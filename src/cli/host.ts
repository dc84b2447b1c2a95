// The environment that main.ts passes to the command line: the terminal, the environment and the parts in higher layers; and the
// shape of a command that exists only here, because it starts, installs or explains something and is not an operation.
import { fstatSync, writeSync } from 'node:fs'
import type { App } from '../operations/app.ts'
import type { CatalogEntry } from '../operations/catalog.ts'
import type { Scope } from '../operations/operation.ts'
import type { ClientOptions } from '../rpc/client.ts'
import type { Environment } from '../store/config-file.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import type { CommandDefinition } from './parse-options.ts'
import type { Page } from './print.ts'

export interface Host {
  environment: Environment
  terminal: Terminal
  version: string
  now(): number
  /** The directory in which the command is typed. */
  cwd: string
  /** The path of bin/rockpool.js. */
  program: string
  /** `light`: without the heavy parts; the caller awaits `prepare` itself. `withLastConfig`: also while the configuration is not
   *  valid. */
  openApp(options?: { light?: boolean; withLastConfig?: boolean }): Promise<App>
  catalog(): Promise<CatalogEntry[]>
  /** Serves MCP on stdin and stdout until the client disconnects. */
  serveMcp(input: McpInput): Promise<void>
  /** Runs the gateway until it is stopped; the demo runs with an environment and an agent of its own. */
  up(input: UpInput, ready: (gateway: ReadyLine) => void, demo?: DemoWorld): Promise<void>
}

interface DemoWorld {
  environment: Environment
  /** The directions of the offline agent for each prompt. */
  scripts: Readonly<Record<string, string>>
}

export interface LocalCommand extends CommandDefinition {
  /** Resolves to the output; undefined if the command has printed everything itself. */
  run(host: Host, input: Record<string, unknown>, json: boolean): Promise<unknown>
  /** The output as text. Without it the printer of the operation with the same name is used. */
  print?(output: unknown, page: Page): string
}

export interface McpInput {
  bridge: boolean
  /** The scopes of the client; the bridge has rules of its own. */
  scope: Scope[]
  /** The running gateway, if there is one. */
  gateway?: Pick<ClientOptions, 'url' | 'open' | 'token'>
  agent?: string
  repo: string
  sessionKey?: string
}

export interface UpInput {
  port?: number
  bind?: string
  allowPlaintextLan?: boolean
  console?: boolean
}

/** The line that `rockpool up --json` prints when the gateway is ready. */
export interface ReadyLine {
  url: string
  wsUrl: string
  tokenFile: string
  pid: number
  /** Logs in once; never part of `--json`. */
  dashboardUrl: string
  /** How to connect Claude, if it is not connected. */
  claudeHint?: string
  /** The requested port, if another process uses it. */
  movedFrom?: number
}

/** The terminal as the command line sees it; tests replace it. */
export interface Terminal {
  out(text: string): void
  err(text: string): void
  /** A person reads stdout. */
  isInteractive: boolean
  /** A person can answer a question. */
  canAsk: boolean
  width: number
  color: boolean
}

/** A file or a program gets whole values. */
const pipeWidth = 10_000

type Variables = Readonly<Record<string, string | undefined>>

/** Standard output, as far as the command line uses it. */
interface Output {
  isTTY: boolean
  columns?: number
  write(text: string | Uint8Array): void
  /** Calls `done` when everything is written. */
  flush(done: () => void): void
}

/** `json`: a program reads the output. */
export function processTerminal(variables: Variables, json: boolean): Terminal & Pick<Output, 'flush'> {
  const stdout = json && !fstatSync(1).isCharacterDevice() ? directOutput() : streamOutput()
  return {
    out: (text) => stdout.write(text),
    flush: (done) => stdout.flush(done),
    err: (text) => void process.stderr.write(text),
    isInteractive: stdout.isTTY,
    // Most commands do not use stdin, so it is opened only when this is read.
    get canAsk() {
      return stdout.isTTY && process.stdin.isTTY
    },
    width: stdout.columns ?? pipeWidth,
    color: wantsColor(variables, stdout.isTTY),
  }
}

function streamOutput(): Output {
  const { stdout } = process
  stdout.on('error', onOutputError)
  return {
    isTTY: stdout.isTTY,
    columns: stdout.columns,
    write: (text) => void stdout.write(text),
    flush: (done) => void stdout.write('', done),
  }
}

/** Into a file or a pipe. Node's stream would load the code of sockets, which takes longer than writing a list. */
function directOutput(): Output {
  let stream: Output | undefined
  const write = (text: string | Uint8Array): void => {
    if (stream) return stream.write(text)
    let rest = Buffer.from(text)
    try {
      while (rest.length > 0) rest = rest.subarray(writeSync(1, rest))
    } catch (error) {
      // The pipe does not block and is full: from here on Node waits for the reader.
      if (errorCode(error) !== 'EAGAIN') return onOutputError(error)
      stream = streamOutput()
      stream.write(rest)
    }
  }
  return { isTTY: false, write, flush: (done) => (stream ? stream.flush(done) : done()) }
}

/** A reader that closed the pipe (`| head`) is not an error. */
function onOutputError(error: unknown): void {
  if (errorCode(error) === 'EPIPE') process.exit(0)
  throw error
}

function wantsColor(variables: Variables, isTty: boolean): boolean {
  if (variables['NO_COLOR']) return false
  if (variables['FORCE_COLOR']) return variables['FORCE_COLOR'] !== '0'
  return isTty && variables['TERM'] !== 'dumb'
}

/** The properties of this terminal for printers. */
export function pageOf({ terminal, now }: Pick<Host, 'terminal' | 'now'>): Page {
  const { width, color, isInteractive: interactive } = terminal
  return { width, color, interactive, now: now() }
}
