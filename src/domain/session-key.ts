// Session keys: who speaks, and where. `agent:<agentId>:<rest>`, in OpenClaw's forms. Identities that the configured
// scope keeps apart never share a key, whatever characters their ids contain; domain/key-segment.ts sees to that.
import type { Address } from './address.ts'
import type { SessionConfig } from './config/session-settings.ts'
import { RockpoolError } from './errors.ts'
import { encodeId, setApart } from './key-segment.ts'
import type { ChatType } from './message.ts'

export type DmScope = SessionConfig['dmScope']
export type IdentityLinks = SessionConfig['identityLinks']

export const agentIdRule = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** What a key, a row or a configuration means that says nothing else. */
export const DEFAULT_AGENT_ID = 'main'
export const DEFAULT_MAIN_KEY = 'main'
export const DEFAULT_ACCOUNT_ID = 'default'

/** The agent used when no agent is named: the one marked as default, else the first. Here and not beside the schema, so
 *  that small commands need not load the schema. */
export function defaultAgentId(config: {
  agents: { list: ReadonlyArray<{ id: string; default?: boolean }> }
}): string {
  const { list } = config.agents
  return (list.find((agent) => agent.default) ?? list[0])?.id ?? DEFAULT_AGENT_ID
}

/** One session for everybody: `session.scope: "global"`. */
export const globalSessionKey = 'global'

export interface PeerKeyParams {
  agentId?: string
  mainKey?: string
  channel?: string
  accountId?: string | null
  /** `dm` is the older word for `direct`. */
  peerKind?: 'dm' | 'direct' | 'group' | 'channel'
  peerId?: string | null
  dmScope?: DmScope
  identityLinks?: IdentityLinks
}

/**
 * The key of the session that a message from this address belongs to. Somebody whom `identityLinks` names has one
 * session on all platforms, unless all direct chats are one anyway.
 */
export function sessionKeyOf(
  message: { address: Address; chatType: ChatType; sender: { id: string } },
  agentId: string,
  session: Pick<SessionConfig, 'scope' | 'dmScope' | 'mainKey' | 'identityLinks'>,
): string {
  if (session.scope === 'global') return globalSessionKey
  const { channel, accountId, to, threadId } = message.address
  const direct = message.chatType === 'direct'
  const isLinked = direct && nameOf(message.sender.id, channel, session.identityLinks) !== undefined
  const base = buildAgentPeerSessionKey({
    ...session,
    ...(isLinked && session.dmScope !== 'main' ? { dmScope: 'per-peer' } : {}),
    agentId,
    channel,
    accountId,
    peerKind: message.chatType,
    peerId: direct ? message.sender.id : to,
  })
  if (threadId === undefined || threadId === '') return base
  return buildThreadSessionKey(base, threadId, channel === 'telegram' && !direct ? 'topic' : 'thread')
}

export function buildAgentMainSessionKey(params: { agentId?: string; mainKey?: string } = {}): string {
  return `agent:${normalizeAgentId(params.agentId)}:${normalizeMainKey(params.mainKey)}`
}

export function buildAgentPeerSessionKey(params: PeerKeyParams): string {
  const kind = params.peerKind === 'dm' ? 'direct' : (params.peerKind ?? 'direct')
  if (kind === 'direct') return buildDirectKey(params)
  const channel = normalizeChannel(params.channel)
  const id = encodeId(requirePeerId(params, kind), channel)
  return `agent:${normalizeAgentId(params.agentId)}:${encodeId(channel)}:${kind}:${id}`
}

/** A thread inside a chat. Telegram calls it a topic. */
export function buildThreadSessionKey(
  base: string,
  threadId: string | number,
  kind: 'thread' | 'topic' = 'thread',
): string {
  const id = String(threadId)
  if (id.trim() === '') throw emptyId('thread', base)
  return `${base}:${kind}:${encodeId(id)}`
}

/** A sub-agent of an agent, or of another sub-agent: then its key contains its parent's. */
export function buildSubagentSessionKey(params: {
  agentId?: string
  parentKey?: string
  id: string
}): string {
  if (params.id.trim() === '') throw emptyId('sub-agent', params.parentKey ?? '')
  const nested = params.parentKey?.split(':')[2] === 'subagent'
  const base = nested ? params.parentKey : `agent:${normalizeAgentId(params.agentId)}`
  return `${base}:subagent:${encodeId(params.id)}`
}

