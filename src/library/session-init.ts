// Library functions for the first steps of a reply: find the session, apply the model of a reset, put events before the message,
// fork a parent's transcript.
import { randomUUID } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { skillSnapshot } from '../agent/skills.ts'
import type { SkillSnapshotAnswer, SkillSnapshotQuestion } from '../agent/skills.ts'
import { systemClock } from '../domain/clock.ts'
import { configSchema, type Config } from '../domain/config.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import { buildAgentMainSessionKey, globalSessionKey } from '../domain/session-key.ts'
import type { SessionEntry } from '../domain/session.ts'
import { textForAgent } from '../inbound/message-text.ts'
import { MAX_SYSTEM_EVENTS, withSystemLines, type SystemEvent } from '../inbound/prompt-context.ts'
import { findSession, type FoundSession } from '../sessions/find-session.ts'
import { buildModelAliasIndex, takeModelName, type ModelAliasIndex } from '../sessions/model-names.ts'
import { FileTranscripts } from '../store/transcripts/transcript-file.ts'
import { transcriptFile } from '../store/transcripts/transcript-paths.ts'
import { finalizeInboundContext, messageOf, resolveGroupSessionKey } from './openclaw-context.ts'
import type { FinalizedContext, GroupKeyResolution, MsgContext, TemplateContext } from './openclaw-context.ts'
import { resolveDefaultSessionStorePath, resolveStorePath } from './paths.ts'
import { loadSessionStore } from './session-store.ts'
import { sessionsAt } from './stores.ts'
import { emitSessionTranscriptUpdate } from './transcripts.ts'

export type SessionScope = Config['session']['scope']

export interface SessionInitResult {
  /** The message's context with what is known of its session. */
  sessionCtx: TemplateContext
  sessionEntry: SessionEntry
  /** The entry before the session was reset. */
  previousSessionEntry?: SessionEntry
  sessionStore: Record<string, SessionEntry>
  sessionKey: string
  sessionId: string
  isNewSession: boolean
  resetTriggered: boolean
  /** Why the session was reset without a command. */
  staleBecause?: 'daily' | 'idle'
  systemSent: boolean
  abortedLastRun: boolean
  storePath: string
  sessionScope: SessionScope
  groupResolution?: GroupKeyResolution
  isGroup: boolean
  /** The text after the reset command and the model's name. */
  bodyStripped?: string
  /** The text in which commands were looked for. */
  triggerBodyNormalized: string
  /** The model that the reset command named. */
  modelHint?: string
  /** Always false here: everything is stored. */
  timesPending: boolean
}

/** A configuration as in the file; omitted settings have their defaults. */
type WrittenConfig = Parameters<typeof configSchema.parse>[0]

export async function initSessionState(params: {
  ctx: MsgContext
  cfg?: WrittenConfig
  commandAuthorized?: boolean
  storePath?: string
}): Promise<SessionInitResult> {
  const cfg = configSchema.parse(params.cfg ?? {})
  const authorized = params.commandAuthorized ?? params.ctx.CommandAuthorized === true
  const ctx = finalizeInboundContext({ ...params.ctx, CommandAuthorized: authorized })
  const sessionKey = sessionKeyFor(ctx, cfg)
  const agentId = parseAgentSessionKey(sessionKey)?.agentId ?? 'main'
  const storePath = resolve(params.storePath ?? resolveStorePath(cfg.session.store, { agentId }))
  const sessions = sessionsAt(storePath, agentId)
  const transcripts = new FileTranscripts({ agentId, dir: dirname(storePath) })
  const events = {
    emit: (event: { type: string; file?: string }) =>
      event.file ? emitSessionTranscriptUpdate(event.file) : undefined,
  }
  try {
    const found = await findSession({
      key: sessionKey,
      commandText: ctx.CommandAuthorized ? ctx.BodyForCommands : '',
      message: messageOf(ctx),
      parentKey: ctx.ParentSessionKey,
      config: cfg,
      parts: { sessions, transcripts, clock: systemClock, events },
    })
    const sessionStore = loadSessionStore(storePath, { skipCache: true })
    return { ...resultOf(found, ctx), sessionStore, storePath, sessionScope: cfg.session.scope }
  } finally {
    await transcripts.close()
  }
}

function resultOf(
  { session, isNew, reset, previous, timesPending }: FoundSession,
  ctx: FinalizedContext,
): Omit<SessionInitResult, 'storePath' | 'sessionScope' | 'sessionStore'> {
  const { key, entry } = session
  const asked = reset && 'text' in reset ? reset : undefined
  const bodyStripped = asked ? textForAgent(asked.text, messageOf(ctx)) : ctx.BodyForAgent
  const group = resolveGroupSessionKey(ctx) ?? undefined
  return {
    sessionCtx: {
      ...ctx,
      BodyStripped: bodyStripped,
      SessionKey: key,
      SessionId: entry.sessionId,
      IsNewSession: isNew ? 'true' : 'false',
    },
    sessionEntry: entry,
    previousSessionEntry: previous,
    sessionKey: key,
    sessionId: entry.sessionId,
    isNewSession: isNew,
    resetTriggered: asked !== undefined,
    staleBecause: reset?.why === 'daily' || reset?.why === 'idle' ? reset.why : undefined,
    systemSent: !isNew && entry.systemSent === true,
    abortedLastRun: !isNew && entry.abortedLastRun === true,
    groupResolution: group,
    isGroup: group !== undefined,
    bodyStripped,
    triggerBodyNormalized: ctx.BodyForCommands,
    modelHint: asked?.model,
    timesPending,
  }
}

