// Step two: find the session of a message. It goes on, begins, begins anew because somebody said so or because it got
// stale, or begins as a fork of the chat that a thread hangs from.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../domain/config.ts'
import { defaultAgentId, resolveGroupSessionKey } from '../domain/session-key.ts'
import type { Message } from '../domain/message.ts'
import type { MsgContext, TemplateContext } from '../domain/msg-context.ts'
import type { GroupKeyResolution } from '../domain/session-key.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { SessionStore } from '../store/session-store.ts'
import { isFresh } from './freshness.ts'
import { forkThread } from './fork.ts'
import { newEntry, resetSession } from './lifecycle.ts'
import { findOlderSession, moveSession } from './legacy-key.ts'
import { recordInbound } from './record.ts'
import type { ModelAliasIndex } from './reset-model.ts'
import { applyResetModelOverride } from './reset-model.ts'
import type { ResetReason } from './reset-entry.ts'
import type { SessionParts } from './session-parts.ts'

export type SessionScope = Config['session']['scope']

export interface SessionInitResult {
  /** The message's context with what is known of its session. */
  sessionCtx: TemplateContext
  sessionEntry: SessionEntry
  /** What the session was before it began anew. */
  previousSessionEntry?: SessionEntry
  sessionStore: SessionStore
  sessionKey: string
  sessionId: string
  isNewSession: boolean
  resetTriggered: boolean
  /** Why a session began anew by itself. */
  staleBecause?: 'daily' | 'idle'
  systemSent: boolean
  abortedLastRun: boolean
  storePath: string
  sessionScope: SessionScope
  groupResolution?: GroupKeyResolution
  isGroup: boolean
  /** The text after the reset trigger and the model's name. */
  bodyStripped?: string
  /** The text in which commands were looked for. */
  triggerBodyNormalized: string
  /** The model that the reset asked for. */
  modelHint?: string
  /** Nothing but times has changed; they are written with what the turn changes. */
  timesPending: boolean
}

export interface InitParams {
  ctx: MsgContext
  cfg: Config
  sessionKey: string
  /** The session of the chat that this thread hangs from. */
  parentSessionKey?: string
  /** Absent for a turn of the agent's own: nobody spoke, so nothing gets fresher. */
  message?: Message
  /** Does the session's route stay as it is? When the message came by another way than its chat (the command line), or from
   *  a place with fewer rights. */
  keepsRoute?: (entry: SessionEntry) => boolean
  /** The caller writes the session when its turn is over; times alone may wait until then. */
  defersTimes?: boolean
  /** Makes the text after a reset trigger fit for the agent: cleaned, with the line that names its sender. */
  bodyForAgent: (text: string) => string
  /** Awaited before the session is begun anew: is the turn really ours? */
  beforeChange?: () => Promise<void>
  parts: SessionParts
  storePath: string
  aliasIndex: ModelAliasIndex
}

export async function initSessionState(params: InitParams): Promise<SessionInitResult> {
  const { ctx, cfg, sessionKey } = params
  const { sessions, clock } = params.parts
  const triggerBodyNormalized = (ctx.BodyForCommands ?? ctx.Body ?? '').trim()
  const trigger = findResetTrigger(
    triggerBodyNormalized,
    cfg.session.resetTriggers,
    ctx.CommandAuthorized === true,
  )
  const before = (await sessions.get(sessionKey)) ?? (await takeOverOlder(params))
  const freshness = before
    ? isFresh(sessionKey, before, { now: clock.now(), session: cfg.session, timeZone: cfg.timeZone })
    : undefined
  const isStale = freshness?.fresh === false && params.message !== undefined
  const goesOn = before !== undefined && !trigger && !isStale
  const reason = trigger ? reasonOf(trigger.trigger) : (freshness?.because ?? 'reset')
  if (!goesOn) await params.beforeChange?.()
  const begun = goesOn ? before : await beginSession(params, before, reason)
  const hint = applyResetModelOverride({
    resetTriggered: trigger !== undefined,
    bodyStripped: trigger?.rest,
    aliasIndex: params.aliasIndex,
  })
  const told = goesOn ? tellEntry(params, begun) : begun
  const timesPending = params.defersTimes === true && goesOn && changesOnlyTimes(begun, told)
  const recorded = timesPending ? told : await record(params, begun, hint.model)
  const entry = before ? recorded : await fork(params, recorded)
  const groupResolution = resolveGroupSessionKey(ctx) ?? undefined
  const bodyStripped = bodyAfter(params, hint.cleanedBody)
  return {
    sessionCtx: {
      ...ctx,
      BodyStripped: bodyStripped,
      SessionKey: sessionKey,
      SessionId: entry.sessionId,
      IsNewSession: goesOn ? 'false' : 'true',
    },
    sessionEntry: entry,
    ...(goesOn || !before ? {} : { previousSessionEntry: before }),
    sessionStore: sessions,
    sessionKey,
    sessionId: entry.sessionId,
    isNewSession: !goesOn,
    resetTriggered: trigger !== undefined,
    ...(isStale && !trigger && freshness.because ? { staleBecause: freshness.because } : {}),
    systemSent: goesOn && entry.systemSent === true,
    abortedLastRun: goesOn && entry.abortedLastRun === true,
    storePath: params.storePath,
    sessionScope: cfg.session.scope,
    ...(groupResolution ? { groupResolution } : {}),
    isGroup: groupResolution !== undefined,
    ...(bodyStripped === undefined ? {} : { bodyStripped }),
    triggerBodyNormalized,
    ...(hint.model === undefined ? {} : { modelHint: hint.model }),
    timesPending,
  }
}

