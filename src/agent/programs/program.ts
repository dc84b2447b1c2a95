// The contract of a coding agent that Rockpool runs as a program: the command for one turn, and what the lines of its standard
// output mean. One file beside this one for each agent; program-runtime.ts makes conversations of them. Claude is not one of
// them: its process stays open between turns and asks for permission (../claude.ts).
import type { OtherAgent, PermissionMode } from '../../domain/agent.ts'
import type { TurnEvent } from '../../domain/turn.ts'

export interface AgentProgram {
  readonly kind: OtherAgent
  /** The name for people. */
  readonly name: string
  /** The command on the PATH. */
  readonly command: string
  readonly npmPackage: string
  /** How a person logs in or sets a key. */
  readonly login: string
  /** Environment variables that it reads: its folders, its keys, the address of its API. */
  readonly variables: readonly string[]
  /** The abilities of the program without a terminal. No program can then ask a person. */
  readonly can: {
    fork: boolean
    /** Add text to its system prompt. */
    systemPrompt: boolean
    /** The levels of thinking that a launch may name. */
    thinking: readonly string[]
    /** Tools that `allowedTools` may name, beside those of the permission mode. */
    tools: readonly string[]
  }
  /** The rights of the session, which cannot ask a person. Completes the sentence "Codex cannot ask here: it …". */
  rights(mode: PermissionMode): string
  /** True if the program does not print the usage of each call. Rockpool then reads the usage from the files of the session. */
  readonly countsInFiles?: boolean
  commandFor(turn: ProgramTurn): ProgramCommand
  makeReader(): ProgramReader
}

export interface ProgramTurn {
  cwd: string
  model?: string
  thinking?: string
  systemPrompt?: string
  permissionMode: PermissionMode
  allowedTools: readonly string[]
  /** The session to continue, in place or in a copy. */
  resume?: { sessionId: string; fork: boolean }
  /** The id of a new session, for programs that accept one. */
  newId?: string
  /** A folder of ours for files that the program reads. */
  folder: string
}

/** The prompt goes to standard input: other users of the machine see arguments, and a long prompt does not fit there. */
interface ProgramCommand {
  args: string[]
  variables?: Record<string, string>
}

/** Translates the lines of one turn. */
export interface ProgramReader {
  read(line: Record<string, unknown>): ProgramItem[]
}

export type ProgramItem =
  | { is: 'event'; event: TurnEvent }
  /** The id of the session, and the model if the program says it. */
  | { is: 'session'; sessionId?: string; model?: string }
  /** One call to the model has ended. `continues`: another call follows in this turn. */
  | { is: 'call'; event: Extract<TurnEvent, { type: 'usage' }>; continues: boolean }
  | { is: 'completed' }
  | { is: 'failed'; message: string }

export function toolStart(toolUseId: string, name: string, input: Record<string, unknown>): ProgramItem {
  return { is: 'event', event: { type: 'tool-start', toolUseId, name, input } }
}

export function toolEnd(toolUseId: string, output: string, isError: boolean): ProgramItem {
  return { is: 'event', event: { type: 'tool-end', toolUseId, output, isError } }
}

export function textItem(type: 'text' | 'thinking' | 'text-delta' | 'notice', text: unknown): ProgramItem[] {
  return typeof text === 'string' && text !== '' ? [{ is: 'event', event: { type, text } }] : []
}

/** An option of a command, if there is a value for it. */
export function option(name: string, value: string | undefined): string[] {
  return value === undefined ? [] : [name, value]
}

/** May the session change files in this mode? It cannot ask, so `default` means no, like `dontAsk`. */
export function mayEdit(mode: PermissionMode): boolean {
  return mode === 'acceptEdits'
}

export function fieldsOf(value: unknown): Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Record<string, unknown>)
    : {}
}

export function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

export function countOf(value: unknown): number {
  return typeof value === 'number' && value > 0 ? value : 0
}
