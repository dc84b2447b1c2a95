// Which agent a chat belongs to. Bindings choose among agents; they give no access. The most specific binding wins, in
// OpenClaw's order: this chat or thread, the chat of the thread, a server and a role there, the server, the account, the
// platform. Among equals, the first one in the configuration wins.
import type { Binding } from '../domain/config/channel-settings.ts'
import type { Message } from '../domain/message.ts'

type Match = Binding['match']
type Routed = Pick<Message, 'address' | 'chatType' | 'sender' | 'group'>

/** The agent that is bound to the chat of a message. */
export function boundAgent(message: Routed, bindings: readonly Binding[]): string | undefined {
  let best: { agentId: string; rank: number } | undefined
  for (const { agentId, match } of bindings) {
    const rank = rankOf(match, message)
    if (rank !== undefined && (!best || rank < best.rank)) best = { agentId, rank }
  }
  return best?.agentId
}

/** How specific a binding is, 0 the most; undefined if one of its conditions does not hold. */
function rankOf(match: Match, message: Routed): number | undefined {
  const { channel, accountId } = message.address
  if (match.channel !== channel) return undefined
  if (match.accountId !== '*' && (match.accountId ?? 'default') !== accountId) return undefined
  if (match.guildId !== undefined && match.guildId !== message.group?.space) return undefined
  if (match.roles && !match.roles.some((role) => message.sender.roles?.includes(role))) return undefined
  if (match.peer) return peerRank(match.peer, message)
  if (match.guildId !== undefined) return match.roles ? 2 : 3
  // A role exists only within its server.
  if (match.roles) return undefined
  return match.accountId === '*' ? 5 : 4
}

function peerRank(peer: NonNullable<Match['peer']>, message: Routed): number | undefined {
  const wantsPrivate = peer.kind === 'direct' || peer.kind === 'dm'
  const { to, threadId } = message.address
  if (message.chatType === 'direct') return wantsPrivate && peer.id === message.sender.id ? 0 : undefined
  if (wantsPrivate) return undefined
  if (threadId === undefined) return peer.id === to ? 0 : undefined
  if (peer.id === threadId || peer.id === `${to}:topic:${threadId}`) return 0
  return peer.id === to ? 1 : undefined
}
