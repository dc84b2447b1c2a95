// A turn: one prompt and all that follows until its result. What the agent reports while it runs, and how it ended.
import { randomUUID } from 'node:crypto'

export interface Usage {
  input: number
  output: number
  cacheRead: number
  cacheWrite: number
  /** The part of `cacheWrite` that is cached for an hour, which costs more. */
  cacheWrite1h?: number
}

export const noUsage: Usage = { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }

export function addUsage(a: Usage, b: Usage): Usage {
  return {
    input: a.input + b.input,
    output: a.output + b.output,
    cacheRead: a.cacheRead + b.cacheRead,
    cacheWrite: a.cacheWrite + b.cacheWrite,
  }
}

/** What happens during a turn, in the order it happens. agent/claude-events.ts makes these from SDK messages. */
export type TurnEvent =
  /** `model`: absent if the agent does not say it at the start. */
  | { type: 'turn-start'; sdkSessionId?: string; model?: string }
  /** Claude's id of the conversation changed (a fork, /clear): the mapping must follow. */
  | { type: 'session-id'; sdkSessionId: string }
  /** A piece of text as it is written; `text` events follow with the whole block. */
  | { type: 'text-delta'; text: string }
  | { type: 'text'; text: string }
  | { type: 'thinking'; text: string }
  | { type: 'tool-start'; toolUseId: string; name: string; input: Record<string, unknown> }
  | { type: 'tool-end'; toolUseId: string; isError: boolean; output: string }
  /** The activity of a sub-agent: shown as progress, never as the reply. */
  | { type: 'subagent'; toolUseId: string; text: string }
  | { type: 'waiting'; for: 'permission' | 'question' | 'plan' | 'input' }
  | { type: 'retry'; attempt: number; delayMs: number; reason: string }
  | {
      type: 'compaction'
      phase: 'start' | 'end'
      trigger: 'auto' | 'manual'
      tokensBefore?: number
      tokensAfter?: number
      /** Claude's summary of the conversation before. */
      summary?: string
    }
  /** One call to the model ended, a sub-agent's too: its usage, counted once per message id. `costUsd` is what the agent itself
   *  says that it cost; otherwise the price table decides. */
  | { type: 'usage'; messageId: string; model: string; usage: Usage; costUsd?: number; subagent: boolean }
  | { type: 'notice'; text: string }

export type TurnFailure =
  | 'api-error'
  | 'rate-limited'
  | 'overloaded'
  | 'context-full'
  | 'login-refused'
  | 'no-credit'
  | 'model-unknown'
  | 'unreachable'
  | 'budget-reached'
  | 'max-turns'
  | 'session-missing'
  | 'start-failed'
  | 'stalled'
  | 'process-died'

export type TurnEnd =
  | { kind: 'completed' }
  | { kind: 'interrupted' }
  /** `message` tells the person in a chat what happened and what to do; `what` says only what happened. */
  | {
      kind: 'failed'
      why: TurnFailure
      message: string
      what?: string
      /** When a rate limit ends, and the window of the subscription that it belongs to. */
      retryAt?: number
      window?: string
    }

export interface TurnResult {
  end: TurnEnd
  /** The reply: the agent's last text of this turn, without sub-agents; the text so far if the turn was interrupted. */
  text: string
  /** All text of the agent in this turn, block by block. */
  said: string[]
  /** The uuids of the prompts that this turn answered: its own, and those that were added to it. */
  prompts: string[]
  sdkSessionId?: string
  model?: string
  /** Billed in this turn, each message once, sub-agents included. */
  usage: Usage
  costUsd: number
  /** Occupancy of the context after the last call of the turn, if known. */
  contextTokens?: number
  contextWindow?: number
  compactions: number
  durationMs: number
}

/** The id of a turn or a delivery: UUID version 7, so ids sort by time. Rows that are written together are neighbours in
 *  the index, and a commit writes a few pages instead of one for each row. */
export function orderedId(now: number): string {
  const time = Math.floor(now).toString(16).padStart(12, '0')
  return `${time.slice(0, 8)}-${time.slice(8)}-7${randomUUID().slice(15)}`
}
