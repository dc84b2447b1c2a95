// What a session is made of: what fills its context, how its cost grew, which files and sub-agents it used.

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
