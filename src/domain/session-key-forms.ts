// Reads session keys in every form that we or any OpenClaw write, and rewrites them in our form.
import type { ChatType } from './message.ts'
import {
  decodeId,
  encodeId,
  rewriteId,
  agentIdRule,
  normalizeMainKey,
  DEFAULT_ACCOUNT_ID,
} from './session-key.ts'

export interface ParsedAgentSessionKey {
  agentId: string
  rest: string
}

type SessionKeyKind =
  | 'main'
  | 'direct'
  | 'group'
  | 'channel'
  | 'subagent'
  | 'cron'
  | 'hook'
  | 'node'
  | 'acp'
  | 'dashboard'
  | 'explicit'
  | 'global'
  | 'unknown'

/** The parts of a key. Ids are as the platform writes them, unescaped. */
export interface SessionKeyForm {
  kind: SessionKeyKind
  agentId?: string
  channel?: string
  accountId?: string
  /** The person, the group, the job, the sub-agent. */
  id?: string
  threadId?: string
  threadKind?: 'thread' | 'topic'
  /** The nesting of sub-agents; 0 for a session that a person started. */
  depth: number
  /** Set if the key belongs to one run of a cron job. Lists leave out such rows. */
  runId?: string
  heartbeat: boolean
}

/** `agent:<agentId>:<rest>`, or null. Empty segments are dropped and letters lower-cased, as OpenClaw does. */
export function parseAgentSessionKey(sessionKey: string | null | undefined): ParsedAgentSessionKey | null {
  const parts = (sessionKey ?? '').trim().toLowerCase().split(':').filter(Boolean)
  if (parts.length < 3 || parts[0] !== 'agent') return null
  return { agentId: parts[1]!, rest: parts.slice(2).join(':') }
}

/** A turn asks about the same key several times, so the last answers are kept. */
const knownForms = new Map<string, Readonly<SessionKeyForm>>()
const maxKnownForms = 1_000

export function classifySessionKey(
  key: string,
  options: { mainKey?: string } = {},
): Readonly<SessionKeyForm> {
  if (options.mainKey !== undefined) return readForm(key, options.mainKey)
  let form = knownForms.get(key)
  if (form) return form
  if (knownForms.size >= maxKnownForms) knownForms.clear()
  form = readForm(key)
  knownForms.set(key, form)
  return form
}

function readForm(key: string, mainKey?: string): SessionKeyForm {
  const { agentId, rest } = splitAgent(key)
  const form = splitRest(rest, normalizeMainKey(mainKey))
  const { kind, channel, account, ids, thread, run, heartbeat } = form
  const decoded = (segment: string | undefined) => (segment === undefined ? undefined : decodeId(segment))
  return {
    kind,
    agentId,
    channel: decoded(channel?.toLowerCase()),
    accountId: decoded(account),
    id: decoded(ids.at(-1)),
    threadId: decoded(thread?.id),
    threadKind: thread?.kind,
    depth: kind === 'subagent' ? ids.length : 0,
    runId: decoded(run),
    heartbeat,
  }
}

/** The key as we write it. Older forms (`:dm:`, bare `main`, `group:<id>`, capital letters) become current ones. */
export function canonicalSessionKey(key: string, options: { agentId: string; mainKey?: string }): string {
  const trimmed = key.trim()
  if (/^(global|unknown)$/i.test(trimmed)) return trimmed.toLowerCase()
  const { agentId = options.agentId, rest } = splitAgent(trimmed)
  if (!agentIdRule.test(agentId)) return trimmed
  const mainKey = normalizeMainKey(options.mainKey)
  const form = splitRest(rest, mainKey)
  const thread = form.thread === undefined ? '' : `:${form.thread.kind}:${rewriteId(form.thread.id)}`
  return `agent:${agentId}:${writeBase(form, mainKey)}${thread}${form.heartbeat ? ':heartbeat' : ''}`
}

/** The key as people read it, with the characters that its percent codes stand for. Commands accept this spelling too; a key that
 *  they would read as another one stays as it is. */
export function readableKey(key: string): string {
  const readable = key.split(':').map(decodeId).join(':')
  const isSame = !/[\s\p{C}]/u.test(readable) && canonicalSessionKey(readable, { agentId: '' }) === key
  return isSame ? readable : key
}

