// Turns: ask an agent and wait for its answer, hand it a message and go, stop it, tell it something.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import type { ErrorCode } from '../../domain/errors.ts'
import type { TurnEnd, TurnEvent } from '../../domain/turn.ts'
import type { AskRequest } from '../../flow/asked-input.ts'
import type { WatchedEnd } from '../../flow/flow-parts.ts'
import type { App } from '../app.ts'
import { markEvent } from '../../rights/author.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { modelForTurn } from './known-model.ts'
import { checkReachable } from './reachable.ts'
import type { Caller } from '../operation.ts'
import { operation } from '../operation.ts'
import { askedSession } from './asked-session.ts'
import type { Whose } from './asked-session.ts'
import { waitForTurn } from './turn-wait.ts'
import { findSession } from '../sessions/which-session.ts'

const maxText = 100_000

export const whose = {
  to: z.string().min(1).max(500).optional().describe('The person whose session it is, on --channel.'),
  sessionId: z.string().min(1).max(128).optional().describe('The session with this id.'),
  sessionKey: z.string().min(1).max(1_024).optional().describe('The session with this key.'),
  agent: z.string().min(1).max(64).optional().describe('Which agent answers.'),
  channel: z.string().min(1).max(64).optional().describe('The channel of --to, and of the delivery.'),
}

export const askFields = {
  message: z.string().min(1).max(maxText).describe('What is said.'),
  ...whose,
  thinking: z
    .enum(['off', 'minimal', 'low', 'medium', 'high', 'xhigh', 'max'])
    .optional()
    .describe('How much to think.'),
  model: z.string().min(1).max(200).optional().describe('The model for this turn.'),
  deliver: z.boolean().default(false).describe("Send the answer to the session's chat, too."),
}

const usage = z.object({
  input: z.number(),
  output: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
})

