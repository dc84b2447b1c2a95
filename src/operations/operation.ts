// One operation, one definition. The RPC method, the command, the MCP tool, the help, the completion and the
// reference page are all made from it.
import type { z } from 'zod'
import type { Address } from '../domain/address.ts'
import type { Author } from '../rights/author.ts'
import type { App, HeavyPart } from './app.ts'

/** What a caller may do. Each includes the ones before it, except that `approve` does not include `write`. */
export type Scope = 'read' | 'write' | 'approve' | 'admin'

export const scopes: readonly Scope[] = ['read', 'write', 'approve', 'admin']

export interface Caller {
  via: 'rpc' | 'cli' | 'mcp' | 'chat' | 'hook'
  scopes: readonly Scope[]
  /** Set for an agent that calls: it sees its own world only. Operators have none and see all. */
  agentId?: string
  /** The session that an agent calls from. */
  sessionKey?: string
  /** For whom an agent calls: the author of its turn. */
  author?: Author
  /** The chat that a command came from. */
  address?: Address
  /** Who it is, for the idempotency store and the log: a token's name, never the token. */
  name?: string
}

/** How an operation looks as a command. Everything else follows from its schema. */
export interface CommandShape {
  /** Input fields given by position, in order. An array field takes all that remain. */
  positional?: readonly string[]
  /** The last of them is a text: further words belong to it, without quotes around them. */
  takesWords?: boolean
  /** One-letter names: `{ message: 'm' }`. */
  short?: Readonly<Record<string, string>>
  /** Options with another name than their field: `{ activeMinutes: 'active' }` is `--active`. */
  flags?: Readonly<Record<string, string>>
  /** Fields that this name of it settles: the help leaves them out. */
  implied?: readonly string[]
  /** Fields that name a file or directory: what is typed is made absolute before it is asked. */
  paths?: readonly string[]
  /** The one of them that is the current directory when it is not typed. */
  here?: string | ((input: Record<string, unknown>) => string | undefined)
  /** Whole command lines, shown in the help. */
  examples?: readonly string[]
  /** What it starts must outlive the command: without a gateway, one is started in the background first. */
  staysBehind?(input: Record<string, unknown>): boolean
  /** The answer itself says that something could not be done: the command then ends with 1. */
  failed?(output: Record<string, unknown>): boolean
  /** Lookup to run before the confirmation prompt; there is no prompt if the target does not exist. */
  looksFirst?(input: Record<string, unknown>): {
    name: string
    input?: Record<string, unknown>
    has?(output: Record<string, unknown>): boolean
  }
  /** Not offered as a command of its own name. */
  hidden?: boolean
  /** Offers `--follow`: what to ask next, given the last question and its answer. Asked twice a second. */
  follow?(input: Record<string, unknown>, output: Record<string, unknown>): Record<string, unknown>
}

export interface Operation<Input extends z.ZodObject = z.ZodObject, Output extends z.ZodType = z.ZodType> {
  /** Noun and verb: `sessions.list`. */
  name: string
  /** One sentence, for the help and the reference page. */
  says: string
  /** A strict object: unknown fields are refused at the door. */
  input: Input
  output: Output
  scope: Scope
  /** What it shows or changes belongs to no agent, or to all; so does everything that needs `admin`. Whoever is bound to
   *  an agent is refused. */
  ofOperator?: boolean
  /** It changes something: the door then accepts an `idempotencyKey` and answers a repeat with the first answer. */
  acts?: boolean
  /** Its answer is a secret that is shown once, so it is never kept for a repeat: a repeat is refused by the work itself. */
  secretAnswer?: boolean
  /** It shows what people, agents or platforms wrote: whatever looks like a secret is taken out of its answer. */
  showsTexts?: boolean
  /** Its answer may be as long as a transcript: few of them are made at the same time for one credential. */
  largeAnswer?: boolean
  /** It takes something away: MCP clients are told, and a person at a terminal is asked first. */
  destructive?: boolean
  /** Offered to agents as an MCP tool. */
  forAgents?: boolean
  /** It works with live sessions, so only the running gateway can do it. */
  needsGateway?: boolean
  /** The heavy parts that it works with: others are not even loaded for it. All of them when absent. */
  needs?: readonly HeavyPart[]
  command?: CommandShape
  run(app: App, input: z.output<Input>, caller: Caller): Promise<z.input<Output>>
}

/** Keeps the types of one definition together. */
export function operation<Input extends z.ZodObject, Output extends z.ZodType>(
  definition: Operation<Input, Output>,
): Operation {
  // The registry holds operations of every type; each one's `run` only ever sees what its own schema let through.
  return definition
}