export interface ResolvedSession {
  sessionKey: string
  sessionId: string
  sessionEntry: SessionEntry
  isNewSession: boolean
}

/** The session with a label, or undefined; or the session of a message, which is started if there is none. */
export async function resolveSession(
  params: { label: string; agentId?: string; storePath?: string } | Parameters<typeof initSessionState>[0],
): Promise<ResolvedSession | undefined> {
  if ('ctx' in params) return initSessionState(params)
  const storePath = resolve(params.storePath ?? resolveDefaultSessionStorePath(params.agentId))
  const entries = Object.entries(loadSessionStore(storePath, { skipCache: true }))
  const [sessionKey, sessionEntry] = entries.find(([, { label }]) => label === params.label.trim()) ?? []
  if (sessionKey === undefined || !sessionEntry) return undefined
  return { sessionKey, sessionEntry, sessionId: sessionEntry.sessionId, isNewSession: false }
}

/** An explicit key as it is; a group's own key; otherwise the main session. */
function sessionKeyFor(ctx: MsgContext, cfg: Config): string {
  const explicit = ctx.SessionKey?.trim()
  if (explicit) return explicit
  if (cfg.session.scope === 'global') return globalSessionKey
  const agentId = ctx.AgentId ?? 'main'
  const group = resolveGroupSessionKey(ctx)
  return group
    ? `agent:${agentId}:${group.key}`
    : buildAgentMainSessionKey({ agentId, mainKey: cfg.session.mainKey })
}

/** Applies `/new <model> …` to the given entry and to the body in the given context. */
export async function applyResetModelOverride(params: {
  cfg?: WrittenConfig
  resetTriggered: boolean
  bodyStripped?: string
  sessionCtx?: TemplateContext
  sessionEntry?: SessionEntry
  sessionStore?: Record<string, SessionEntry>
  sessionKey?: string
  defaultProvider?: string
  defaultModel?: string
  aliasIndex?: ModelAliasIndex
}): Promise<{ selection?: { provider: string; model: string; isDefault: boolean }; cleanedBody?: string }> {
  const { sessionCtx, sessionEntry, sessionStore, sessionKey, defaultModel, bodyStripped } = params
  const aliasIndex = params.aliasIndex ?? buildModelAliasIndex(configSchema.parse(params.cfg ?? {}).agents)
  const body = params.resetTriggered ? (bodyStripped ?? '') : ''
  const { model, rest: cleanedBody } = takeModelName(body, aliasIndex)
  if (model === undefined) return { cleanedBody: bodyStripped }
  if (sessionCtx) sessionCtx.BodyStripped = cleanedBody
  const isDefault = model === defaultModel
  if (sessionEntry) {
    Object.assign(sessionEntry, { modelOverride: model, providerOverride: 'anthropic' })
    if (sessionStore && sessionKey) sessionStore[sessionKey] = sessionEntry
  }
  return { selection: { provider: 'anthropic', model, isDefault }, cleanedBody }
}

// Callers pass in no object that could keep waiting events, so they are at module level, like the open stores.
const waiting = new Map<string, SystemEvent[]>()

/** Adds an event that the agent reads before the next message of a session. */
export function enqueueSystemEvent(text: string, options: { sessionKey: string }): void {
  const events = waiting.get(options.sessionKey) ?? []
  if (text.trim() === '' || events.at(-1)?.text === text) return
  waiting.set(options.sessionKey, [...events, { text, at: systemClock.now() }].slice(-MAX_SYSTEM_EVENTS))
}

/** Puts the waiting events of a session before the text, once. A new main session also gets the summary of channels. */
export async function prependSystemEvents(params: {
  cfg?: WrittenConfig
  sessionKey: string
  isMainSession: boolean
  isNewSession: boolean
  prefixedBodyBase: string
  channelSummary?: readonly string[]
}): Promise<string> {
  const { sessionKey, isMainSession, isNewSession, prefixedBodyBase, channelSummary = [] } = params
  const { timeZone } = configSchema.parse(params.cfg ?? {})
  const events = waiting.get(sessionKey) ?? []
  waiting.delete(sessionKey)
  const summary = isMainSession && isNewSession ? channelSummary : []
  return withSystemLines(prefixedBodyBase, summary, events, timeZone)
}

/** A new transcript with the parent's conversation; null if the parent has none. */
export async function forkSessionFromParent(params: {
  parentEntry: SessionEntry
  agentId?: string
  sessionsDir?: string
}): Promise<{ sessionId: string; sessionFile: string } | null> {
  const agentId = params.agentId ?? 'main'
  const dir = resolve(params.sessionsDir ?? dirname(resolveDefaultSessionStorePath(agentId)))
  const transcripts = new FileTranscripts({ agentId, dir })
  const { sessionId: parentId, sessionFile: file } = params.parentEntry
  const parent = { sessionId: parentId, file: file || undefined }
  if (!(await transcripts.exists(parent))) return null
  const sessionId = randomUUID()
  const forked = await transcripts.fork(parent, { sessionId })
  return { sessionId, sessionFile: transcriptFile(dir, agentId, forked) }
}

/** A promise, as OpenClaw's function of this name returns one. */
export async function ensureSkillSnapshot(question: SkillSnapshotQuestion): Promise<SkillSnapshotAnswer> {
  return skillSnapshot(question)
}