const answerOutput = z.object({
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

const run = operation({
  name: 'turns.run',
  description: 'Ask an agent, and wait for its answer.',
  input: z.strictObject({
    ...askFields,
    terminal: z
      .boolean()
      .default(false)
      .describe('Asked in a terminal that shows what the session is told later (subscription `web`).'),
    timeout: z
      .number()
      .positive()
      .max(86_400)
      .default(600)
      .describe('Seconds to wait; then the turn is stopped.'),
  }),
  output: answerOutput,
  scope: 'write',
  changesState: true,
  command: { hidden: true },
  async run(app, input, caller) {
    return askTurn(app, caller, input)
  },
})

const where = operation({
  name: 'turns.where',
  description: 'Say which session a question would go to.',
  input: z.strictObject(whose),
  output: z.object({ sessionKey: z.string(), agentId: z.string() }),
  scope: 'read',
  command: { hidden: true },
  async run(app, input, caller) {
    const { sessionKey, agentId } = await askedSession(app, caller, input)
    return { sessionKey, agentId }
  },
})

const send = operation({
  name: 'turns.send',
  description:
    'Hand a message to a session. The answer comes when its turn is over; `turns.run` waits for it.',
  input: z.strictObject(askFields),
  output: z.object({ runId: z.string(), sessionKey: z.string(), accepted: z.boolean() }),
  scope: 'write',
  changesState: true,
  needsGateway: true,
  command: { hidden: true },
  async run(app, input, caller) {
    const request = await requestOf(app, caller, input, randomUUID())
    await (await app.conversations()).hand(request)
    return { runId: request.key!, sessionKey: request.sessionKey, accepted: true }
  },
})

const stop = operation({
  name: 'turns.stop',
  description: 'Stop the running turn of a session and forget what waits there.',
  input: z.strictObject({
    sessionKey: z.string().min(1).describe('The session: key, id or label.'),
    runId: z.string().optional().describe('Only this turn.'),
  }),
  output: z.object({ ok: z.boolean(), aborted: z.boolean(), forgotten: z.number() }),
  scope: 'write',
  changesState: true,
  needsGateway: true,
  command: { positional: ['sessionKey'], examples: ['rockpool turns stop main'] },
  async run(app, input, caller) {
    const { key } = await findSession(app, caller, input.sessionKey)
    const { wasRunning, forgotten } = await (await app.conversations()).stopTurn(key)
    return { ok: true, aborted: wasRunning, forgotten }
  },
})

const list = operation({
  name: 'turns.list',
  description: 'List turns that are over, newest first: what each used and cost.',
  input: z.strictObject({
    sessionKey: z.string().min(1).optional().describe('Only of this session: key, id or label.'),
    agent: whose.agent,
    since: z.number().optional().describe('Begun after this time, in milliseconds since 1970.'),
    limit: z.int().min(1).max(10_000).default(100).describe('At most this many.'),
  }),
  output: z.object({ turns: z.array(z.record(z.string(), z.unknown())) }),
  scope: 'read',
  command: { examples: ['rockpool turns list', 'rockpool turns list --session-key main --json'] },
  async run(app, input, caller) {
    const session =
      input.sessionKey === undefined ? undefined : await findSession(app, caller, input.sessionKey)
    const agentId = caller.agentId ?? input.agent
    const turns = await app.storage.work.lanes.history({
      limit: input.limit,
      ...(session ? { lane: session.key } : {}),
      ...(agentId === undefined ? {} : { agentId }),
      ...(input.since === undefined ? {} : { since: input.since }),
    })
    return { turns: turns.map((turn) => ({ ...turn })) }
  },
})

const wake = operation({
  name: 'turns.wake',
  description: 'Tell an agent that something happened.',
  input: z.strictObject({
    text: z.string().min(1).max(maxText).describe('What happened.'),
    mode: z
      .enum(['now', 'next-heartbeat'])
      .default('now')
      .describe('A turn at once, or with the next message.'),
    agent: whose.agent,
    sessionKey: z
      .string()
      .min(1)
      .optional()
      .describe("The session that is told; the agent's main one when absent."),
  }),
  output: z.object({ ok: z.boolean(), sessionKey: z.string() }),
  scope: 'write',
  changesState: true,
  needsGateway: true,
  command: {
    positional: ['text'],
    joinsRest: true,
    examples: ['rockpool system event "The backup is done."'],
  },
  async run(app, { text, mode, agent, sessionKey: ref }, caller) {
    const { agentId, sessionKey } = await askedSession(app, caller, { agent, sessionKey: ref })
    const conversations = await app.conversations()
    const askedBy = callerAuthor(caller)
    if (mode === 'now') await conversations.wake({ text, agentId, sessionKey, key: randomUUID(), askedBy })
    else await conversations.converse.systemEvent(sessionKey, markEvent(askedBy, text))
    return { ok: true, sessionKey }
  },
})

export const operations = [run, where, send, stop, list, wake, waitForTurn]

interface Asked extends Whose {
  message: string
  deliver: boolean
  terminal?: boolean
  timeout: number
  model?: string
  thinking?: string
}

/** Asks and waits; `onEvent` sees what the agent does meanwhile. */
export async function askTurn(
  app: App,
  caller: Caller,
  input: Asked,
  onEvent?: (event: TurnEvent) => void,
): Promise<z.input<typeof answerOutput>> {
  const runId = randomUUID()
  const conversations = await app.conversations()
  const end = await conversations.ask({
    ...(await requestOf(app, caller, input, runId)),
    timeoutMs: input.timeout * 1_000,
    ...(onEvent ? { onEvent } : {}),
  })
  return { runId, ...answerOf(end) }
}

async function requestOf(
  app: App,
  caller: Caller,
  input: Omit<Asked, 'timeout'>,
  runId: string,
): Promise<AskRequest> {
  const asked = await askedSession(app, caller, input)
  if (asked.address) await checkReachable(app, asked.address)
  return {
    ...asked,
    key: runId,
    text: input.message,
    from: caller.name ?? caller.via,
    askedBy: callerAuthor(caller),
    // Text from another program or from an agent is never treated as a command.
    mayCommand: caller.via !== 'hook' && caller.agentId === undefined,
    deliver: input.deliver,
    // Only a person at a terminal: what is said there counts as the owner's.
    terminal: input.terminal === true && caller.via !== 'hook' && caller.agentId === undefined,
    ...(input.model === undefined ? {} : { model: modelForTurn(app, input.model) }),
    ...(input.thinking === undefined ? {} : { thinking: input.thinking }),
  }
}

/** What the turn ended with; a turn that failed is an error that says so. */
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
  if (end.kind === 'interrupted')
    return new RockpoolError('refused', 'The turn was stopped before it was over.')
  return new RockpoolError(codes[end.why] ?? 'agent-failed', end.message)
}
