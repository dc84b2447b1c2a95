// Decides what happens to a message before it is stored. The access policy has judged the sender; this file judges the
// message: is it an event that gets an answer, and does it address the agent?
import type { Access } from '../domain/access.ts'
import type { Message } from '../domain/message.ts'
import type { MentionRules } from './mentions.ts'
import { isMentioned } from './mentions.ts'

export type Verdict =
  /** Gets a turn. */
  | { kind: 'accepted'; owner: boolean; byOwner: boolean; byMember: boolean }
  /** A group message that does not address the agent: kept as context for later. */
  | { kind: 'overheard' }
  | { kind: 'ignored'; reason: string }
  | { kind: 'refused'; reason: string; say?: string; waitMs?: number }

export interface GroupActivation {
  /** The session's setting, which wins over the configuration. */
  session?: 'mention' | 'always'
  config: 'mention' | 'always'
}

export function admit(
  message: Message,
  access: Access,
  activation: GroupActivation,
  mentions: MentionRules = {},
): Verdict {
  if (access.kind === 'refused') return access
  if (message.event === 'reaction') return { kind: 'ignored', reason: 'reaction' }
  if (isEmpty(message)) return { kind: 'ignored', reason: 'empty' }
  const { owner, byOwner, byMember = byOwner } = access
  const accepted: Verdict = { kind: 'accepted', owner, byOwner, byMember }
  if (message.chatType === 'direct' || message.event === 'button') return accepted
  const needsMention = resolveActivation(access.requireMention, activation) === 'mention'
  // Every bot in a group sees a command, so it must address the agent, too.
  const addressed = message.mentioned || isMentioned(message.text, mentions)
  return needsMention && !addressed ? { kind: 'overheard' } : accepted
}

/** Session over the group's own setting over the general one. */
function resolveActivation(requireMention: boolean, activation: GroupActivation): 'mention' | 'always' {
  if (activation.session) return activation.session
  return requireMention ? activation.config : 'always'
}

function isEmpty(message: Message): boolean {
  return message.text.trim() === '' && message.media.length === 0 && !message.button
}

/**
 * Identifies a message for ever: channel, account, chat and the platform's id, each encoded. Platforms repeat messages that
 * they believe lost; the inbox keeps the keys for seven days to recognise them.
 */
export function messageKey({ address, id }: Pick<Message, 'id' | 'address'>): string {
  return [address.channel, address.accountId, address.to, id].map(encodeURIComponent).join('|')
}
