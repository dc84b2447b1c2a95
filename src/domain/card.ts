// A Claude transcript as a person reads it: prompts, answers, thoughts, tools and their results, one card each.
// discovery/ makes them, the dashboard shows them.

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
