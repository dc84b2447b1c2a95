// A session of Claude Code or of another coding agent, found on this machine, ours or native: what its file, the registries and
// the live processes say about it. discovery/ makes these; selection, project status, the commands and the dashboard read them.
import { z } from 'zod'
import { agentKinds, type AgentKind } from './agent.ts'
import type { AgentConversation } from './agent-records.ts'
import { sessionStates } from './coding-state.ts'
import { tokenCounts, type CostFilter, type CostReport } from './costs.ts'

const text = z.string()
const number = z.number()
const flag = z.boolean()
const maybeText = text.optional()
const maybeNumber = number.optional()

/** `rockpool`: a row of ours names it. `openclaw`: a registry of OpenClaw's does. `native-only`: Claude Code alone. */
export const sessionSources = ['rockpool', 'openclaw', 'native-only'] as const
export type SessionSource = (typeof sessionSources)[number]

// The schemas are built on first use (by the reference page and an agent's list of tools): a command does not wait for them.

const transcriptPlace = () => ({
  configDir: text,
  filePath: text,
  /** Claude Code has deleted the transcript; the vault has it, and a resume restores it. */
  kept: flag.optional(),
})

/** A session as JSON, with times as text. */
// oxlint-disable-next-line max-lines-per-function -- a list of fields, with nothing to decide
export const sessionRecord = z.lazy(() =>
  z.object({
    sessionId: text,
    /** The program whose session it is. */
    agentKind: z.enum(agentKinds),
    source: z.enum(sessionSources),
    /** The owner, from a registry row or a trusted tag; never from the text of a message. */
    agentId: maybeText,
    /** The directory it last worked in. */
    repoPath: text,
    /** The last branch that it worked on; empty when there was none. */
    branch: text,
    /** The first real prompt, at most 200 characters. */
    firstMessage: text,
    /** The last real prompt, at most 200 characters. */
    lastPrompt: maybeText,
    /** The time of the last record, or of the file when no record has one. */
    lastModified: text,
    createdAt: maybeText,
    /** Records of the conversation: user and assistant. */
    messageCount: number,
    /** Prompts of a person or a program, without tool results and commands. */
    promptCount: number,
    /** Answers of the model, each message id once. */
    replyCount: number,
    lineCount: number,
    fileSizeBytes: number,
    /** The cost in a registry, if one has it. */
    totalCostUsd: maybeNumber,
    totalTurns: maybeNumber,
    lastTask: maybeText,
    label: maybeText,
    /** Claude's own name for it, three words. */
    slug: maybeText,
    isRunning: flag,
    /** The agent named by `[openclaw:agent=…]` in the first message. Anybody can write it, so it is a hint, not an owner. */
    originMarker: maybeText,
    /** Of the main file, each message once. */
    totalInputTokens: number,
    totalOutputTokens: number,
    cacheReadTokens: number,
    cacheCreationTokens: number,
    /** Tokens in the context after the last call: what a resume sends. */
    contextTokens: number,
    /** Tokens of the last answer, which a resume sends too. */
    lastAnswerTokens: maybeNumber,
    /** The size of the model's window. */
    contextWindow: number,
    compactionCount: number,
    /** From 0 to 1: the share of the budget that is used, when a budget is known. */
    budgetUsedPct: maybeNumber,
    subagentCount: number,
    subagentTokens: tokenCounts(),
    /** Main file and sub-agents, by our price table. */
    costUsd: number,
    /** The price of a model was guessed from its family. */
    costGuessed: flag,
    /** The cost that Claude Code itself last recorded; forks inherit their parent's. */
    reportedCostUsd: maybeNumber,
    /** The model of the last answer. */
    model: maybeText,
    title: maybeText,
    tag: maybeText,
    forkedFrom: maybeText,
    archived: flag,
    /** The state in one word, for a coding session of ours from its row. */
    state: z.enum(sessionStates),
    status: z.enum(['busy', 'idle', 'waiting', 'stopped']),
    waitingFor: maybeText,
    /** What the state does not say, as the session reported it: it compacts its context, or an error has ended the turn. */
    stateText: maybeText,
    /** Claude's usage limit that stopped it: the window, and when it is reset (ms). */
    limit: z.object({ window: maybeText, until: number }).optional(),
    pid: maybeNumber,
    /** Last call to the model, and how long the prompt cache lives after it. */
    lastUsageAt: maybeText,
    cacheTtlMinutes: z.literal([0, 5, 60]),
    /** Whether Claude's prompt cache still exists. Resuming a cold session pays for the whole context again. */
    warm: flag,
    cacheCreation5mTokens: number,
    cacheCreation1hTokens: number,
    apiErrorCount: number,
    /** Lines that could not be read, and lines too long to read whole. */
    damagedLines: number,
    overlongLines: number,
    entrypoint: maybeText,
    version: maybeText,
    permissionMode: maybeText,
    ...transcriptPlace(),
  }),
)
export type SessionRecord = z.infer<typeof sessionRecord>

