// Asks an agent: makes the request for a turn, waits for its end, and turns the end into an answer or an error.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { RockpoolError, type ErrorCode } from '../../domain/errors.ts'
import type { TurnEnd, TurnEvent } from '../../domain/turn.ts'
import type { AskRequest } from '../../flow/asked-input.ts'
import type { WatchedEnd } from '../../flow/flow-parts.ts'
import { callerAuthor } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { hasScope } from '../perform-operation.ts'
import { modelForTurn } from './known-model.ts'
import { checkReachable, targetSession, type TargetInput } from './turn-target.ts'

const usage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
})

export const answerOutput = z.object({
  runId: z.string(),
  sessionKey: z.string(),
  sessionId: z.string().optional(),
  text: z.string(),
  media: z.array(z.string()),
  model: z.string().optional(),
  usage: usage.optional(),
  costUsd: z.number().optional(),
  durationMs: z.number().optional(),
})

interface TurnInput extends TargetInput {
  message: string
  deliver: boolean
  terminal?: boolean
  timeout: number
  model?: string
  thinking?: string
}

/** Asks an agent and waits for the answer; `onEvent` receives the events of the turn. */
export async function askTurn(
  app: App,
  caller: Caller,
  input: TurnInput,
  onEvent?: (event: TurnEvent) => void,
): Promise<z.input<typeof answerOutput>> {
  const runId = randomUUID()
  const conversations = await app.conversations()
  const end = await conversations.ask({
    ...(await requestOf(app, caller, input, runId)),
    timeoutMs: input.timeout * 1_000,
    onEvent,
  })
  return { runId, ...answerOf(end) }
}

export async function requestOf(
  app: App,
  caller: Caller,
  input: Omit<TurnInput, 'timeout'>,
  runId: string,
): Promise<AskRequest> {
  const asked = await targetSession(app, caller, input)
  if (asked.address) await checkReachable(app, asked.address)
  return {
    ...asked,
    key: runId,
    text: input.message,
    from: caller.name ?? caller.via,
    askedBy: callerAuthor(caller),
    mayCommand: mayCommand(caller),
    deliver: input.deliver,
    // Only for a person at a terminal: its author is the owner.
    terminal: input.terminal === true && caller.via !== 'hook' && caller.agentId === undefined,
    model: input.model === undefined ? undefined : modelForTurn(app, input.model),
    thinking: input.thinking,
  }
}

/** A command acts for the owner, and can approve. So the caller must be allowed to approve, and text from another program, from an
 *  agent or from inside of a session is never treated as a command. */
function mayCommand({ via, scopes, agentId, claudeSession }: Caller): boolean {
  const isPerson = via !== 'hook' && via !== 'mcp' && agentId === undefined && claudeSession === undefined
  return isPerson && hasScope(scopes, 'approve')
}

/** The answer of the turn; throws when the turn failed. */
function answerOf(end: WatchedEnd): Omit<z.input<typeof answerOutput>, 'runId'> {
  const { result, replies, error } = end
  if (error !== undefined) throw error
  if (result && result.end.kind !== 'completed') throw failureOf(result.end)
  return {
    sessionKey: end.sessionKey,
    sessionId: end.sessionId,
    text: replies.flatMap((reply) => reply.text ?? []).join('\n\n'),
    media: replies.flatMap((reply) => reply.media ?? []),
    model: result?.model,
    usage: result?.usage,
    costUsd: result?.costUsd,
    durationMs: result?.durationMs,
  }
}

const codes: Partial<Record<Extract<TurnEnd, { kind: 'failed' }>['why'], ErrorCode>> = {
  'rate-limited': 'rate-limited',
  'login-refused': 'unauthorized',
  stalled: 'timed-out',
  unreachable: 'unavailable',
}

function failureOf(end: Exclude<TurnEnd, { kind: 'completed' }>): RockpoolError {
  if (end.kind === 'interrupted') return new RockpoolError('refused', 'The turn was stopped before its end.')
  return new RockpoolError(codes[end.why] ?? 'agent-failed', end.message)
}