/** Sessions that no chat began: a cron job (and one run of it), a hook, a node, an editor over ACP. */
export function buildInternalSessionKey(params: {
  agentId?: string
  kind: 'cron' | 'hook' | 'node' | 'acp'
  id: string
  runId?: string
}): string {
  if (params.id.trim() === '') throw emptyId(params.kind, '')
  const run = params.runId === undefined ? '' : `:run:${encodeId(params.runId)}`
  return `agent:${normalizeAgentId(params.agentId)}:${params.kind}:${encodeId(params.id)}${run}`
}

export function normalizeAgentId(agentId: string | undefined): string {
  const id = (agentId ?? '').trim().toLowerCase() || DEFAULT_AGENT_ID
  if (agentIdRule.test(id)) return id
  throw new RockpoolError('input-invalid', `${JSON.stringify(agentId)} is not an agent id.`, {
    hint: 'Use a-z, 0-9, - and _, at most 64 characters, beginning with a letter or digit.',
  })
}

export function normalizeMainKey(mainKey: string | undefined): string {
  return encodeId((mainKey ?? '').trim().toLowerCase() || DEFAULT_MAIN_KEY)
}

export const knownPlatforms = new Set(
  (
    'telegram discord whatsapp web webchat console slack signal imessage matrix irc msteams googlechat ' +
    'mattermost line zalo nostr feishu'
  ).split(' '),
)

function buildDirectKey(params: PeerKeyParams): string {
  const scope = params.dmScope ?? 'per-channel-peer'
  // With one session for all direct chats no sender id is needed; an empty id is still an error.
  if (scope === 'main' && (params.peerId === undefined || params.peerId === null)) {
    return buildAgentMainSessionKey(params)
  }
  const peerId = requirePeerId(params, 'direct')
  if (scope === 'main') return buildAgentMainSessionKey(params)
  const agent = `agent:${normalizeAgentId(params.agentId)}`
  const peer = `direct:${peerSegment(peerId, scope, params)}`
  if (scope === 'per-peer') return `${agent}:${peer}`
  const channel = encodeId(normalizeChannel(params.channel))
  if (scope === 'per-channel-peer') return `${agent}:${channel}:${peer}`
  return `${agent}:${channel}:${encodeId(params.accountId?.trim() || DEFAULT_ACCOUNT_ID)}:${peer}`
}

/** The person: the name that the configuration links to this id, or the id itself. */
function peerSegment(peerId: string, scope: DmScope, params: PeerKeyParams): string {
  const channel = normalizeChannel(params.channel)
  const links = params.identityLinks ?? {}
  const linked = nameOf(peerId, channel, links)
  if (linked !== undefined) return linkSegment(linked, Object.keys(links))
  // Without the channel in the key, the platform's case rule could make two people of two platforms one.
  const plain = encodeId(peerId, scope === 'per-peer' ? undefined : channel)
  const isSomebodysName = Object.keys(links).some((name) => linkSegment(name, Object.keys(links)) === plain)
  return isSomebodysName ? setApart(plain) : plain
}

/** The name under which the configuration links this id to others. */
function nameOf(peerId: string, channel: string, links: IdentityLinks): string | undefined {
  return Object.keys(links).find((name) =>
    links[name]!.some((id) => isSameId(id, normalizeChannel(channel), peerId)),
  )
}

function isSameId(link: string, channel: string, peerId: string): boolean {
  const bare = encodeId(peerId, channel)
  const trimmed = link.trim()
  const colon = trimmed.indexOf(':')
  const linkChannel = trimmed.slice(0, Math.max(colon, 0)).toLowerCase()
  if (linkChannel === channel && colon > 0) return encodeId(trimmed.slice(colon + 1), channel) === bare
  // `telegram:123` links that Telegram id, not a person on another platform with that name.
  if (knownPlatforms.has(linkChannel)) return false
  return encodeId(trimmed, channel) === bare
}

/** Lower case as OpenClaw writes it, unless another linked person has the same name in other letters. */
function linkSegment(name: string, names: string[]): string {
  const folded = name.trim().toLowerCase()
  const isTaken = names.some((other) => other !== name && other.trim().toLowerCase() === folded)
  return encodeId(isTaken ? name : folded)
}

function normalizeChannel(channel: string | undefined): string {
  return (channel ?? '').trim().toLowerCase() || 'unknown'
}

function requirePeerId(params: PeerKeyParams, kind: string): string {
  const id = params.peerId ?? ''
  if (id.trim() === '') throw emptyId(kind, params.channel ?? '')
  return id
}

function emptyId(what: string, where: string): RockpoolError {
  return new RockpoolError('input-invalid', `A ${what} id is empty${where ? ` (${where})` : ''}.`, {
    hint: 'Without an id the session would be shared with others, so the message is refused.',
  })
}
