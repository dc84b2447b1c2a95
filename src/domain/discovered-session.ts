// A Claude Code session found on this machine, ours or native: what its file, the registries and the live processes
// say about it. discovery/ makes these; selection, project status, the commands and the dashboard read them.

/** `rockpool`: a row of ours names it. `openclaw`: a registry of OpenClaw's does. `native-only`: Claude Code alone. */
export type SessionSource = 'rockpool' | 'openclaw' | 'native-only'

export type SessionStatus = 'busy' | 'idle' | 'waiting' | 'stopped'

/** What was billed, each message once. */
export interface TokenCounts {
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
}

export interface DiscoveredSession {
  sessionId: string
  source: SessionSource
  /** The owner, by a registry row or a trusted tag; never by what a message says. */
  agentId?: string
  /** The directory it last worked in. */
  repoPath: string
  /** The last branch that it worked on; empty when there was none. */
  branch: string
  /** The first real prompt, at most 200 characters. */
  firstMessage: string
  /** The last real prompt, at most 200 characters. */
  lastPrompt?: string
  /** When something was last said in it: the last record's own time, the file's when there is none. */
  lastModified: Date
  createdAt?: Date
  /** Records of the conversation: user and assistant. */
  messageCount: number
  /** What a person or a program really asked, tool results and commands left out. */
  promptCount: number
  /** Answers of the model, each message id once. */
  replyCount: number
  lineCount: number
  fileSizeBytes: number
  /** What the registry says that it cost, if a registry knows it. */
  totalCostUsd?: number
  totalTurns?: number
  lastTask?: string
  label?: string
  /** Claude's own name for it, three words. */
  slug?: string
  isRunning: boolean
  /** The agent named by `[openclaw:agent=…]` in the first message. Anybody can write that: a hint, not an owner. */
  originMarker?: string
  /** Of the main file, each message once. */
  totalInputTokens: number
  totalOutputTokens: number
  cacheReadTokens: number
  cacheCreationTokens: number
  /** Tokens in the context after the last call: what a resume sends. */
  contextTokens: number
  /** Tokens of the last answer: a resume sends it, too. */
  lastAnswerTokens?: number
  /** The size of the model's window. */
  contextWindow: number
  compactionCount: number
  /** From 0 to 1: the share of the budget that is used, when a budget is known. */
  budgetUsedPct?: number
  subagentCount: number
  subagentTokens: TokenCounts
  /** Main file and sub-agents, by our price table. */
  costUsd: number
  /** The price of a model was guessed from its family. */
  costGuessed: boolean
  /** What Claude Code itself last wrote down as the cost; forks inherit their parent's. */
  reportedCostUsd?: number
  /** The model of the last answer. */
  model?: string
  title?: string
  tag?: string
  forkedFrom?: string
  archived: boolean
  status: SessionStatus
  waitingFor?: string
  pid?: number
  /** Last call to the model, and how long the prompt cache lives after it. */
  lastUsageAt?: Date
  cacheTtlMinutes: 0 | 5 | 60
  /** Is Claude's prompt cache still there? A resume of a cold session pays for the whole context again. */
  warm: boolean
  cacheCreation5mTokens: number
  cacheCreation1hTokens: number
  apiErrorCount: number
  /** Lines that could not be read, and lines too long to read whole. */
  damagedLines: number
  overlongLines: number
  entrypoint?: string
  version?: string
  permissionMode?: string
  configDir: string
  filePath: string
}

export type SessionSort = 'recent' | 'cost' | 'tokens' | 'messages' | 'context' | 'size'

export interface SessionFilter {
  /** Sessions of this repository and its git worktrees. */
  repoPath?: string
  agentId?: string
  source?: SessionSource
  running?: boolean
  /** Archived ones only, or all but these. Both when absent. */
  archived?: boolean
  /** Words that all occur in its id, title, tag, label, branch, directory, first message or last task. */
  search?: string
  limit?: number
  offset?: number
  sort?: SessionSort
}

export interface SessionList {
  /** How many match, whatever the limit. */
  total: number
  /** Running ones first, then by the wanted order. */
  sessions: DiscoveredSession[]
  /** Transcripts and folders that could not be read: sessions in them are missing or out of date. */
  unreadable?: UnreadablePath[]
}

export interface UnreadablePath {
  path: string
  /** For people: `permission denied`. */
  reason: string
}

