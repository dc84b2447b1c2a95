// Finds the session that a caller names: by its key, its id, the beginning of its id, or its label.
import { defaultAgentId } from '../../domain/session-key.ts'
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { lazily } from '../../domain/lazy-parts.ts'
import type { Session } from '../../domain/session.ts'
import { canonicalSessionKey } from '../../domain/session-key-forms.ts'
import { findOlderSession } from '../../sessions/find-session.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import type { SessionParts } from '../../sessions/session-parts.ts'

/** Input fields of every operation on one session. */
export const whichSession = lazily({
  key: () => z.string().min(1).max(2000).describe('Key, id, beginning of an id, or label.'),
  agentId: () => z.string().optional().describe('Search only the sessions of this agent.'),
})
/** `--agent` is the option for `agentId`. */
export const agentFlag = { agentId: 'agent' }

/** A stored session entry, whole. */
export const storedEntry = () => z.looseObject({ sessionId: z.string(), updatedAt: z.number() })

/** The agents that the caller may see, or only `wanted`. Throws when `wanted` is not one of them. */
export function visibleAgents(app: App, caller: Caller, wanted?: string): string[] {
  const own = caller.agentId === undefined ? app.agentIds() : [caller.agentId]
  if (wanted === undefined) return own
  if (own.includes(wanted)) return [wanted]
  throw new RockpoolError('not-found', `There is no agent ${JSON.stringify(wanted)}.`, {
    hint: `Known: ${own.join(', ')}.`,
  })
}

/** The one session that `ref` names. Throws when there is none, and lists the candidates when there are several. */
export async function findSession(app: App, caller: Caller, ref: string, agentId?: string): Promise<Session> {
  const found = await findSessions(app, caller, ref, agentId)
  if (found.length === 1) return found[0]!
  throw found.length === 0 ? noSession(ref) : ambiguous(ref, found)
}

export function ambiguous(ref: string, found: Session[]): RockpoolError {
  const candidates = found.slice(0, 10).map(({ key, entry }) => `${key} (${entry.sessionId.slice(0, 8)})`)
  return new RockpoolError('ambiguous', `${JSON.stringify(ref)} could be ${found.length} sessions.`, {
    hint: `Name one of them in full: ${candidates.join(', ')}.`,
  })
}

export async function findSessions(
  app: App,
  caller: Caller,
  ref: string,
  agentId?: string,
): Promise<Session[]> {
  const agents = visibleAgents(app, caller, agentId)
  const exact = await findByKey(app, ref, agents)
  if (exact) return [exact]
  const found = await Promise.all(agents.map((id) => app.storage.sessions(id).find(ref)))
  return found.flat()
}

export function noSession(ref: string): RockpoolError {
  return new RockpoolError('not-found', `There is no session ${JSON.stringify(ref.slice(0, 200))}.`, {
    hint: '`rockpool sessions` lists them. A key, an id, the beginning of an id or a label will do. `rockpool cc read` shows a session of Claude Code.',
  })
}

/** Accepts older spellings of a key (`main`, `:dm:`): the row may be stored under the old or the current one. */
async function findByKey(app: App, ref: string, agents: string[]): Promise<Session | undefined> {
  // First look for the key as it is: most callers give the stored spelling.
  const named = /^agent:([^:]+):/.exec(ref)?.[1]
  if (named !== undefined && agents.includes(named)) {
    const entry = await app.storage.sessions(named).peek(ref)
    if (entry) return { key: ref, agentId: named, entry }
  }
  const { key, agentId } = spellKey(app, ref)
  if (!agents.includes(agentId)) return undefined
  const sessions = app.storage.sessions(agentId)
  const entry = await sessions.peek(key)
  if (entry) return { key, agentId, entry }
  const isDefaultAgent = agentId === defaultAgentId(app.config)
  return findOlderSession(sessions, key, { agentId, mainKey: app.config.session.mainKey, isDefaultAgent })
}

/** The key in its canonical spelling, and its agent. */
export function spellKey(app: App, ref: string): { key: string; agentId: string } {
  if (/^agent:[^:]*:*$/i.test(ref.trim()))
    throw new RockpoolError('input-invalid', `${JSON.stringify(ref)} is only the beginning of a key.`, {
      hint: 'A key is agent:<agent>:<session>, as in agent:main:main.',
    })
  const { mainKey } = app.config.session
  const fallback = defaultAgentId(app.config)
  const key = canonicalSessionKey(ref, { agentId: fallback, mainKey })
  return { key, agentId: /^agent:([^:]+):/.exec(key)?.[1] ?? fallback }
}

/** The stores of one agent, as the functions of sessions/ take them. */
export function partsOf(app: App, { agentId }: { agentId: string }): SessionParts {
  const { clock, events } = app
  return {
    sessions: app.storage.sessions(agentId),
    transcripts: app.storage.transcripts(agentId),
    clock,
    events,
    isBusy: (key) => isBusy(app, key),
  }
}

/** Does a turn run or wait in this session, here or on another machine? */
async function isBusy(app: App, key: string): Promise<boolean> {
  if (app.gateway && (await app.conversations()).converse.queue.isBusy(key)) return true
  const elsewhere = await app.storage.work.share?.holders(key)
  return elsewhere !== undefined && elsewhere.length > 0
}
