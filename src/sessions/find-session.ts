// Finds the session of a message. The session continues, starts, starts again (a person asked for it, or the session is
// stale), or starts as a fork of the chat that a thread belongs to.
import { isDeepStrictEqual } from 'node:util'
import type { Config } from '../domain/config.ts'
import type { Message } from '../domain/message.ts'
import { olderSessionKeys, isThreadSessionKey, type KeySpelling } from '../domain/session-key-forms.ts'
import { defaultAgentId } from '../domain/session-key.ts'
import { groupDisplayName } from '../domain/session.ts'
import type { Session, SessionEntry, DeliveryContext, SessionOrigin } from '../domain/session.ts'
import type { SessionStore } from '../store/session-store.ts'
import { forkThread } from './fork.ts'
import { isFresh } from './freshness.ts'
import { resetSession } from './lifecycle.ts'
import { buildModelAliasIndex, takeModelName } from './model-names.ts'
import { emitChange, newEntry, type SessionParts } from './session-parts.ts'

export interface FoundSession {
  session: Session
  /** No turn has run in this conversation yet. */
  isNew: boolean
  /** Why the conversation starts again. */
  reset?: SessionReset
  /** The entry before the reset. */
  previous?: SessionEntry
  /** Set if only times have changed. They are not stored yet; the caller stores them with the turn's result. */
  timesPending: boolean
  /** The entry as the store returned it. */
  stored?: SessionEntry
}

type SessionReset =
  /** A person asked for it. `text` is what follows the reset command and the model's name. */
  { why: 'new' | 'reset'; text: string; model?: string } | { why: 'daily' | 'idle' }

interface FindParams {
  key: string
  /** The text that may contain a reset command; empty if the sender may not reset. */
  commandText: string
  /** The session of the chat that this thread belongs to. */
  parentKey?: string
  /** Absent for a turn that the program starts: the session does not become fresher. */
  message?: Message
  /** True if replies keep going where the session's entry says, and not to the address of this message. */
  keepsRoute?: (entry: SessionEntry) => boolean
  /** The caller stores the session when its turn ends; a change of times alone may wait until then. */
  defersTimes?: boolean
  /** True if a lost turn of this message was in this conversation: a reset that the message asks for is done, and the conversation
   *  does not become stale before the message is answered. */
  hasBegunIn?: (entry: SessionEntry) => Promise<boolean>
  /** Called before a session is started or reset; throws if the turn belongs to another process. */
  beforeChange?: () => Promise<void>
  config: Config
  parts: SessionParts
}

export async function findSession(params: FindParams): Promise<FoundSession> {
  const { key, parts } = params
  const before = (await parts.sessions.get(key)) ?? (await takeOverOlder(params))
  const requested = requestedReset(params)
  const wanted = requested ?? staleReset(params, before)
  const hasBegun =
    wanted !== undefined && before !== undefined && (await params.hasBegunIn?.(before)) === true
  const reset = hasBegun ? requested : wanted
  const continues = before !== undefined && (reset === undefined || hasBegun)
  if (!continues) await params.beforeChange?.()
  const current = continues ? before : await startSession(params, before, reset)
  const changes = continues ? changesBy(params, current) : {}
  const timesPending = params.defersTimes === true && continues && areOnlyTimes(changes, current)
  const entry = timesPending ? { ...current, ...changes } : await store(params, current, reset)
  const session = { key, agentId: parts.sessions.agentId, entry }
  return {
    session: before ? session : await forkFromParent(params, session),
    isNew: !continues,
    reset,
    previous: continues ? undefined : before,
    timesPending,
    stored: before,
  }
}

/** The session may be stored under an older spelling of its key. */
async function takeOverOlder(params: FindParams): Promise<SessionEntry | undefined> {
  const { parts, config, key } = params
  const { agentId } = parts.sessions
  const isDefaultAgent = agentId === defaultAgentId(config)
  const spelling = { agentId, mainKey: config.session.mainKey, isDefaultAgent }
  const older = await findOlderSession(parts.sessions, key, spelling)
  if (!older) return undefined
  await params.beforeChange?.()
  return moveSession(parts, older.key, key)
}

/** The reset command that the text is or starts with, in upper or lower case. */
function requestedReset({ commandText, config }: FindParams): SessionReset | undefined {
  const lower = commandText.toLowerCase()
  for (const command of config.session.resetTriggers) {
    const wanted = command.trim().toLowerCase()
    const rest = commandText.slice(wanted.length)
    if (wanted === '' || !lower.startsWith(wanted) || /^\S/.test(rest)) continue
    const { model, rest: text } = takeModelName(rest.trim(), buildModelAliasIndex(config.agents))
    return { why: wanted === '/new' ? 'new' : 'reset', text, model }
  }
  return undefined
}

function staleReset(params: FindParams, entry: SessionEntry | undefined): SessionReset | undefined {
  if (!entry || !params.message) return undefined
  const { session, timeZone } = params.config
  const { because } = isFresh(params.key, entry, { now: params.parts.clock.now(), session, timeZone })
  return because && { why: because }
}

async function startSession(
  { key, parts }: FindParams,
  before: SessionEntry | undefined,
  reset: SessionReset | undefined,
): Promise<SessionEntry> {
  if (!before) return newEntry(parts.clock.now())
  return (await resetSession(parts, key, { reason: reset?.why })).session.entry
}

