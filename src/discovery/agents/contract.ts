// The contract of a reader: where a coding agent keeps its sessions, and what is in them. A new agent is one folder beside this
// file and one line in readers.ts; test/agents.test.ts runs the same checks over all of them.
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { AgentKind, OtherAgent } from '../../domain/agent.ts'
import type { EditTable } from '../edit-table.ts'
import type { Listing, TranscriptFile } from '../list-files.ts'
import type { LiveSession } from '../registries.ts'
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

/** A process of a coding agent. */
export interface AgentProcess {
  pid: number
  name: string
  cwd: string
  startedMs: number
}

/** Facts about processes for readers without locks. */
export interface LiveWorld {
  /** The processes of coding agents that run now. */
  processes(): AgentProcess[]
  /** The sessions of this reader's agent. */
  sessions(): OpenableSession[]
}

export interface OpenableSession {
  sessionId: string
  cwd: string | undefined
  mtimeMs: number
}

export interface WatchedFolder {
  path: string
  /** Each session is exactly one file here, so that a change of a known file needs no listing. */
  oneFileEach: boolean
}

export interface AgentReader<
  Kind extends AgentKind = AgentKind,
  Read = AgentConversation | Promise<AgentConversation>,
> {
  kind: Kind
  /** The name of the program, for people. */
  program: string
  /** The folders or files in which its sessions are; they need not exist. */
  homes(environment: AgentEnvironment): string[]
  /** Adds the sessions of a home to the listing: names, sizes and times, with titles and archive marks from side files. */
  list(home: string, listing: Listing): unknown
  /** The facts of a session. Continues an earlier scan where the agent only appends. */
  scan(source: Pick<TranscriptFile, 'path' | 'paths'>, before?: ScannedBefore): ScannedSource
  /** Everything in a session, in the order of the conversation. */
  read(source: Pick<TranscriptFile, 'path' | 'paths'>): Read
  /** All files that a copy of the session needs, its transcript first; absent if `list` names all of them. */
  files?(source: Pick<TranscriptFile, 'path' | 'paths'>): string[]
  /** The sessions that a process has open, by their ids. */
  live(homes: readonly string[], world: LiveWorld): Map<string, LiveSession>
  /** The folders of a home in which sessions change now. Claude's are watched by a watcher of their own. */
  watched?(home: string, now: Date): WatchedFolder[]
  /** The command that continues a session in its folder. */
  resumeCommand(sessionId: string): string[]
}

/** Every agent but Claude Code: read at once, because their sessions are smaller. */
export type OtherReader = AgentReader<OtherAgent, AgentConversation>

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
