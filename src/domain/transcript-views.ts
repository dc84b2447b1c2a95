// Two views of a Claude transcript. discovery/ makes them, the dashboard shows them.

/** One step of the conversation: a prompt, an answer, a thought, a tool call or its result. */
export interface Card {
  kind: 'prompt' | 'text' | 'thinking' | 'tool' | 'result' | 'compaction' | 'notice'
  /** Claude's uuid of the record; a fork may begin there. */
  uuid?: string
  /** Milliseconds since 1970; 0 when the record has none. */
  at: number
  text: string
  /** For `tool`: its name and input. */
  tool?: { name: string; input: Record<string, unknown> }
  /** Joins a tool to its result. */
  toolUseId?: string
  isError?: boolean
  /** On a branch that was rewound: a resume does not see it. */
  isRewound?: boolean
  /** For the `result` of a sub-agent: its id. */
  subagent?: string
  /** The record as Claude Code wrote it, when it was asked for. */
  raw?: string
}

export interface CardPage {
  /** In the order in which they happened. */
  cards: Card[]
  /** Pass this to get what came before; absent at the beginning. */
  before?: number
  /** Pass this to get what comes after; absent at the end. */
  after?: number
}

export const contextKinds = [
  'system',
  'prompts',
  'answers',
  'thinking',
  'tools',
  'results',
  'summary',
] as const
export type ContextKind = (typeof contextKinds)[number]

/** What fills the context of a session, how its cost grew, which files and sub-agents it used. */
export interface Anatomy {
  /** Tokens by kind, estimated; together they are the context's size. */
  context: Array<{ kind: ContextKind; tokens: number }>
  /** One for each call to the model, at most a few hundred; cost is the sum so far. */
  calls: Array<{ at: number; contextTokens: number; outputTokens: number; costUsd: number }>
  compactedAt: number[]
  files: Array<{ path: string; reads: number; writes: number }>
  /** As they were called. `id`: of its transcript, where the answer names it. */
  subagents: Array<{ name: string; about: string; at: number; toolUseId?: string; id?: string }>
  /** The beginning of a very large transcript was left out. */
  partial: boolean
}