/** Stores the session, with what the message says about it, in one step. */
async function store(
  params: FindParams,
  current: SessionEntry,
  reset: SessionReset | undefined,
): Promise<SessionEntry> {
  const model = reset && 'model' in reset ? reset.model : undefined
  const stored = await params.parts.sessions.update(params.key, (latest) => {
    // Keep what others have written since, unless the session was reset.
    const entry = latest?.sessionId === current.sessionId ? latest : current
    const updated = { ...entry, ...changesBy(params, entry) }
    return model === undefined ? updated : { ...updated, modelOverride: model, providerOverride: 'anthropic' }
  })
  return stored!
}

/** What the message says about the session: the fields of the entry that it sets. */
function changesBy({ message, key, keepsRoute, parts }: FindParams, entry: SessionEntry): InboundChanges {
  if (!message) return {}
  const now = parts.clock.now()
  if (!keepsRoute?.(entry)) return inboundChanges(key, entry, message, now)
  const { chatType = message.chatType } = entry
  return { chatType, ...timesAt(entry, now) }
}

function areOnlyTimes(changes: InboundChanges, entry: SessionEntry): boolean {
  for (const name in changes) {
    if (name === 'lastInteractionAt' || name === 'updatedAt') continue
    if (changes[name] !== entry[name] && !isDeepStrictEqual(changes[name], entry[name])) return false
  }
  return true
}

/** The first message of a thread: its session starts with the conversation of the chat. */
async function forkFromParent({ parts, parentKey, config }: FindParams, thread: Session): Promise<Session> {
  if (parentKey === undefined) return thread
  return forkThread(parts, thread, { parentForkMaxTokens: config.session.parentForkMaxTokens, parentKey })
}

/** The session under an older spelling of its key (`…:dm:42`, bare `main`, `agent:<id>:<peer>`), if there is one. The next
 *  message moves it to the current key. */
export async function findOlderSession(
  sessions: SessionStore,
  key: string,
  spelling: KeySpelling,
): Promise<Session | undefined> {
  for (const older of olderSessionKeys(key, spelling)) {
    const entry = await sessions.peek(older)
    if (entry) return { key: older, agentId: sessions.agentId, entry }
  }
  return undefined
}

async function moveSession(
  parts: SessionParts,
  older: string,
  key: string,
): Promise<SessionEntry | undefined> {
  const { sessions, events } = parts
  const entry = await sessions.move(older, key)
  if (!entry) return undefined
  events.emit({ type: 'session-deleted', agentId: sessions.agentId, key: older })
  emitChange(parts, key, 'key')
  return entry
}

/** Undefined for a field that the message removes. */
type InboundChanges = Partial<SessionEntry>

/** Who writes and where, and where the next reply goes. */
export function inboundChanges(
  key: string,
  entry: SessionEntry,
  message: Message,
  now: number,
): InboundChanges {
  const route = routeOf(key, message)
  return {
    ...groupOf(message),
    deliveryContext: route,
    lastChannel: route.channel,
    lastTo: route.to,
    lastAccountId: route.accountId,
    lastThreadId: route.threadId,
    channel: entry.channel ?? message.address.channel,
    chatType: entry.chatType ?? message.chatType,
    origin: { ...entry.origin, ...originOf(message) },
    // Rows of older versions have no start time. Store one: a reset must not depend on `updatedAt`, which changes.
    sessionStartedAt: entry.sessionStartedAt ?? entry.updatedAt,
    ...timesAt(entry, now),
  }
}

function timesAt({ updatedAt }: SessionEntry, now: number): InboundChanges {
  return { lastInteractionAt: now, updatedAt: Math.max(updatedAt, now) }
}

/** Only a thread's own session replies into the thread; other sessions do not inherit a thread that was used before. */
function routeOf(key: string, { address }: Message): DeliveryContext {
  const { channel, to, accountId, threadId } = address
  const isInThread = threadId !== undefined && isThreadSessionKey(key)
  return { channel, to, accountId, ...(isInThread ? { threadId } : {}) }
}

function originOf(message: Message): SessionOrigin {
  const { address, chatType, sender } = message
  const isDirect = chatType === 'direct'
  const label = isDirect ? personLabel(message) : (message.group?.channelName ?? message.group?.title)
  return {
    ...(label ? { label } : {}),
    provider: address.channel,
    surface: address.channel,
    chatType,
    from: isDirect ? `${address.channel}:${sender.id}` : `${address.channel}:${chatType}:${address.to}`,
    to: address.to,
    accountId: address.accountId,
    ...(address.threadId === undefined ? {} : { threadId: address.threadId }),
  }
}

function personLabel({ sender }: Message): string {
  const name = sender.name ?? sender.username
  return name ? `${name} (${sender.id})` : sender.id
}

function groupOf({ chatType, address, group = {} }: Message): Partial<SessionEntry> {
  if (chatType === 'direct') return {}
  const { title: subject, channelName: groupChannel, space } = group
  const displayName = groupDisplayName(address.channel, { subject, groupChannel, space }, address.to)
  return {
    groupId: address.to,
    ...(subject ? { subject } : {}),
    ...(groupChannel ? { groupChannel } : {}),
    ...(space ? { space } : {}),
    displayName,
  }
}