export interface KeySpelling {
  agentId: string
  mainKey?: string
  /** Keys without an agent belong to the default agent. */
  isDefaultAgent: boolean
}

/** The keys under which older programs may have stored the session that has this key now. */
export function olderSessionKeys(key: string, spelling: KeySpelling): string[] {
  const { agentId, rest } = splitAgent(key)
  if (agentId !== spelling.agentId) return []
  const decoded = rest.map(decodeId).join(':')
  const rests = [rest.join(':'), decoded, decoded.toLowerCase()].flatMap((text) => [
    text,
    text.replace(/(^|:)direct:/, '$1dm:'),
    text.replace(/^direct:/, ''),
    text.replace(/^whatsapp:group:/, 'group:'),
  ])
  const keys = [...rests, 'main'].flatMap((text) => [
    `agent:${agentId}:${text}`,
    ...(spelling.isDefaultAgent ? [text] : []),
  ])
  // Only spellings that are read as this same session.
  return [...new Set(keys)].filter((older) => older !== key && canonicalSessionKey(older, spelling) === key)
}

/** The key of the chat that a thread belongs to: everything before the last `:thread:` or `:topic:`. */
export function parentOfThreadKey(key: string): string | undefined {
  const at = Math.max(key.lastIndexOf(':thread:'), key.lastIndexOf(':topic:'))
  return at > 0 ? key.slice(0, at) : undefined
}

export function isThreadSessionKey(key: string): boolean {
  return parentOfThreadKey(key) !== undefined
}

/** 0 for a session that a person started. */
export function subagentDepth(key: string): number {
  return key.split(':').filter((part) => part === 'subagent').length
}

export function isSubagentSessionKey(key: string): boolean {
  return classifySessionKey(key).kind === 'subagent'
}

export function isCronRunSessionKey(key: string): boolean {
  return /cron/i.test(key) && classifySessionKey(key).runId !== undefined
}

/** The chat type that the key names, if it names one. */
export function chatTypeOfKey(key: string): ChatType | undefined {
  const { kind } = classifySessionKey(key)
  return kind === 'direct' || kind === 'group' || kind === 'channel' ? kind : undefined
}

/** The person of a private chat whose key this is. Without a channel the same id may be a person on any platform. Undefined if the
 *  key names no person; `agent:<id>:<word>`, an older form, may be the name of any session. */
export function personOfKey(
  key: string,
): { channel?: string; accountId: string; senderId: string } | undefined {
  const { kind, channel, accountId = DEFAULT_ACCOUNT_ID, id } = classifySessionKey(key)
  if (kind !== 'direct' || id === undefined || !/(?:^|:)(?:direct|dm):/i.test(key)) return undefined
  return { channel, accountId, senderId: id }
}

/** The parts of a key; ids are still escaped. */
interface KeyParts {
  kind: SessionKeyKind
  channel?: string
  account?: string
  /** One for most forms, one for each level of sub-agents, none for `main`. */
  ids: string[]
  run?: string
}
type RestParts = KeyParts & { thread?: { kind: 'thread' | 'topic'; id: string }; heartbeat: boolean }

function splitAgent(key: string): { agentId?: string; rest: string[] } {
  const parts = key.trim().split(':').filter(Boolean)
  if (parts.length < 3 || parts[0]!.toLowerCase() !== 'agent') return { rest: parts }
  return { agentId: parts[1]!.toLowerCase(), rest: parts.slice(2) }
}

function splitRest(all: string[], mainKey: string): RestParts {
  const last = all.at(-1)?.toLowerCase()
  const heartbeat = last === 'heartbeat' && all.length > 1
  const parts = heartbeat ? all.slice(0, -1) : all
  for (let at = parts.length - 2; at > 0; at--) {
    const kind = parts[at]!.toLowerCase()
    if (kind !== 'thread' && kind !== 'topic') continue
    const thread = { kind, id: parts.slice(at + 1).join(':') } as const
    return { ...splitBase(parts.slice(0, at), mainKey), thread, heartbeat }
  }
  return { ...splitBase(parts, mainKey), heartbeat }
}

