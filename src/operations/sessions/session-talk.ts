// What an agent may say to its other sessions, and ask about them.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import { defaultAgentId, buildAgentMainSessionKey } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { operation } from '../operation.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { rowOf, sessionRow } from './session-row.ts'
import { askTurn } from '../turns/turns.ts'
import { findSession } from './which-session.ts'

const sendToSession = operation({
  name: 'sessions.send',
  description: 'Say something to another session, and wait a while for its answer.',
  input: z.strictObject({
    sessionKey: z.string().min(1).describe('The session: key, id or label.'),
    message: z.string().min(1).max(100_000).describe('What is said.'),
    timeoutSeconds: z
      .number()
      .min(0)
      .max(600)
      .default(30)
      .describe('How long to wait for the answer; 0 does not wait.'),
  }),
  output: z.object({
    status: z.enum(['ok', 'accepted']),
    runId: z.string(),
    sessionKey: z.string(),
    reply: z.string().optional(),
  }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  needsGateway: true,
  command: { positional: ['sessionKey', 'message'], examples: ['rockpool sessions send main "hello"'] },
  async run(app, { sessionKey: ref, message, timeoutSeconds }, caller) {
    const { key, agentId } = await findSession(app, caller, ref)
    if (key === caller.sessionKey) {
      throw new RockpoolError('refused', 'A session cannot wait for itself.', { hint: 'Name another one.' })
    }
    if (timeoutSeconds > 0) {
      const asked = { message, sessionKey: key, agent: agentId, deliver: false, timeout: timeoutSeconds }
      const answer = await askTurn(app, caller, asked)
      return { status: 'ok' as const, runId: answer.runId, sessionKey: key, reply: answer.text }
    }
    const runId = randomUUID()
    const from = caller.sessionKey ?? caller.name ?? caller.via
    const request = {
      agentId,
      sessionKey: key,
      text: message,
      from,
      key: runId,
      mayCommand: false,
      askedBy: callerAuthor(caller),
    }
    await (await app.conversations()).hand(request)
    return { status: 'accepted' as const, runId, sessionKey: key }
  },
})

const sessionStatus = operation({
  name: 'sessions.status',
  description:
    'Say how a session stands: model, context, tokens, cost. The one that asks when none is named.',
  input: z.strictObject({
    sessionKey: z.string().min(1).optional().describe('The session: key, id or label.'),
  }),
  output: sessionRow,
  scope: 'read',
  forAgents: true,
  command: { positional: ['sessionKey'], examples: ['rockpool sessions status main'] },
  async run(app, { sessionKey }, caller) {
    const { mainKey } = app.config.session
    const agentId = caller.agentId ?? defaultAgentId(app.config)
    const ref = sessionKey ?? caller.sessionKey ?? buildAgentMainSessionKey({ agentId, mainKey })
    return rowOf(await findSession(app, caller, ref), app.clock.now(), mainKey)
  },
})

export const talkOperations = [sendToSession, sessionStatus]
