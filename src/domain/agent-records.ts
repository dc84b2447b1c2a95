// The events in a session of another coding agent, in one form for all agents. Each agent's folder below discovery/agents/ makes
// these records from its own files; reading, searching, counting and handing over use nothing else.

export interface AgentConversation {
  records: AgentRecord[]
  /** Lines or rows that could not be read. */
  damaged: number
}

/** A token is counted once: cache reads and writes are not part of `input`, reasoning is part of `output`. */
export interface AgentUsage {
  input: number
  cacheRead: number
  cacheWrite: number
  output: number
  reasoning: number
}

interface RecordBase {
  /** ISO time; empty if the agent recorded none. */
  at: string
  /** Copied from a parent: part of the conversation, but paid for there. */
  inherited?: boolean
  /** On a branch that was rewound: a resume does not see it. */
  rewound?: boolean
}

export type AgentRecord = RecordBase &
  (
    | { kind: 'session'; about: SessionAbout }
    | { kind: 'model'; model: string }
    | { kind: 'prompt'; text: string; id?: string }
    | { kind: 'answer'; text: string; id?: string }
    | { kind: 'thinking'; text: string; id?: string }
    | { kind: 'tool-call'; id: string; name: string; input: Record<string, unknown> }
    | { kind: 'tool-result'; id: string; text: string; isError: boolean }
    /** `diff`: a unified diff. `content`: the whole text, for a file that was written. */
    | { kind: 'edit'; path: string; change: 'add' | 'update' | 'delete'; diff?: string; content?: string }
    | ({ kind: 'usage'; id: string; model: string; costUsd?: number; fast?: boolean } & AgentUsage)
    | { kind: 'compaction'; text: string }
    | { kind: 'subagent'; id: string; name: string; about: string }
    | { kind: 'turn-start' }
    | { kind: 'turn-end'; outcome: 'completed' | 'interrupted' | 'failed'; error?: string }
  )

type WithoutTime<T> = T extends AgentRecord ? Omit<T, keyof RecordBase> : never
/** A record before its line has said when it was written. */
export type UntimedRecord = WithoutTime<AgentRecord>

/** What an agent records about the session itself; later values replace earlier ones. */
export interface SessionAbout {
  id?: string
  /** A sub-agent belongs to the session with the id `root`; a fork began as a copy of `parent`. */
  parent?: { kind: 'fork' | 'subagent'; id: string; root?: string }
  cwd?: string
  branch?: string
  title?: string
  version?: string
  /** How it was started: `exec`, `cli`. */
  entrypoint?: string
  startedAt?: string
  /** The first record, by which a copy of the conversation is recognised. */
  firstId?: string
  contextWindow?: number
}