type Times = 'lastModified' | 'createdAt' | 'lastUsageAt'

export interface DiscoveredSession extends Omit<SessionRecord, Times> {
  lastModified: Date
  createdAt?: Date
  lastUsageAt?: Date
}

export type SessionStatus = DiscoveredSession['status']

export const sessionSorts = ['recent', 'cost', 'tokens', 'messages', 'context', 'size'] as const
export type SessionSort = (typeof sessionSorts)[number]

export interface SessionFilter {
  /** Absent: only Claude Code, because most callers continue the session with Claude. */
  agentKind?: AgentKind | 'all'
  /** Sessions of this repository and its git worktrees. */
  repoPath?: string
  agentId?: string
  source?: SessionSource
  running?: boolean
  /** Only archived sessions, or all others. Both when absent. */
  archived?: boolean
  /** Words that all occur in its id, title, tag, label, branch, directory, first message or last task. */
  search?: string
  limit?: number
  offset?: number
  sort?: SessionSort
}

export interface SessionList {
  /** How many match, independent of the limit. */
  total: number
  /** Archived ones that `archived: false` left out; not counted with words. */
  archivedLeftOut?: number
  /** Running sessions first, then in the requested order. */
  sessions: DiscoveredSession[]
  /** Transcripts and folders that could not be read; their sessions are missing or out of date. */
  unreadable?: UnreadablePath[]
}

export interface UnreadablePath {
  path: string
  /** For people: `permission denied`. */
  reason: string
}

/** The progress of a long first scan. */
export interface ScanProgress {
  files: number
  filesDone: number
  bytes: number
  bytesDone: number
}

/** The health of a session's file: the records that a resume finds. */
export const sessionHealth = z.lazy(() =>
  z.object({
    sessionId: text,
    verdict: z.enum(['sound', 'degraded', 'broken']),
    /** Records of the conversation in the file, and those that a resume reaches from the leaf. */
    records: number,
    reachable: number,
    /** From 0 to 1. Records before the last compaction are included: its summary replaces them. */
    reachableShare: number,
    orphanedToolResults: number,
    unansweredToolCalls: number,
    tornLines: number,
    damagedLines: number,
    overlongLines: number,
    /** Places where two processes appended to the same record. */
    branchPoints: number,
    twoWriters: flag,
    /** Links in a circle, or to a missing record. */
    brokenLinks: number,
    /** For people, worst first. */
    findings: z.array(text),
  }),
)
export type SessionHealth = z.infer<typeof sessionHealth>

/** A file of a session: its own transcript, or one of a sub-agent. */
export interface SessionTranscript extends Pick<
  DiscoveredSession,
  'sessionId' | 'agentId' | 'repoPath' | 'branch'
> {
  /** The chat session whose turns Claude records in this file. */
  chat?: string
  /** Absent for a session of Claude Code. */
  agentKind?: AgentKind
  path: string
  inode: number
  size: number
  mtimeMs: number
}

