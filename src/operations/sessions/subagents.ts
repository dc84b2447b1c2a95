// Sessions that another session started for a task: sub-agents and coding sessions. The pending announcement of a sub-agent's
// result is stored in its own row, so that the result reaches the parent also after a restart.
import { randomUUID } from 'node:crypto'
import type { CodingSession } from '../../domain/coding-session.ts'
import { sleep } from '../../domain/async.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { subagentDepth } from '../../domain/session-key-forms.ts'
import { buildSubagentSessionKey } from '../../domain/session-key.ts'
import type { Session, SessionEntry } from '../../domain/session.ts'
import type { Author } from '../../rights/author.ts'
import { deleteSession } from '../../sessions/lifecycle.ts'
import { newEntry } from '../../sessions/session-parts.ts'
import type { App } from '../app.ts'
import { previewOf } from './session-history.ts'
import { partsOf } from './which-session.ts'

interface SubagentTask {
  agentId: string
  task: string
  parentKey: string
  parentAgentId: string
  label?: string
  model?: string
  thinking?: string
  timeoutSeconds: number
  /** The author of the turn that started it; the sub-agent has no more rights. */
  askedBy: Author
  cleanup: 'delete' | 'keep'
  /** How many sub-agents it is below the first session. */
  depth: number
}

/** The field `subagentRun` of a sub-agent's row. */
interface SubagentRun {
  runId: string
  state: 'running' | 'announced'
  parentAgentId: string
  askedBy?: Author
  cleanup: 'delete' | 'keep'
  /** When to stop it, wall time. */
  until: number
}

const pollMs = 100

export async function depthOf(app: App, agentId: string, key: string): Promise<number> {
  const depth = (await app.storage.sessions(agentId).get(key))?.['spawnDepth']
  return typeof depth === 'number' ? depth : subagentDepth(key)
}

/** How many sub-agents of this session are running. */
export async function runningChildren(app: App, agentId: string, parentKey: string): Promise<number> {
  const { sessions } = await app.storage.sessions(agentId).list({ spawnedBy: parentKey })
  return sessions.filter(({ entry }) => runOf(entry)?.state === 'running').length
}

/** Starts a sub-agent. Its task is on disk when this resolves; its result is announced to the parent. */
export async function startSubagent(
  app: App,
  wanted: SubagentTask,
): Promise<{ childSessionKey: string; runId: string }> {
  const { agentId, parentKey, parentAgentId, askedBy, cleanup, depth, label } = wanted
  const childSessionKey = buildSubagentSessionKey({ agentId, id: randomUUID() })
  const runId = randomUUID()
  const now = app.clock.now()
  const until = now + wanted.timeoutSeconds * 1_000
  const subagentRun: SubagentRun = { runId, state: 'running', parentAgentId, askedBy, cleanup, until }
  const fields = { spawnedBy: parentKey, spawnDepth: depth, subagentRun, label }
  await app.storage.sessions(agentId).update(childSessionKey, () => newEntry(now, fields))
  const conversations = await app.conversations()
  await conversations.hand({
    agentId,
    sessionKey: childSessionKey,
    text: wanted.task,
    from: parentKey,
    key: runId,
    mayCommand: false,
    askedBy,
    model: wanted.model,
    thinking: wanted.thinking,
  })
  follow(app, agentId, childSessionKey)
  return { childSessionKey, runId }
}

/** After a start: resumes waiting for the sub-agents that were running when the process ended. */
export async function followSubagents(app: App): Promise<void> {
  for (const agentId of app.agentIds()) {
    const { sessions } = await app.storage.sessions(agentId).list({ search: ':subagent:' })
    for (const { key, entry } of sessions) {
      if (runOf(entry)?.state === 'running') follow(app, agentId, key)
    }
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
    await sleep(app.clock, pollMs)
  }
}

