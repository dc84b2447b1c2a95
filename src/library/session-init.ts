// The seeds' beginning of a reply: which session, a model asked for on reset, what the agent is told before the message,
// and a fork of a parent's transcript.
import { randomUUID } from 'node:crypto'
import { dirname, resolve } from 'node:path'
import { systemClock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { configSchema } from '../domain/config.ts'
import type { Message } from '../domain/message.ts'
import type { MsgContext, TemplateContext } from '../domain/msg-context.ts'
import { normalizeChatType } from '../domain/msg-context.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import { buildAgentMainSessionKey, globalSessionKey, resolveGroupSessionKey } from '../domain/session-key.ts'
import type { SessionEntry } from '../domain/session.ts'
import { bodyForAgent, finalizeInboundContext } from '../inbound/context.ts'
import { MAX_SYSTEM_EVENTS, prependSystemEvents as prepend } from '../inbound/system-events.ts'
import type { SystemEvent } from '../inbound/system-events.ts'
import { initSessionState as init } from '../sessions/init.ts'
import type { SessionInitResult as InitResult } from '../sessions/init.ts'
import { applyResetModelOverride as applyHint, buildModelAliasIndex } from '../sessions/reset-model.ts'
import type { ModelAliasIndex } from '../sessions/reset-model.ts'
import { FileTranscripts } from '../store/transcripts/transcript-file.ts'
import { transcriptFile } from '../store/transcripts/transcript-paths.ts'
import { resolveDefaultSessionStorePath, resolveStorePath } from './paths.ts'
import { loadSessionStore } from './session-store.ts'
import { sessionsAt } from './stores.ts'
import { emitSessionTranscriptUpdate } from './transcripts.ts'

export type SessionInitResult = Omit<InitResult, 'sessionStore'> & {
  sessionStore: Record<string, SessionEntry>
}

/** A configuration as it may stand in the file: everything that is left out has its default. */
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
    const found = await init({
      ctx,
      cfg,
      sessionKey,
      message: messageOf(ctx),
      ...(ctx.ParentSessionKey === undefined ? {} : { parentSessionKey: ctx.ParentSessionKey }),
      parts: { sessions, transcripts, clock: systemClock, events },
      storePath,
      bodyForAgent: (text) => bodyForAgent(ctx, text),
      aliasIndex: buildModelAliasIndex(cfg.agents),
    })
    return { ...found, sessionStore: loadSessionStore(storePath, { skipCache: true }) }
  } finally {
    await transcripts.close()
  }
}

export interface ResolvedSession {
  sessionKey: string
  sessionId: string
  sessionEntry: SessionEntry
  isNewSession: boolean
}

/** The session with a label, or undefined; or the session that a message belongs to, which begins if there is none. */
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

/** An explicit key as it is; a group by its own; everybody else the main session. */
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

function messageOf(ctx: MsgContext): Message {
  const channel = ctx.OriginatingChannel ?? ctx.Provider ?? ctx.Surface ?? 'unknown'
  const to = ctx.OriginatingTo ?? ctx.To ?? ctx.From ?? ''
  const accountId = ctx.AccountId ?? 'default'
  const thread = ctx.MessageThreadId === undefined ? {} : { threadId: String(ctx.MessageThreadId) }
  return {
    id: ctx.MessageSid ?? randomUUID(),
    event: 'message',
    address: { channel, to, accountId, ...thread },
    chatType: normalizeChatType(ctx.ChatType) ?? 'direct',
    sender: { id: ctx.SenderId ?? ctx.From ?? 'unknown', name: ctx.SenderName, username: ctx.SenderUsername },
    text: ctx.RawBody ?? ctx.Body ?? '',
    sentAt: ctx.Timestamp ?? systemClock.now(),
    mentioned: ctx.WasMentioned ?? true,
    media: [],
    group: { title: ctx.GroupSubject, channelName: ctx.GroupChannel, space: ctx.GroupSpace },
  }
}

/** Applies `/new <model> …`: the entry it is given is changed, and so is the body in its context. */
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
  const { sessionEntry, sessionStore, sessionKey, defaultModel } = params
  const aliasIndex = params.aliasIndex ?? buildModelAliasIndex(configSchema.parse(params.cfg ?? {}).agents)
  const { model, cleanedBody } = applyHint({ ...params, aliasIndex })
  if (model === undefined) return { cleanedBody }
  const isDefault = model === defaultModel
  if (sessionEntry) {
    Object.assign(sessionEntry, { modelOverride: model, providerOverride: 'anthropic' })
    if (sessionStore && sessionKey) sessionStore[sessionKey] = sessionEntry
  }
  return { selection: { provider: 'anthropic', model, isDefault }, cleanedBody }
}

// The seeds give these functions no place to keep what waits; so, like the opened stores, it is kept here.
const waiting = new Map<string, SystemEvent[]>()

/** Something that the agent is told before the next message of a session. */
export function enqueueSystemEvent(text: string, options: { sessionKey: string }): void {
  const events = waiting.get(options.sessionKey) ?? []
  if (text.trim() === '' || events.at(-1)?.text === text) return
  waiting.set(options.sessionKey, [...events, { text, at: systemClock.now() }].slice(-MAX_SYSTEM_EVENTS))
}

export function prependSystemEvents(params: {
  cfg?: WrittenConfig
  sessionKey: string
  isMainSession: boolean
  isNewSession: boolean
  prefixedBodyBase: string
  channelSummary?: readonly string[]
}): Promise<string> {
  const { cfg, ...rest } = params
  const { timeZone } = configSchema.parse(cfg ?? {})
  return prepend({
    ...rest,
    ...(timeZone === undefined ? {} : { timeZone }),
    drain: async (sessionKey) => {
      const events = waiting.get(sessionKey) ?? []
      waiting.delete(sessionKey)
      return events
    },
  })
}

/** A new transcript that holds what the parent's says so far; null when the parent has none. */
export async function forkSessionFromParent(params: {
  parentEntry: SessionEntry
  agentId?: string
  sessionsDir?: string
}): Promise<{ sessionId: string; sessionFile: string } | null> {
  const agentId = params.agentId ?? 'main'
  const dir = resolve(params.sessionsDir ?? dirname(resolveDefaultSessionStorePath(agentId)))
  const transcripts = new FileTranscripts({ agentId, dir })
  const { sessionId: parentId, sessionFile: file } = params.parentEntry
  const parent = { sessionId: parentId, ...(file ? { file } : {}) }
  if (!(await transcripts.exists(parent))) return null
  const sessionId = randomUUID()
  const forked = await transcripts.fork(parent, { sessionId })
  return { sessionId, sessionFile: transcriptFile(dir, agentId, forked) }
}