export type CostGroup = 'repo' | 'agent' | 'day' | 'model' | 'session'

export interface CostFilter {
  /** Calls at or after this time (ms). */
  since?: number
  until?: number
  /** Calls of this day alone, as 2026-11-15. */
  day?: string
  repoPath?: string
  agentId?: string
  by?: CostGroup
}

export interface Cost extends TokenCounts {
  costUsd: number
  /** Part of it was priced by a guess. */
  guessed: boolean
}

/** Whose spending it was, in dollars: chats with our agents, our coding sessions, and Claude Code without us. */
export interface CostParts {
  chatsUsd: number
  codingUsd: number
  nativeUsd: number
}

export interface CostReport {
  totals: Cost
  /** What the totals consist of. */
  parts: CostParts
  /** Most expensive first; days in their order. */
  by: Array<Cost & { key: string; name: string; sessions: number; messages: number }>
  /** The day of the prices. */
  pricesAsOf: string
}

/** How far a long first scan is. */
export interface ScanProgress {
  files: number
  filesDone: number
  bytes: number
  bytesDone: number
}

/** What a resume would find in a session's file. */
export interface SessionHealth {
  sessionId: string
  verdict: 'sound' | 'degraded' | 'broken'
  /** Records of the conversation in the file, and those that a resume reaches from the leaf. */
  records: number
  reachable: number
  /** From 0 to 1. What lies before the last compaction counts as reached: its summary stands for it. */
  reachableShare: number
  orphanedToolResults: number
  unansweredToolCalls: number
  tornLines: number
  damagedLines: number
  overlongLines: number
  /** Places where two processes wrote on from the same record. */
  branchPoints: number
  twoWriters: boolean
  /** A chain that runs in a circle or into a record that is not there. */
  brokenLinks: number
  /** In words, worst first. */
  findings: string[]
}

/** A file of a session: its own transcript, or one of a sub-agent. */
export interface SessionTranscript extends Pick<
  DiscoveredSession,
  'sessionId' | 'agentId' | 'repoPath' | 'branch'
> {
  /** The session of ours whose turns Claude keeps in it. */
  chat?: string
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

/** A sub-agent that has a transcript of its own. */
export interface Subagent {
  id: string
  /** Which kind of agent it is. */
  name: string
  about: string
  /** The use of a tool that began it. */
  toolUseId?: string
  /** Milliseconds since 1970. */
  startedAt: number
  lastAt: number
  isRunning: boolean
  model?: string
  costUsd: number
  inputTokens: number
  outputTokens: number
  cacheReadTokens: number
  filePath: string
}

export interface Discovery {
  list(filter?: SessionFilter): Promise<SessionList>
  /** Every transcript and folder of Claude's that cannot be read now, also those that were read before. */
  unreadable(): Promise<UnreadablePath[]>
  /** These sessions as of the last refresh; unknown ones are left out. */
  known(sessionIds: Iterable<string>): Promise<DiscoveredSession[]>
  /** The files of all listed sessions, or of these; the session that was written last comes last. */
  transcripts(sessionIds?: Iterable<string>): Promise<SessionTranscript[]>
  /** Reads names, sizes and times only: usually nothing has changed, and then nothing has to be loaded. */
  snapshot(): Promise<TranscriptSnapshot>
  /** The one session with this id or unique beginning of an id. Refuses with `not-found` or `ambiguous`. */
  get(idOrPrefix: string): Promise<DiscoveredSession>
  /** Of exactly this session, in the order in which they began. */
  subagents(sessionId: string): Promise<Subagent[]>
  costs(filter?: CostFilter): Promise<CostReport>
  health(sessionId: string): Promise<SessionHealth>
  /** Writes a repaired copy beside the original, as a session of its own; the original is not touched. */
  repair(
    sessionId: string,
  ): Promise<{ sessionId: string; filePath: string; health: SessionHealth; left: number }>
  /** Looks at the files again and reads what is new. `list`, `get` and `costs` do so themselves unless watching. */
  refresh(onProgress?: (progress: ScanProgress) => void): Promise<void>
  /** Forgets sessions whose files are gone, so that no byte of them is left in the index. */
  purge(): Promise<void>
  /** Keeps up with the files; `onChange` hears the ids of sessions that changed. Answers then come from memory. */
  watch(onChange: (sessionId: string, why: string) => void): Promise<() => Promise<void>>
  close(): Promise<void>
}