/** The end of the announcement, or undefined while the sub-agent works. */
async function outcomeOf(app: App, session: Session, run: SubagentRun): Promise<string | undefined> {
  const inputKey = `ask:${run.runId}`
  const state = await app.storage.work.inbox.state(inputKey)
  if (state === 'waiting' || state === 'running') {
    if (app.clock.now() < run.until) return undefined
    return (await isStopped(app, session, inputKey)) ? 'was stopped: it took too long.' : undefined
  }
  const [last] = (await previewOf(app, session, 1, 20_000)).slice(-1)
  const words = last && last.role === 'assistant' ? last.text : ''
  if (state === 'answered') return `is done:\n\n${words || '(it said nothing)'}`
  return `ended without a result (${state ?? 'its task is no longer known'}).`
}

/** False when the machine that runs the sub-agent does not answer; that machine is asked again. */
async function isStopped(app: App, { key }: Session, inputKey: string): Promise<boolean> {
  try {
    await (await app.conversations()).stopInput(key, inputKey)
    return true
  } catch (error) {
    if (asRockpoolError(error).code === 'timed-out') return false
    throw error
  }
}

/** A crash between the two steps announces nothing twice: `key` identifies the run. */
async function announce(app: App, session: Session, run: SubagentRun, outcome: string): Promise<void> {
  const { key, agentId, entry } = session
  const who = entry.label === undefined ? key : `${entry.label} (${key})`
  const conversations = await app.conversations()
  await conversations.wake({
    text: `The sub-agent ${who} ${outcome}`,
    agentId: run.parentAgentId,
    sessionKey: String(entry['spawnedBy']),
    key: `subagent:${run.runId}`,
    askedBy: run.askedBy,
  })
  await app.storage
    .sessions(agentId)
    .update(key, (stored) => stored && { ...stored, subagentRun: { ...run, state: 'announced' } })
  if (run.cleanup === 'delete') await removeRow(app, agentId, key)
}

async function removeRow(app: App, agentId: string, key: string): Promise<void> {
  try {
    if (!(await app.storage.sessions(agentId).get(key))) return
    await deleteSession(partsOf(app, { agentId }), key, { purge: false })
  } catch (error) {
    app.log.warn(
      { event: 'subagent-cleanup-failed', key, error: asRockpoolError(error).message },
      'Could not remove the session of a finished sub-agent; it stays in the lists.',
    )
  }
}

function runOf(entry: SessionEntry): SubagentRun | undefined {
  const run = entry['subagentRun']
  return typeof run === 'object' && run !== null ? (run as SubagentRun) : undefined
}

/** The session row of a coding session that another session launched. Lists show it below the session that launched it. */
interface SpawnedRow {
  childSessionKey: string
  parentKey: string
  depth: number
  label?: string
}

export async function addSpawnedRow(app: App, session: CodingSession, row: SpawnedRow): Promise<void> {
  const fields = {
    label: row.label === undefined ? undefined : `${row.label} (${session.id})`,
    spawnedBy: row.parentKey,
    spawnDepth: row.depth,
    codingSessionId: session.id,
  }
  const sessions = app.storage.sessions(session.request.agentId)
  await sessions.update(row.childSessionKey, () => newEntry(app.clock.now(), fields))
  // The coding session may have ended before its row existed.
  await removeEnded(app, app.storage.coding.get(session.id) ?? session)
}

/** Removes the rows of coding sessions that have ended, and those of the others when they end. */
export async function followSpawnedCoding(app: App): Promise<void> {
  app.events.on((event) => {
    if (event.type !== 'coding-changed' || event.why !== 'ended') return
    const session = app.storage.coding.get(event.id)
    if (session) void removeEnded(app, session)
  })
  for (const session of app.storage.coding.list()) await removeEnded(app, session)
}

/** Only rows that the parent wants removed: `childSessionKey` is set for these. The coding session itself stays. */
async function removeEnded(app: App, { request, lifecycle }: CodingSession): Promise<void> {
  const { childSessionKey: key, agentId } = request
  if (lifecycle === 'ended' && key !== undefined) await removeRow(app, agentId, key)
}
