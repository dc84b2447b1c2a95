// What sessions of coding agents have cost, by day, model, repository and so on. discovery/cost.ts adds it up.
import { z } from 'zod'
import type { AgentKind } from './agent.ts'

const text = z.string()
const number = z.number()

// The schemas are built on first use, so that a command does not wait for them.

/** The billed tokens, each message once. */
export const tokenCounts = () =>
  z.object({
    inputTokens: number,
    outputTokens: number,
    cacheReadTokens: number,
    cacheCreationTokens: number,
  })
export type TokenCounts = z.infer<ReturnType<typeof tokenCounts>>

export const costGroups = ['repo', 'agent', 'agent-kind', 'day', 'week', 'month', 'model', 'session'] as const
export type CostGroup = (typeof costGroups)[number]

export interface CostFilter {
  /** Calls at or after this time (ms). */
  since?: number
  until?: number
  /** Calls from this day on and up to this day, both included, as 2026-11-15. */
  firstDay?: string
  lastDay?: string
  repoPath?: string
  agentId?: string
  /** Only sessions of this program. */
  agentKind?: AgentKind
  by?: CostGroup
}

const cost = () =>
  tokenCounts().extend({
    costUsd: number,
    /** Part of it was priced by a guess. */
    guessed: z.boolean(),
  })
export type Cost = z.infer<ReturnType<typeof cost>>

/** The source of the spending, in dollars. */
export const costParts = z.lazy(() =>
  z.object({
    chatsUsd: number.describe('Chats with agents.'),
    codingUsd: number.describe('Coding sessions.'),
    nativeUsd: number.describe('Sessions of coding agents that ran outside Rockpool.'),
  }),
)
export type CostParts = z.infer<typeof costParts>

export const costReport = z.lazy(() =>
  z.object({
    totals: cost(),
    /** The parts of the totals. */
    parts: costParts,
    /** Most expensive first; days in their order. */
    by: z.array(
      cost().extend({
        key: text,
        name: text,
        sessions: number,
        messages: number,
        models: z.record(text, number).optional().describe('Of a day: dollars by model.'),
      }),
    ),
    /** The day of the prices. */
    pricesAsOf: text,
    /** Models without a known price: their tokens are counted, but cost nothing here. */
    unpriced: z.array(text).optional(),
  }),
)
export type CostReport = z.infer<typeof costReport>
