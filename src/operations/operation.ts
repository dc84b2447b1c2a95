// One operation, one definition. The RPC method, the command, the MCP tool, the help, the completion and the
// reference page are all made from it.
import type { z } from 'zod'
import type { Address } from '../domain/address.ts'
import type { Author } from '../rights/author.ts'
import type { Environment } from '../store/config-file.ts'
import type { App, HeavyPart } from './app.ts'

/** What a caller may do. Each scope includes the ones before it, except that `approve` does not include `write`. */
export const scopes = ['read', 'write', 'approve', 'admin'] as const
export type Scope = (typeof scopes)[number]

export type ForHosts = 'only' | 'agent' | 'too'

export interface Caller {
  via: 'rpc' | 'cli' | 'mcp' | 'chat' | 'hook'
  scopes: readonly Scope[]
  /** Set for agents and for tokens that are bound to one: they see only what belongs to this agent. */
  agentId?: string
  /** Set for an agent host, a program that runs agents of its own (OpenClaw): the beginning of their ids. Until the host has
   *  named an agent, `agentId` is this prefix, so that the caller is bound to an agent that has nothing. */
  agentPrefix?: string
  /** The session that an agent calls from. */
  sessionKey?: string
  /** Claude's id of the session from whose tools or shell the call comes. It writes mail as itself, not as the owner. */
  claudeSession?: string
  /** The credential is bound to no agent and may not approve. Whatever session or agent its client names, mail goes under the name of
   *  the credential; a named one only limits the call. */
  isProgram?: boolean
  /** The coding session from whose tools the call comes. Rockpool sets it; a client cannot. */
  codingId?: string
  /** The author of the turn in which an agent calls. */
  author?: Author
  /** The chat that a command came from. */
  address?: Address
  /** The caller's name for the idempotency store and the log: the name of a token, never the token. */
  name?: string
}

type Fields = Record<string, unknown>

/** Where a command runs: its environment, and the app of a process without a gateway, which the caller closes. */
export interface CommandPlace {
  environment: Environment
  openApp: () => Promise<App>
}

/** How an operation looks as a command. Everything else follows from its schema. */
export interface CommandShape {
  /** Input fields given by position, in order. An array field takes all that remain. */
  positional?: readonly string[]
  /** The last positional field is a text: it takes all further words, without quotes around them. */
  joinsRest?: boolean
  /** One-letter options: `{ message: 'm' }` is `-m`. */
  shortFlags?: Readonly<Record<string, string>>
  /** Options with another name than their field: `{ activeMinutes: 'active' }` is `--active`. */
  flags?: Readonly<Record<string, string>>
  /** Fields that the name of the command already sets; the help leaves them out. */
  implied?: readonly string[]
  /** The value of an option that is given without one: `{ trim: 'normal' }` makes `--trim` mean `--trim normal`. */
  valueAlone?: Readonly<Record<string, string>>
  /** Fields that name a file or directory: the command line makes them absolute. */
  paths?: readonly string[]
  /** The path field that defaults to the current directory. */
  currentDirectory?: string | ((input: Fields) => string | undefined)
  /** Whole command lines, shown in the help. */
  examples?: readonly string[]
  /** The started work must outlive the command: without a gateway, the command first starts one in the background. */
  startsBackgroundWork?(input: Fields): boolean
  /** Throws what the operation would refuse anyway on this machine, before a gateway is started for it. */
  checkBeforeStart?(input: Fields, here: CommandPlace): Promise<void>
  /** The output reports a failure: the command then exits with 1. */
  isFailure?(output: Fields): boolean
  /** The operation to call before the confirmation prompt; there is no prompt if the target does not exist. The prompt shows the
   *  `steps` that follow. */
  confirmIfFound?(input: Fields): {
    name: string
    input?: Fields
    isFound?(output: Fields): boolean
    steps?(output: Fields): string[]
  }
  /** Takes `--yes` like every removal, although it never asks. */
  acceptsYes?: boolean
  /** A script has to give this field, or `--yes`: its default must not be taken by accident. */
  namedInScripts?: string
  /** Not offered as a command of its own name. */
  hidden?: boolean
  /** Offers `--follow`: the input of the next call, made from the last input and output. Called twice a second. */
  nextInput?(input: Fields, output: Fields): Fields
}

export interface Operation<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType> {
  /** Noun and verb: `sessions.list`. */
  name: string
  /** One sentence that begins with a verb, for the help and the reference page. */
  description: string
  /** A strict object: unknown fields are refused. */
  input: Input
  output: Output
  scope: Scope
  /** Refused for callers that are bound to an agent, because the data belongs to no agent or to all. Every operation with
   *  the scope `admin` is. */
  operatorOnly?: boolean
  /** `only`: for agent hosts and no other caller. `agent`: the same, when the host has named an agent. `too`: for every
   *  caller, and also for a host that has not named one. */
  forHosts?: ForHosts
  /** Accepts an `idempotencyKey`: a repeated request gets the answer of the first. */
  changesState?: boolean
  /** The output is a secret that is shown once, so no answer is stored for a repeated request. */
  returnsSecret?: boolean
  /** The output contains texts of people, agents or platforms: texts in it that look like a secret are masked. */
  redactOutput?: boolean
  /** The output may be as long as a transcript: few such calls run at the same time for one credential. */
  largeOutput?: boolean
  /** Takes much processor time where there are thousands of sessions, or reads long files: few such calls run at the same time for one
   *  credential. The input was not checked yet. */
  isCostly?: boolean | ((input: Fields) => boolean)
  /** Removes something: MCP clients see it in the tool's description, and a person at a terminal must confirm. */
  destructive?: boolean
  /** Offered to agents as an MCP tool. */
  forAgents?: boolean
  /** Works with live sessions, so only the running gateway can perform it. */
  needsGateway?: boolean
  /** Answers also while the configuration file is not valid, by the configuration before it. */
  withLastConfig?: boolean
  /** The heavy parts to load before `run`; all of them when absent. */
  heavyParts?: readonly HeavyPart[]
  command?: CommandShape
  /** What the schema makes of a command line without options, for a program that reads the output and for a person. A command that
   *  is typed often has this, so that it need not build its schema; a test compares both. */
  withoutOptions?: { program: z.output<Input>; person: z.output<Input> }
  run(app: App, input: z.output<Input>, caller: Caller): Promise<z.input<Output>>
}

/** Keeps the types of one definition together. */
export function operation<Input extends z.ZodObject, Output extends z.ZodType>(
  definition: Operation<Input, Output>,
): Operation {
  // The registry holds operations of every type; `run` only ever gets input that the operation's own schema accepted.
  return definition
}