/** Kinds whose key is `<kind>:<id>`. */
const plainKinds = ['hook', 'node', 'acp', 'dashboard', 'explicit'] as const

function splitBase(parts: string[], mainKey: string): KeyParts {
  const first = parts[0]?.toLowerCase() ?? ''
  if (parts.length < 2) return splitSingle(parts[0] ?? 'unknown', mainKey)
  if (first === 'subagent') return { kind: 'subagent', ids: splitSubagents(parts) }
  if (first === 'cron') return splitCron(parts)
  const plain = plainKinds.find((kind) => kind === first)
  if (plain) return { kind: plain, ids: [parts.slice(1).join(':')] }
  const isKind = (part: string): boolean => /^(direct|dm|group|channel)$/i.test(part)
  const at = parts.findIndex((part, index) => index < Math.min(3, parts.length - 1) && isKind(part))
  if (at >= 0) return splitPeer(parts, at)
  // An older form of groups: `discord:<account>:guild-<g>:channel-<c>`.
  const oldChannel = first === 'discord' ? parts.find((part) => /^channel-/i.test(part)) : undefined
  if (oldChannel) return { kind: 'channel', channel: 'discord', ids: [oldChannel.slice('channel-'.length)] }
  return { kind: 'unknown', ids: [parts.join(':')] }
}

function splitSingle(part: string, mainKey: string): KeyParts {
  const word = part.toLowerCase()
  if (word === 'global' || word === 'unknown') return { kind: word, ids: [] }
  if (word === 'main' || word === mainKey) return { kind: 'main', ids: [] }
  if (word.startsWith('node-')) return { kind: 'node', ids: [part.slice('node-'.length)] }
  // An older form: `agent:<id>:<peer>`.
  return { kind: 'direct', ids: [part] }
}

function splitSubagents(parts: string[]): string[] {
  const ids: string[] = []
  for (const part of parts) {
    if (part.toLowerCase() === 'subagent') ids.push('')
    else ids.push([ids.pop(), part].filter(Boolean).join(':'))
  }
  return ids.filter(Boolean)
}

function splitCron(parts: string[]): KeyParts {
  const at = parts.findIndex((part, index) => index > 1 && part.toLowerCase() === 'run')
  if (at < 0) return { kind: 'cron', ids: [parts.slice(1).join(':')] }
  return { kind: 'cron', ids: [parts.slice(1, at).join(':')], run: parts.slice(at + 1).join(':') }
}

function splitPeer(parts: string[], at: number): KeyParts {
  const word = parts[at]!.toLowerCase()
  const kind = word === 'dm' ? 'direct' : (word as 'direct' | 'group' | 'channel')
  const id = parts.slice(at + 1).join(':')
  if (at === 2) return { kind, channel: parts[0], account: parts[1], ids: [id] }
  if (at === 1) return { kind, channel: parts[0], ids: [id] }
  const channel = /@g\.us$/i.test(id) ? 'whatsapp' : kind === 'direct' ? undefined : 'unknown'
  return { kind, channel, ids: [id] }
}

function writeBase(form: KeyParts, mainKey: string): string {
  const { kind, channel, account, ids } = form
  const platform = channel === undefined ? undefined : decodeId(channel.toLowerCase())
  const id = ids.length === 0 ? '' : rewriteId(ids.at(-1)!, platform)
  const name = (segment: string | undefined): string => (segment ? `${encodeId(segment)}:` : '')
  switch (kind) {
    case 'main':
      return mainKey
    case 'global':
      return 'global'
    case 'subagent':
      return ids.map((one) => `subagent:${rewriteId(one)}`).join(':')
    case 'cron':
      return `cron:${id}${form.run === undefined ? '' : `:run:${rewriteId(form.run)}`}`
    case 'unknown': {
      const segments = ids.flatMap((one) => one.split(':'))
      return segments.map((one) => rewriteId(one)).join(':') || 'unknown'
    }
    case 'direct':
    case 'group':
    case 'channel':
      return `${name(platform)}${name(account && decodeId(account))}${kind}:${id}`
    default:
      return `${kind}:${id}`
  }
}
