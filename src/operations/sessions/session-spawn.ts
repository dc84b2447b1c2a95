// Work for other sessions: sessions.spawn starts a sub-agent or a coding session, sessions.send asks an existing session.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { CodingRequest } from '../../domain/coding-session.ts'
import { buildAgentMainSessionKey, defaultAgentId } from '../../domain/session-key.ts'
import { asRockpoolError, messageAndHint, RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { launchCoding } from '../coding/coding-launch.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { checkedLabel } from './session-patch.ts'
import { modelForTurn } from '../turns/known-model.ts'
import { refuseWider } from '../coding/launch-rights.ts'
import { operation, type Caller } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { nonBlankText, permissionMode, flag } from '../input-fields.ts'
import { addSpawnedRow, startSubagent, depthOf, runningChildren } from './subagents.ts'
import { askTurn } from '../turns/ask-turn.ts'
import { findSession, visibleAgents } from './which-session.ts'

const seconds = z.number().positive().max(86_400)

const spawnInput = z.strictObject({
  task: nonBlankText().max(100_000).describe('What to do.'),
  label: z
    .string()
    .max(60)
    .optional()
    .describe('Its label; a Claude Code session with this label continues.'),
  agentId: z.string().optional().describe('The agent that takes the task; the calling agent when absent.'),
  model: z.string().optional().describe('The model.'),
  thinking: z.string().optional().describe('How much to think.'),
  runTimeoutSeconds: seconds.optional().describe('Stop it after this many seconds.'),
  timeoutSeconds: seconds.optional().describe('Older name of runTimeoutSeconds.'),
  cleanup: z.enum(['delete', 'keep']).default('keep').describe('Whether to keep its session afterwards.'),
  mode: z.enum(['claude-code']).optional().describe('Use Claude Code in a repository instead of an agent.'),
  repo: z
    .string()
    .optional()
    .describe('For Claude Code: the path of the repository, or its name in coding.repos.'),
  permissionMode: permissionMode().describe('How Claude Code asks for permission.'),
  freshSession: flag('Start a new conversation; do not continue an earlier one.'),
  persistent: flag('Wait for more messages after the first turn.'),
})

type SpawnInput = z.output<typeof spawnInput>

const spawnOutput = z.object({
  status: z.enum(['accepted', 'queued', 'forbidden', 'error']),
  error: z.string().optional(),
  mode: z.string().optional(),
  childSessionKey: z.string().optional(),
  runId: z.string().optional(),
  repo: z.string().optional(),
  model: z.string().optional(),
  permissionMode: z.string().optional(),
  timeoutSeconds: z.number().optional(),
  persistent: z.boolean().optional(),
  /** The coding session behind it: claude_output and claude_respond take it. */
  session: z.string().optional(),
})
type Spawned = z.input<typeof spawnOutput>

const defaultTimeoutSeconds = 600

const spawnSession = operation({
  name: 'sessions.spawn',
  description: 'Give a task to a sub-agent, or to Claude Code in a repository; its result is announced.',
  input: spawnInput,
  output: spawnOutput,
  scope: 'write',
  changesState: true,
  forAgents: true,
  needsGateway: true,
  command: {
    positional: ['task'],
    paths: ['repo'],
    examples: ['rockpool sessions spawn "sum up the week" --label weekly'],
  },
  async run(app, asked, caller) {
    try {
      return await (asked.mode === 'claude-code' ? spawnClaudeCode : spawnAgent)(app, asked, caller)
    } catch (thrown) {
      const { code } = asRockpoolError(thrown)
      const isForbidden = code === 'refused' || code === 'forbidden' || code === 'unauthorized'
      const status = isForbidden ? 'forbidden' : 'error'
      return { status, error: messageAndHint(thrown) } as const
    }
  },
})

interface Parent {
  agentId: string
  key: string
}

function parentOf(app: App, caller: Caller): Parent {
  const agentId = caller.agentId ?? defaultAgentId(app.config)
  const { mainKey } = app.config.session
  return { agentId, key: caller.sessionKey ?? buildAgentMainSessionKey({ agentId, mainKey }) }
}

/** The depth of a new child of this session, or a refusal when that is too deep. */
async function depthBelow(app: App, parent: Parent): Promise<number | Spawned> {
  const { maxSpawnDepth } = app.config.agents.defaults.subagents
  const depth = (await depthOf(app, parent.agentId, parent.key)) + 1
  return depth > maxSpawnDepth ? forbidden(`Sub-agents go ${maxSpawnDepth} deep at most.`) : depth
}

async function spawnAgent(app: App, asked: SpawnInput, caller: Caller): Promise<Spawned> {
  const parent = parentOf(app, caller)
  const depth = await depthBelow(app, parent)
  if (typeof depth !== 'number') return depth
  const { maxChildren } = app.config.agents.defaults.subagents
  const children = await runningChildren(app, parent.agentId, parent.key)
  if (children >= maxChildren) return forbidden(`${children} sub-agents are running already.`)
  const [agentId = parent.agentId] = visibleAgents(app, caller, asked.agentId ?? parent.agentId)
  const timeoutSeconds = timeoutOf(asked)
  const { task, thinking, cleanup } = asked
  const label = asked.label === undefined ? undefined : checkedLabel(app, asked.label)
  const model = asked.model === undefined ? undefined : modelForTurn(app, asked.model)
  const askedBy = callerAuthor(caller)
  const child = { task, label, model, thinking, cleanup, agentId, timeoutSeconds, askedBy, depth }
  const started = await startSubagent(app, { ...child, parentKey: parent.key, parentAgentId: parent.agentId })
  return { status: 'accepted', ...started, model, timeoutSeconds }
}

async function spawnClaudeCode(app: App, asked: SpawnInput, caller: Caller): Promise<Spawned> {
  await refuseWider(app, asked, caller)
  const parent = parentOf(app, caller)
  const depth = await depthBelow(app, parent)
  if (typeof depth !== 'number') return depth
  const [agentId = parent.agentId] = visibleAgents(app, caller, asked.agentId ?? parent.agentId)
  const timeoutSeconds = timeoutOf(asked)
  const { label, model, thinking, permissionMode } = asked
  const childSessionKey = `agent:${agentId}:subagent:${randomUUID()}`
  const { session, action } = await launchCoding(
    app,
    {
      prompt: asked.task,
      workdir: asked.repo ?? app.config.coding.defaultWorkdir,
      label,
      model,
      thinking,
      permissionMode,
      timeoutSeconds,
      spawnDepth: depth,
      launchedBy: parent.agentId,
      by: giverOf(caller),
      relay: relayFrom(app),
      fresh: asked.freshSession,
      forkSession: false,
      multiTurnDisabled: !asked.persistent,
      childSessionKey: asked.cleanup === 'delete' ? childSessionKey : undefined,
    },
    { ...caller, agentId, sessionKey: parent.key },
  )
  await addSpawnedRow(app, session, { childSessionKey, parentKey: parent.key, depth, label })
  return {
    status: action === 'queue' ? 'queued' : 'accepted',
    mode: 'claude-code',
    childSessionKey,
    runId: session.id,
    session: session.id,
    repo: session.request.workdir,
    model: session.request.model,
    permissionMode: session.request.permissionMode,
    timeoutSeconds,
    persistent: asked.persistent,
  }
}

function relayFrom({ config }: App): CodingRequest['relay'] {
  const { enabled, intervalSeconds, includeToolUse } = config.coding.progressRelay
  return enabled ? { everySeconds: intervalSeconds, tools: includeToolUse } : undefined
}

function timeoutOf({ runTimeoutSeconds, timeoutSeconds }: SpawnInput): number {
  return runTimeoutSeconds ?? timeoutSeconds ?? defaultTimeoutSeconds
}

function forbidden(error: string): Spawned {
  return { status: 'forbidden', error }
}

const sendToSession = operation({
  name: 'sessions.send',
  description: 'Send a message to another session, and wait a while for its answer.',
  input: z.strictObject({
    sessionKey: z.string().min(1).describe('The session: key, id or label.'),
    message: z.string().min(1).max(100_000).describe('The message.'),
    timeoutSeconds: z.number().min(0).max(600).default(30).describe('How long to wait; 0 does not wait.'),
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
    if (key === caller.sessionKey)
      throw new RockpoolError('refused', 'A session cannot wait for itself.', { hint: 'Name another one.' })
    if (timeoutSeconds > 0) {
      const asked = { message, sessionKey: key, agent: agentId, deliver: false, timeout: timeoutSeconds }
      const answer = await askTurn(app, caller, asked)
      return { status: 'ok' as const, runId: answer.runId, sessionKey: key, reply: answer.text }
    }
    const runId = randomUUID()
    const conversations = await app.conversations()
    await conversations.hand({
      agentId,
      sessionKey: key,
      text: message,
      from: caller.sessionKey ?? caller.name ?? caller.via,
      key: runId,
      mayCommand: false,
      askedBy: callerAuthor(caller),
    })
    return { status: 'accepted' as const, runId, sessionKey: key }
  },
})

export const operations = [spawnSession, sendToSession]
