// Sub-agents: a session that another one began for a task. What is to be announced is written in the child's own row,
// so that a result reaches the parent also when everything was restarted in between.
import { randomUUID } from 'node:crypto'
import { asRockpoolError } from '../../domain/errors.ts'
import type { Session, SessionEntry } from '../../domain/session.ts'
import { subagentDepth } from '../../domain/session-key-forms.ts'
import { deleteSession, newEntry } from '../../sessions/lifecycle.ts'
import type { App } from '../app.ts'
import type { Author } from '../../rights/author.ts'
import { partsOf } from './session-parts.ts'
import { previewOf } from './session-preview.ts'

export interface SubagentTask {
  agentId: string
  task: string
  parentKey: string
  parentAgentId: string
  label?: string
  model?: string
  thinking?: string
  timeoutSeconds: number
  /** Who had it begun: it has no more rights than that. */
  askedBy: Author
  cleanup: 'delete' | 'keep'
}

/** What a child's row says about the task that it was made for. */
interface SubagentRun {
  runId: string
  state: 'running' | 'announced'
  parentAgentId: string
  askedBy?: Author
  cleanup: 'delete' | 'keep'
  /** When it is stopped, wall time. */
  until: number
}

const lookMs = 100

export async function depthOf(app: App, agentId: string, key: string): Promise<number> {
  const depth = (await app.storage.sessions(agentId).get(key))?.['spawnDepth']
  return typeof depth === 'number' ? depth : subagentDepth(key)
}

/** How many sub-agents of this session still work. */
export async function runningChildren(app: App, agentId: string, parentKey: string): Promise<number> {
  const { sessions } = await app.storage.sessions(agentId).list({ spawnedBy: parentKey })
  return sessions.filter(({ entry }) => runOf(entry)?.state === 'running').length
}

/** Begins the child; the task is on disk when this resolves, and its result is announced when it is there. */
export async function beginSubagent(
  app: App,
  wanted: SubagentTask,
  depth: number,
): Promise<{ childSessionKey: string; runId: string }> {
  const { agentId, parentKey } = wanted
  const id = randomUUID()
  const childSessionKey = `agent:${agentId}:subagent:${id}`
  const runId = randomUUID()
  const now = app.clock.now()
  const subagentRun: SubagentRun = {
    runId,
    state: 'running',
    parentAgentId: wanted.parentAgentId,
    askedBy: wanted.askedBy,
    cleanup: wanted.cleanup,
    until: now + wanted.timeoutSeconds * 1_000,
  }
  const fields = { spawnedBy: parentKey, spawnDepth: depth, subagentRun, label: wanted.label }
  await app.storage.sessions(agentId).update(childSessionKey, () => newEntry(now, fields))
  const conversations = await app.conversations()
  await conversations.hand({
    agentId,
    sessionKey: childSessionKey,
    text: wanted.task,
    from: parentKey,
    key: runId,
    mayCommand: false,
    askedBy: wanted.askedBy,
    ...(wanted.model === undefined ? {} : { model: wanted.model }),
    ...(wanted.thinking === undefined ? {} : { thinking: wanted.thinking }),
  })
  follow(app, agentId, childSessionKey)
  return { childSessionKey, runId }
}

/** After a start: follows the sub-agents again that were running when the process ended. */
export async function followSubagents(app: App): Promise<void> {
  const perAgent = await Promise.all(
    app
      .agentIds()
      .map(async (agentId) => (await app.storage.sessions(agentId).list({ search: ':subagent:' })).sessions),
  )
  for (const { agentId, key, entry } of perAgent.flat()) {
    if (runOf(entry)?.state === 'running') follow(app, agentId, key)
  }
}

function follow(app: App, agentId: string, key: string): void {
  announceWhenOver(app, agentId, key).catch((error: unknown) =>
    app.log.error(
      { event: 'subagent-announce-failed', key, error: String(error) },
      'Could not announce the result of a sub-agent; retrying.',
    ),
  )
}

async function announceWhenOver(app: App, agentId: string, key: string): Promise<void> {
  for (;;) {
    const entry = await app.storage.sessions(agentId).get(key)
    const run = entry && runOf(entry)
    if (!entry || !run || run.state !== 'running') return
    const outcome = await outcomeOf(app, { agentId, key, entry }, run)
    if (outcome !== undefined) return announce(app, { agentId, key, entry }, run, outcome)
    await new Promise<void>((resolve) => void app.clock.after(lookMs, resolve))
  }
}

/** What there is to say, or undefined while it works. */
async function outcomeOf(app: App, session: Session, run: SubagentRun): Promise<string | undefined> {
  const state = await app.storage.work.inbox.state(`ask:${run.runId}`)
  if (state === 'waiting' || state === 'running') {
    if (app.clock.now() < run.until) return undefined
    await (await app.conversations()).stopTurn(session.key)
    return 'was stopped: it took too long.'
  }
  const [last] = (await previewOf(app, session, 1, 20_000)).slice(-1)
  const words = last && last.role === 'assistant' ? last.text : ''
  if (state === 'answered') return `is done:\n\n${words || '(it said nothing)'}`
  return `ended without a result (${state ?? 'its task is no longer known'}).`
}

/** The same run wakes once, so a crash between the two steps says nothing twice. */
async function announce(app: App, session: Session, run: SubagentRun, outcome: string): Promise<void> {
  const { key, agentId, entry } = session
  const who = entry.label === undefined ? key : `${entry.label} (${key})`
  const conversations = await app.conversations()
  await conversations.wake({
    text: `The sub-agent ${who} ${outcome}`,
    agentId: run.parentAgentId,
    sessionKey: String(entry['spawnedBy']),
    key: `subagent:${run.runId}`,
    ...(run.askedBy === undefined ? {} : { askedBy: run.askedBy }),
  })
  await app.storage
    .sessions(agentId)
    .update(key, (stored) => stored && { ...stored, subagentRun: { ...run, state: 'announced' } })
  if (run.cleanup !== 'delete') return
  await deleteSession(partsOf(app, { agentId }), key, { purge: false }).catch((error: unknown) =>
    app.log.warn(
      { event: 'subagent-cleanup-failed', key, error: asRockpoolError(error).message },
      'Could not remove the session of a finished sub-agent.',
    ),
  )
}

function runOf(entry: SessionEntry): SubagentRun | undefined {
  const run = entry['subagentRun']
  return typeof run === 'object' && run !== null ? (run as SubagentRun) : undefined
}
