// A Claude that does what a test says, when it says so: for the rows of the seed that are about moments.
import type {
  AgentRuntime,
  Conversation,
  ConversationEnd,
  ConversationOptions,
} from '../../src/domain/agent.ts'
import type { TurnEvent, TurnResult } from '../../src/domain/turn.ts'

export interface DirectedAgent {
  runtime: AgentRuntime
  emit(event: TurnEvent): void
  finish(end?: Partial<TurnResult>): void
  die(message: string): void
  busy: boolean
  /** A turn has started and has not ended. */
  isInTurn: boolean
  /** How it was opened. */
  opened: ConversationOptions[]
  /** Messages that joined a running turn; taken only if `steers`. */
  steered: string[]
  steers: boolean
  /** What Claude has written down, by uuid. */
  received: string[]
}

export function directedAgent(): DirectedAgent {
  const directed = {
    busy: true,
    isInTurn: false,
    steers: false,
    opened: [] as ConversationOptions[],
    steered: [] as string[],
    received: [] as string[],
  }
  let onEvent: (event: TurnEvent) => void = () => {}
  let done: (result: TurnResult) => void = () => {}
  const ended = Promise.withResolvers<ConversationEnd>()
  const result: TurnResult = {
    end: { kind: 'completed' },
    text: 'done',
    said: ['done'],
    prompts: [],
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    costUsd: 0,
    compactions: 0,
    durationMs: 0,
  } as unknown as TurnResult
  const conversation = {
    key: 'k',
    sdkSessionId: undefined,
    pid: undefined,
    get busy() {
      return directed.busy
    },
    turn(_prompt, listen) {
      onEvent = listen
      directed.isInTurn = true
      return new Promise<TurnResult>((resolve) => {
        done = (end) => {
          directed.isInTurn = false
          resolve(end)
        }
      })
    },
    steer: ({ text }) => {
      if (directed.steers) directed.steered.push(text)
      return directed.steers
    },
    interrupt: async () => done({ ...result, end: { kind: 'interrupted' } }),
    kill: async () => done({ ...result, end: { kind: 'interrupted' } }),
    close: async () => {},
    otherWriter: () => undefined,
    ended: ended.promise,
  } as Partial<Conversation> as Conversation
  const runtime = {
    kind: 'offline',
    billing: 'none',
    open: async (options) => {
      directed.opened.push(options)
      return conversation
    },
    live: () => conversation,
    resumable: async () => ({ ok: true }),
    received: async () => new Set(directed.received),
    close: async () => {},
  } as Partial<AgentRuntime> as AgentRuntime
  return Object.assign(directed, {
    runtime,
    emit: (event: TurnEvent) => onEvent(event),
    finish: (more: Partial<TurnResult> = {}) => done({ ...result, ...more }),
    die: (message: string) => ended.resolve({ why: 'process-died', message }),
  })
}

export const init: Extract<TurnEvent, { type: 'turn-start' }> = {
  type: 'turn-start',
  sdkSessionId: '00000000-0000-4000-8000-000000000009',
  model: 'm',
}
export const usage = (messageId: string): TurnEvent => ({
  type: 'usage',
  messageId,
  model: 'm',
  usage: { input: 1, output: 1, cacheRead: 0, cacheWrite: 0 },
  subagent: false,
})