export interface TranscriptSnapshot {
  /** Changes whenever a transcript or its row in a registry has changed. */
  stamp: string
  /** The result of `transcripts()` at that moment. */
  transcripts(): Promise<SessionTranscript[]>
}

/** The edits in a transcript of a session, packed (discovery/edit-table.ts). */
export interface TranscriptEdits {
  sessionId: string
  agentKind: AgentKind
  path: string
  edits: Uint8Array
}

export interface WantedEdits {
  /** Transcripts that edited a file with one of these names, or made one of these commits (seven digits). */
  names?: readonly string[]
  /** Transcripts of this session and its sub-agents. */
  sessionId?: string
}

/** The edits of all transcripts at one moment. */
export interface EditLookup {
  /** The edits of all transcripts, or of those that are wanted. */
  find(wanted?: WantedEdits): TranscriptEdits[]
  /** Transcripts of Claude Code that were in use at a time (milliseconds), the nearest last write first: some in these folders,
   *  then some in folders above them. */
  inUse(folders: readonly string[], at: number, most: number): Array<{ path: string; sessionId: string }>
}

/** A sub-agent that has a transcript of its own. */
export const subagent = z.lazy(() =>
  z.object({
    id: text,
    /** The kind of agent. */
    name: text,
    about: text,
    /** The tool call that started it. */
    toolUseId: maybeText,
    /** Milliseconds since 1970. */
    startedAt: number,
    lastAt: number,
    isRunning: flag,
    model: maybeText,
    costUsd: number,
    inputTokens: number,
    outputTokens: number,
    cacheReadTokens: number,
    filePath: text,
  }),
)
export type Subagent = z.infer<typeof subagent>

export interface Discovery {
  list(filter?: SessionFilter): Promise<SessionList>
  /** Every transcript and folder of Claude's that is unreadable now, also if it was readable before. */
  unreadable(): Promise<UnreadablePath[]>
  /** These sessions as of the last refresh; unknown ones are left out. */
  known(sessionIds: Iterable<string>): Promise<DiscoveredSession[]>
  /** The files of all listed sessions, or of these, by the time of the last write. */
  transcripts(sessionIds?: Iterable<string>): Promise<SessionTranscript[]>
  /** The edits of all transcripts as they are now. */
  edits(): Promise<EditLookup>
  /** Reads names, sizes and times only: usually nothing has changed, and then nothing has to be loaded. */
  snapshot(): Promise<TranscriptSnapshot>
  /** The ids of all sessions, as they were at the last look. */
  ids(): Promise<ReadonlySet<string>>
  /** The one session with this id, this title, or a unique beginning of either, among those for which `mayBe` returns true.
   *  Refuses with `not-found` or `ambiguous`. */
  get(idOrTitle: string, mayBe?: (session: DiscoveredSession) => boolean): Promise<DiscoveredSession>
  /** The sub-agents of exactly this session, in the order of their start. */
  subagents(sessionId: string): Promise<Subagent[]>
  costs(filter?: CostFilter): Promise<CostReport>
  /** Everything in a session, or in one of its sub-agents, in one form for all agents. */
  conversation(sessionId: string, subagentId?: string): Promise<AgentConversation>
  /** All files that a session consists of, with those of its sub-agents, as of the last refresh: what a copy of the session needs.
   *  Its transcript comes first; `<database>#<session id>` stands for rows of a database. */
  files(sessionId: string): Promise<string[]>
  health(sessionId: string): Promise<SessionHealth>
  /** Writes a repaired copy beside the original, as a new session; the original stays unchanged. */
  repair(
    sessionId: string,
  ): Promise<{ sessionId: string; filePath: string; health: SessionHealth; left: number }>
  /** Reads new records of the files. `list`, `get` and `costs` call this themselves unless `watch` runs. */
  refresh(): Promise<void>
  /** Removes sessions whose files are gone from the index, without a trace. */
  purge(): Promise<void>
  /** Watches the files and calls `onChange` for each session that changed. Answers then come from memory. */
  watch(onChange: (sessionId: string, why: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}
