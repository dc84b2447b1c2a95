// Builds session keys: who writes, and where. `agent:<agentId>:<rest>`, in OpenClaw's forms. Two identities that the configured
// scope keeps apart never share a key, with any characters in their ids.
import type { Address } from './address.ts'
import type { SessionConfig } from './config/session-settings.ts'
import { RockpoolError } from './errors.ts'
import type { ChatType } from './message.ts'

export type DmScope = SessionConfig['dmScope']
type IdentityLinks = SessionConfig['identityLinks']

export const agentIdRule = /^[a-z0-9][a-z0-9_-]{0,63}$/

/** The defaults for a key, a row or a configuration that names no agent, main key or account. */
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

interface PeerKeyParams {
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

/** The key of the session that a message belongs to. A person in `identityLinks` has one session on all platforms. */
export function sessionKeyOf(
  message: { address: Address; chatType: ChatType; sender: { id: string } },
  agentId: string,
  session: Pick<SessionConfig, 'scope' | 'dmScope' | 'mainKey' | 'identityLinks'>,
): string {
  if (session.scope === 'global') return globalSessionKey
  const { channel, accountId, to, threadId } = message.address
  const direct = message.chatType === 'direct'
  const isLinked = direct && nameOf(message.sender.id, channel, session.identityLinks) !== undefined
  const { dmScope, mainKey, identityLinks } = session
  const base = buildAgentPeerSessionKey({
    dmScope: isLinked && dmScope !== 'main' ? 'per-peer' : dmScope,
    mainKey,
    identityLinks,
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

/** Sessions that were not started by a chat: a cron job (and one run of it), a hook, a node, an editor over ACP. */
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

function normalizeAgentId(agentId: string | undefined): string {
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
  if (scope === 'main' && (params.peerId === undefined || params.peerId === null))
    return buildAgentMainSessionKey(params)
  const peerId = requirePeerId(params, 'direct')
  if (scope === 'main') return buildAgentMainSessionKey(params)
  const agent = `agent:${normalizeAgentId(params.agentId)}`
  const peer = `direct:${peerSegment(peerId, scope, params)}`
  if (scope === 'per-peer') return `${agent}:${peer}`
  const channel = encodeId(normalizeChannel(params.channel))
  if (scope === 'per-channel-peer') return `${agent}:${channel}:${peer}`
  return `${agent}:${channel}:${encodeId(params.accountId?.trim() || DEFAULT_ACCOUNT_ID)}:${peer}`
}

/** The person's segment: the name that the configuration links to this id, or the id itself. */
function peerSegment(peerId: string, scope: DmScope, params: PeerKeyParams): string {
  const channel = normalizeChannel(params.channel)
  const links = params.identityLinks ?? {}
  const linked = nameOf(peerId, channel, links)
  if (linked !== undefined) return linkSegment(linked, Object.keys(links))
  // Without the channel in the key, the platform's case rule could merge people of two platforms.
  const plain = encodeId(peerId, scope === 'per-peer' ? undefined : channel)
  const isLinkedName = Object.keys(links).some((name) => linkSegment(name, Object.keys(links)) === plain)
  return isLinkedName ? setApart(plain) : plain
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

/** In lower case like OpenClaw, unless another linked name differs only in case. */
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

// Segments: an id from a platform as part of a key. Keys are split at `:`, and OpenClaw lower-cases every key that it
// reads; so capital letters, `:` and other special characters are percent-escaped with lower-case hex digits. A plain id
// stays exactly as OpenClaw writes it.

/** Platforms whose ids ignore case: `C1` and `c1` are one channel. Elsewhere case may tell people apart. */
const caselessPlatforms = new Set(['slack', 'irc', 'imessage'])

/** Words with a meaning in keys. An id that equals one of them is escaped. */
const structuralWords = new Set(
  'direct dm group channel thread topic heartbeat run subagent cron hook node acp dashboard explicit'.split(
    ' ',
  ),
)

/** The id as a key segment. Two ids give the same segment only if the platform treats them as one id. */
export function encodeId(id: string, platform?: string): string {
  const folded = platform !== undefined && caselessPlatforms.has(platform) ? id.toLowerCase() : id
  if (structuralWords.has(folded)) return escape(folded[0]!) + folded.slice(1)
  if (isPlain.test(folded)) return folded
  let segment = ''
  for (const char of folded) segment += isPlain.test(char) ? char : escape(char)
  return segment
}

// No escape begins like this, so such a segment never equals that of another id.
const apart = '%.'

/** The same id in another spelling, for when the plain spelling already belongs to another id. */
function setApart(segment: string): string {
  return apart + segment
}

/** A segment written by another program, in our spelling. Our own segments are returned unchanged. */
export function rewriteId(segment: string, platform?: string): string {
  return (segment.startsWith(apart) ? apart : '') + encodeId(decodeId(segment), platform)
}

/** The id of a segment. A `%` that begins no escape is literal: older programs did not escape. */
export function decodeId(segment: string): string {
  const plain = segment.startsWith(apart) ? segment.slice(apart.length) : segment
  return plain.replace(/(?:%[0-9a-f]{2})+/gi, (run) => {
    const bytes = run
      .slice(1)
      .split('%')
      .map((hex) => Number.parseInt(hex, 16))
    return decodeBytes(bytes) ?? run
  })
}

/** The characters between `!` and `~`, except `%`, `:` and capital letters. */
const isPlain = /^[!-$&-9;-@[-~]*$/

function escape(char: string): string {
  return encodeBytes(char.codePointAt(0)!)
    .map((byte) => `%${byte.toString(16).padStart(2, '0')}`)
    .join('')
}

// UTF-8 by hand: an id may contain half of a surrogate pair, which TextEncoder would replace.
function encodeBytes(code: number): number[] {
  const tail = (shift: number): number => 0x80 | ((code >> shift) & 0x3f)
  if (code < 0x80) return [code]
  if (code < 0x800) return [0xc0 | (code >> 6), tail(0)]
  if (code < 0x10000) return [0xe0 | (code >> 12), tail(6), tail(0)]
  return [0xf0 | (code >> 18), tail(12), tail(6), tail(0)]
}

function decodeBytes(bytes: number[]): string | undefined {
  let text = ''
  for (let at = 0; at < bytes.length;) {
    const lead = bytes[at]!
    const extra = lead < 0x80 ? 0 : lead >= 0xf0 ? 3 : lead >= 0xe0 ? 2 : lead >= 0xc0 ? 1 : -1
    const tail = bytes.slice(at + 1, at + 1 + extra)
    if (extra < 0 || tail.length < extra || tail.some((byte) => byte >> 6 !== 2)) return undefined
    const code = tail.reduce(
      (value, byte) => (value << 6) | (byte & 0x3f),
      extra === 0 ? lead : lead & (0x3f >> extra),
    )
    if (code > 0x10ffff) return undefined
    text += String.fromCodePoint(code)
    at += 1 + extra
  }
  return text
}
