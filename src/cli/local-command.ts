// A command that exists only on the command line: it starts, installs or explains something, so it is not an operation.
import type { App } from '../operations/app.ts'
import type { CatalogEntry } from '../operations/catalog.ts'
import type { Scope } from '../operations/operation.ts'
import type { Environment } from '../store/config-file.ts'
import type { Terminal } from './terminal.ts'
import type { Typeable } from './parse-options.ts'

/** What main.ts gives the command line: the parts that lie above it. */
export interface Host {
  environment: Environment
  terminal: Terminal
  version: string
  now(): number
  /** The directory in which the command is typed. */
  cwd: string
  /** The file that starts us. */
  program: string
  /** `light`: without the heavy parts; the caller awaits `prepare` itself. */
  openApp(options?: { light?: boolean }): Promise<App>
  catalog(): Promise<CatalogEntry[]>
  /** Speaks MCP on stdin and stdout until the other side is gone. */
  serveMcp(input: McpInput): Promise<void>
  /** Runs the gateway until it is stopped. */
  up(input: UpInput, ready: (gateway: ReadyLine) => void): Promise<void>
}

export interface McpInput {
  bridge: boolean
  /** What the client may do; the bridge has rules of its own. */
  scope: Scope[]
  /** The gateway that runs here, if one does. */
  gateway?: { url: string; token?: string }
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

/** What `rockpool up --json` prints when it is ready. */
export interface ReadyLine {
  url: string
  wsUrl: string
  tokenFile: string
  pid: number
  /** Logs in once; for people, never in `--json`. */
  dashboardUrl: string
  /** How to connect Claude, when it is not. */
  claudeHint?: string
  /** The port that was asked for was taken. */
  movedFrom?: number
}

export interface LocalCommand extends Typeable {
  /** Resolves to what is printed; undefined when the command printed itself. */
  run(host: Host, input: Record<string, unknown>, json: boolean): Promise<unknown>
}
