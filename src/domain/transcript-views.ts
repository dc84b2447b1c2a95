// Two views of a Claude transcript. discovery/ makes them, the dashboard shows them.
import { z } from 'zod'

/** One step of the conversation: a prompt, an answer, a thought, a tool call or its result. */
export const card = z.object({
  kind: z.enum(['prompt', 'text', 'thinking', 'tool', 'result', 'compaction', 'notice']),
  /** Claude's uuid of the record; a fork may begin there. */
  uuid: z.string().optional(),
  /** Milliseconds since 1970; 0 when the record has none. */
  at: z.number(),
  text: z.string(),
  /** For `tool`: its name and input. */
  tool: z.object({ name: z.string(), input: z.record(z.string(), z.unknown()) }).optional(),
  /** Joins a tool to its result. */
  toolUseId: z.string().optional(),
  isError: z.boolean().optional(),
  isRewound: z.boolean().optional().describe('On a branch that was rewound: a resume does not see it.'),
  subagent: z.string().optional().describe('The sub-agent that gave this result.'),
  /** The record as Claude Code wrote it, when it was asked for. */
  raw: z.string().optional(),
})
export type Card = z.infer<typeof card>

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
export const anatomy = z.object({
  /** Tokens by kind, estimated; together they are the context's size. */
  context: z.array(z.object({ kind: z.enum(contextKinds), tokens: z.number() })),
  /** One for each call to the model, at most a few hundred; cost is the sum so far. */
  calls: z.array(
    z.object({ at: z.number(), contextTokens: z.number(), outputTokens: z.number(), costUsd: z.number() }),
  ),
  compactedAt: z.array(z.number()),
  files: z.array(z.object({ path: z.string(), reads: z.number(), writes: z.number() })),
  /** In the order of their calls. */
  subagents: z.array(
    z.object({
      name: z.string(),
      about: z.string(),
      at: z.number(),
      toolUseId: z.string().optional(),
      id: z.string().optional().describe('The id of its transcript, for `cc.read`; absent without one.'),
    }),
  ),
  /** The beginning of a very large transcript was left out. */
  partial: z.boolean(),
})
export type Anatomy = z.infer<typeof anatomy>
