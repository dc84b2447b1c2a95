// Turns: ask an agent and wait, send it a message, stop its turn, notify it of an event.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { sleep } from '../../domain/async.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { markEvent } from '../../rights/author.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { operation } from '../operation.ts'
import { findSession } from '../sessions/which-session.ts'
import { answerOutput, askTurn, requestOf } from './ask-turn.ts'
import { targetSession } from './turn-target.ts'
import { flag, nonBlankText, thinkingLevels } from '../input-fields.ts'

const maxText = 100_000

export const whose = {
  to: z
    .string()
    .min(1)
    .max(500)
    .optional()
    .describe('The person whose session gets the question, on --channel.'),
  sessionId: z.string().min(1).max(128).optional().describe('The session with this id.'),
  sessionKey: z.string().min(1).max(1_024).optional().describe('The session with this key.'),
  agent: z.string().min(1).max(64).optional().describe('Which agent answers.'),
  channel: z.string().min(1).max(64).optional().describe('The channel of --to, and of the delivery.'),
}

export const askFields = {
  message: nonBlankText().max(maxText).describe('The message.'),
  ...whose,
  thinking: z.enum(thinkingLevels).optional().describe('How much to think.'),
  model: z.string().min(1).max(200).optional().describe('The model for this turn.'),
  deliver: flag("Also send the answer to the session's chat."),
}

const ask = operation({
  name: 'turns.run',
  description: 'Ask an agent, and wait for its answer.',
  input: z.strictObject({
    ...askFields,
    terminal: flag('A terminal asks, and shows later messages of the session (subscription `web`).'),
    timeout: z.number().positive().max(86_400).default(600).describe('Seconds until the turn is stopped.'),
  }),
  output: answerOutput,
  scope: 'write',
  changesState: true,
  command: { hidden: true },
  run: (app, input, caller) => askTurn(app, caller, input),
})

const where = operation({
  name: 'turns.where',
  description: 'Show which session a question would go to.',
  input: z.strictObject(whose),
  output: z.object({ sessionKey: z.string(), agentId: z.string() }),
  scope: 'read',
  command: { hidden: true },
  async run(app, input, caller) {
    const { sessionKey, agentId } = await targetSession(app, caller, input)
    return { sessionKey, agentId }
  },
})

const send = operation({
  name: 'turns.send',
  description: 'Send a message to a session without waiting for the answer; `turns.run` waits.',
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
  description: 'Stop the running turn of a session, and drop its queued messages.',
  input: z.strictObject({
    sessionKey: z.string().min(1).describe('The session: key, id or label.'),
    runId: z.string().optional().describe('Stop only this turn, and keep the queued messages of others.'),
  }),
  output: z.object({ ok: z.boolean(), aborted: z.boolean(), forgotten: z.number() }),
  scope: 'write',
  changesState: true,
  needsGateway: true,
  command: { positional: ['sessionKey'], examples: ['rockpool turns stop main'] },
  async run(app, input, caller) {
    const { key } = await findSession(app, caller, input.sessionKey)
    const conversations = await app.conversations()
    const { wasRunning, forgotten } =
      input.runId === undefined
        ? await conversations.stopTurn(key)
        : await conversations.stopInput(key, `ask:${input.runId}`)
    return { ok: true, aborted: wasRunning, forgotten }
  },
})

const list = operation({
  name: 'turns.list',
  description: 'List finished turns, newest first, with their usage and cost.',
  input: z.strictObject({
    sessionKey: z.string().min(1).optional().describe('Only of this session: key, id or label.'),
    agent: whose.agent,
    since: z.number().optional().describe('Started after this time, in milliseconds since 1970.'),
    limit: z.int().min(1).max(10_000).default(100).describe('At most this many.'),
  }),
  output: z.object({ turns: z.array(z.record(z.string(), z.unknown())) }),
  scope: 'read',
  command: { examples: ['rockpool turns list', 'rockpool turns list --session-key main --json'] },
  async run(app, input, caller) {
    const session =
      input.sessionKey === undefined ? undefined : await findSession(app, caller, input.sessionKey)
    const turns = await app.storage.work.lanes.history({
      limit: input.limit,
      lane: session?.key,
      agentId: caller.agentId ?? input.agent,
      since: input.since,
    })
    return { turns: turns.map((turn) => ({ ...turn })) }
  },
})

const wake = operation({
  name: 'turns.wake',
  description: 'Notify an agent of an event.',
  input: z.strictObject({
    text: z.string().min(1).max(maxText).describe('The event.'),
    mode: z
      .enum(['now', 'next-heartbeat'])
      .default('now')
      .describe('Start a turn, or add it to the next message.'),
    agent: whose.agent,
    sessionKey: z.string().min(1).optional().describe("The session; the agent's main one when absent."),
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
    const { agentId, sessionKey } = await targetSession(app, caller, { agent, sessionKey: ref })
    const conversations = await app.conversations()
    const askedBy = callerAuthor(caller)
    if (mode === 'now') await conversations.wake({ text, agentId, sessionKey, key: randomUUID(), askedBy })
    else await conversations.converse.systemEvent(sessionKey, markEvent(askedBy, text))
    return { ok: true, sessionKey }
  },
})

const pollMs = 100

const wait = operation({
  name: 'turns.wait',
  description: 'Wait for the answer to a message of `turns.send`.',
  input: z.strictObject({
    runId: z.string().min(1).max(200).describe('The id that `turns.send` returned.'),
    timeoutMs: z.int().min(0).max(600_000).default(30_000).describe('How long to wait.'),
  }),
  output: z.object({
    runId: z.string(),
    status: z.enum(['ok', 'stopped', 'error', 'timeout']),
    state: z.string(),
  }),
  scope: 'read',
  command: { hidden: true },
  async run(app, { runId, timeoutMs }, { agentId }) {
    const until = app.clock.monotonic() + timeoutMs
    for (;;) {
      const state = await app.storage.work.inbox.state(`ask:${runId}`, agentId)
      if (state === undefined)
        throw new RockpoolError('not-found', `There is no run ${JSON.stringify(runId)}.`)
      if (state !== 'waiting' && state !== 'running') return { runId, status: statusOf(state), state }
      if (app.clock.monotonic() >= until) return { runId, status: 'timeout' as const, state }
      await sleep(app.clock, pollMs)
    }
  },
})

function statusOf(state: string): 'ok' | 'stopped' | 'error' {
  if (state === 'answered' || state === 'command') return 'ok'
  return state === 'stopped' || state === 'dropped' ? 'stopped' : 'error'
}

export const operations = [ask, where, send, stop, list, wake, wait]
