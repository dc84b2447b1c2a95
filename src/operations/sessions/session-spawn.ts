// sessions.spawn: another agent, or Claude Code in a repository, takes a task and reports back when it is done.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { CodingRequest } from '../../domain/coding-session.ts'
import { defaultAgentId, buildAgentMainSessionKey } from '../../domain/session-key.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { launchCoding } from '../coding/coding-launch.ts'
import { callerAuthor } from '../../rights/rights.ts'
import { checkedLabel } from './checked-label.ts'
import { modelForTurn } from '../turns/known-model.ts'
import { refuseWider } from '../coding/launch-rights.ts'
import type { Caller } from '../operation.ts'
import { operation } from '../operation.ts'
import { nonBlankText } from '../words.ts'
import { addSpawnedRow } from '../coding/spawned-coding.ts'
import { beginSubagent, depthOf, runningChildren } from './subagents.ts'
import { visibleAgents } from './which-session.ts'

const input = z.strictObject({
  task: nonBlankText.max(100_000).describe('What to do.'),
  label: z
    .string()
    .max(60)
    .optional()
    .describe('A name for it; a Claude Code session with this label is continued.'),
  agentId: z.string().optional().describe('The agent that does it; the one that asks when absent.'),
  model: z.string().optional().describe('The model.'),
  thinking: z.string().optional().describe('How much to think.'),
  runTimeoutSeconds: z.number().positive().max(86_400).optional().describe('It is stopped after this long.'),
  timeoutSeconds: z.number().positive().max(86_400).optional().describe('The same, by its older name.'),
  cleanup: z.enum(['delete', 'keep']).default('keep').describe('What becomes of its session afterwards.'),
  mode: z.enum(['claude-code']).optional().describe('Claude Code in a repository instead of an agent.'),
  repo: z
    .string()
    .optional()
    .describe('The repository, for Claude Code: its path, or its name in coding.repos.'),
  permissionMode: z
    .enum(['default', 'plan', 'acceptEdits', 'dontAsk', 'bypassPermissions'])
    .optional()
    .describe('How Claude Code asks for permission.'),
  freshSession: z.boolean().default(false).describe('Begin a new conversation, whatever there is.'),
  persistent: z.boolean().default(false).describe('It waits for more after its first turn.'),
})

type SpawnInput = z.output<typeof input>

const output = z.object({
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

const defaultTimeoutSeconds = 600

export const spawnSession = operation({
  name: 'sessions.spawn',
  description:
    'Give a task to a sub-agent, or to Claude Code in a repository; the result is announced when it is there.',
  input,
  output,
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
      const { code, message, hint } = asRockpoolError(thrown)
      const status =
        code === 'refused' || code === 'forbidden' || code === 'unauthorized' ? 'forbidden' : 'error'
      return { status, error: [message, hint].filter(Boolean).join(' ') } as const
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

/** How deep what this session begins would be; a refusal when that is too deep. */
async function depthBelow(app: App, parent: Parent): Promise<number | z.input<typeof output>> {
  const { maxSpawnDepth } = app.config.agents.defaults.subagents
  const depth = (await depthOf(app, parent.agentId, parent.key)) + 1
  return depth > maxSpawnDepth ? forbidden(`Sub-agents go ${maxSpawnDepth} deep at most.`) : depth
}

async function spawnAgent(app: App, asked: SpawnInput, caller: Caller): Promise<z.input<typeof output>> {
  const parent = parentOf(app, caller)
  const depth = await depthBelow(app, parent)
  if (typeof depth !== 'number') return depth
  const { maxChildren } = app.config.agents.defaults.subagents
  const children = await runningChildren(app, parent.agentId, parent.key)
  if (children >= maxChildren) return forbidden(`${children} sub-agents work already.`)
  const [agentId = parent.agentId] = visibleAgents(app, caller, asked.agentId ?? parent.agentId)
  const timeoutSeconds = timeoutOf(asked)
  const { task, thinking, cleanup } = asked
  const label = asked.label === undefined ? undefined : checkedLabel(app, asked.label)
  const model = asked.model === undefined ? undefined : modelForTurn(app, asked.model)
  const askedBy = callerAuthor(caller)
  const wanted = { task, label, model, thinking, cleanup, agentId, timeoutSeconds, askedBy }
  const begun = await beginSubagent(
    app,
    { ...wanted, parentKey: parent.key, parentAgentId: parent.agentId },
    depth,
  )
  return { status: 'accepted', ...begun, model, timeoutSeconds }
}

async function spawnClaudeCode(app: App, asked: SpawnInput, caller: Caller): Promise<z.input<typeof output>> {
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
      boundTo: caller.agentId,
      relay: relayFrom(app),
      fresh: asked.freshSession,
      forkSession: false,
      multiTurnDisabled: !asked.persistent,
      ...(asked.cleanup === 'delete' ? { childSessionKey } : {}),
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

function forbidden(error: string): z.input<typeof output> {
  return { status: 'forbidden', error }
}
