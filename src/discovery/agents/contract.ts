// The contract of a reader: where another coding agent keeps its sessions, and what is in them. A new agent is one folder beside
// this file and one line in readers.ts; test/agents.test.ts runs the same checks over all of them.
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { OtherAgent } from '../../domain/agent.ts'
import type { EditTable } from '../edit-table.ts'
import type { Listing, TranscriptFile } from '../list-files.ts'
import type { TranscriptFacts } from '../transcript-facts.ts'
import type { UsageTable } from '../usage-table.ts'

/** The user's folder and the environment variables that move an agent's files. */
export interface AgentEnvironment {
  home: string
  variables: Readonly<Record<string, string | undefined>>
}

/** One session of another agent: a file, several files, or rows of a database. `path` identifies it in the index. */
export interface AgentSource extends TranscriptFile {
  agentKind: OtherAgent
}

export interface AgentReader {
  kind: OtherAgent
  /** The name of the program, for people. */
  program: string
  /** The folders or files in which its sessions are; they need not exist. */
  homes(environment: AgentEnvironment): string[]
  /** Adds the sessions of a home to the listing: names, sizes and times, with titles and archive marks from side files. */
  list(home: string, listing: Listing): void
  /** The facts of a session. Continues an earlier scan where the agent only appends. */
  scan(source: AgentSource, before?: ScannedBefore): ScannedSource
  /** Everything in a session, in the order of the conversation. */
  read(source: Pick<AgentSource, 'path' | 'paths'>): AgentConversation
  /** All files that a copy of the session needs, its transcript first; absent if `list` names all of them. */
  files?(source: Pick<AgentSource, 'path' | 'paths'>): string[]
  /** The processes that have a session open, by session. Only what the agent itself reports. */
  live?(homes: readonly string[]): Map<string, number>
  /** The command that continues a session in its folder. */
  resumeCommand(sessionId: string): string[]
}

export interface ScannedBefore {
  facts: TranscriptFacts
  usage: UsageTable
  edits: EditTable
  mark: string
}

export interface ScannedSource {
  facts: TranscriptFacts
  usage: UsageTable
  edits: EditTable
  tornTail: boolean
  mark: string
}

/** Text from a file of another program: cut to what an index may hold. */
export function textField(value: unknown): string | undefined {
  return typeof value === 'string' && value !== '' ? value : undefined
}

/** A count from a file of another program: never negative, never beyond what numbers hold exactly. */
export function countField(value: unknown): number {
  return typeof value === 'number' && value >= 0 && value <= Number.MAX_SAFE_INTEGER ? value : 0
}