/** The seeds' BodyStripped: without the reset trigger and the model's name. */
function bodyAfter({ ctx, bodyForAgent }: InitParams, cleanedBody: string | undefined): string | undefined {
  return cleanedBody === undefined ? (ctx.BodyForAgent ?? ctx.Body) : bodyForAgent(cleanedBody)
}

/** The session may have been begun when its key was spelled otherwise. */
async function takeOverOlder(params: InitParams): Promise<SessionEntry | undefined> {
  const { parts, cfg, sessionKey } = params
  const { agentId } = parts.sessions
  const spelling = { agentId, mainKey: cfg.session.mainKey, isDefaultAgent: agentId === defaultAgentId(cfg) }
  const older = await findOlderSession(parts.sessions, sessionKey, spelling)
  if (!older) return undefined
  await params.beforeChange?.()
  return moveSession(parts, older.key, sessionKey)
}

/** The reset trigger that a text is or begins with, and what follows it. Upper and lower case alike. */
export function findResetTrigger(
  text: string,
  triggers: readonly string[],
  authorized: boolean,
): { trigger: string; rest: string } | undefined {
  if (!authorized) return undefined
  const lower = text.toLowerCase()
  for (const trigger of triggers) {
    const wanted = trigger.trim().toLowerCase()
    if (wanted === '' || !lower.startsWith(wanted)) continue
    const rest = text.slice(wanted.length)
    if (rest === '' || /^\s/.test(rest)) return { trigger, rest: rest.trim() }
  }
  return undefined
}

function reasonOf(trigger: string): ResetReason {
  return trigger.trim().toLowerCase() === '/new' ? 'new' : 'reset'
}

async function beginSession(
  params: InitParams,
  before: SessionEntry | undefined,
  reason: ResetReason,
): Promise<SessionEntry> {
  const { sessionKey, parts } = params
  if (before) return (await resetSession(parts, sessionKey, { reason })).session.entry
  return newEntry(parts.clock.now())
}

/** What the message tells about its session, and the session itself, on disk as one step. */
async function record(
  params: InitParams,
  begun: SessionEntry,
  model: string | undefined,
): Promise<SessionEntry> {
  const { sessionKey } = params
  const { sessions } = params.parts
  const stored = await sessions.update(sessionKey, (current) => {
    // Somebody else may have changed the row meanwhile; what he wrote counts, unless the session began anew.
    const base = current?.sessionId === begun.sessionId ? current : begun
    const told = tellEntry(params, base)
    return model === undefined ? told : { ...told, modelOverride: model, providerOverride: 'anthropic' }
  })
  return stored!
}

/** The entry with what the message says about it. */
function tellEntry(params: InitParams, entry: SessionEntry): SessionEntry {
  const { message, sessionKey, keepsRoute, parts } = params
  if (!message) return entry
  const now = parts.clock.now()
  if (!keepsRoute?.(entry)) return recordInbound(sessionKey, entry, message, now)
  const { chatType = message.chatType } = entry
  return { ...entry, chatType, lastInteractionAt: now, updatedAt: Math.max(entry.updatedAt, now) }
}

function changesOnlyTimes(before: SessionEntry, after: SessionEntry): boolean {
  const names = new Set([...Object.keys(before), ...Object.keys(after)])
  names.delete('lastInteractionAt')
  names.delete('updatedAt')
  return [...names].every(
    (name) => before[name] === after[name] || isDeepStrictEqual(before[name], after[name]),
  )
}

/** A thread's first message: the conversation around it comes along. */
async function fork(params: InitParams, entry: SessionEntry): Promise<SessionEntry> {
  const { parts, parentSessionKey: parentKey, sessionKey: key, cfg } = params
  if (parentKey === undefined) return entry
  const { parentForkMaxTokens } = cfg.session
  const thread = { key, agentId: parts.sessions.agentId, entry }
  return (await forkThread(parts, thread, { parentForkMaxTokens, parentKey })).entry
}
