// The door: what becomes of a message before anything of it is stored. Access was decided by the policy; here the
// rest is: is it an event that we answer, and is the agent meant?
import type { Access } from '../domain/access.ts'
import type { Message } from '../domain/message.ts'
import type { MentionRules } from './mentions.ts'
import { isMentioned } from './mentions.ts'

export type Verdict =
  /** Worth an answer. */
  | { kind: 'accepted'; owner: boolean; byOwner: boolean; byMember: boolean }
  /** Said in a group, not to us: remembered as context for later. */
  | { kind: 'overheard' }
  | { kind: 'ignored'; reason: string }
  | { kind: 'refused'; reason: string; say?: string; waitMs?: number }

export interface GroupActivation {
  /** What the session says, which wins over the configuration. */
  session?: 'mention' | 'always'
  config: 'mention' | 'always'
}

export function admit(
  message: Message,
  access: Access,
  activation: GroupActivation,
  mentions: MentionRules = {},
): Verdict {
  if (access.kind === 'refused') return refusal(access)
  if (message.event === 'reaction') return { kind: 'ignored', reason: 'reaction' }
  if (isEmpty(message)) return { kind: 'ignored', reason: 'empty' }
  const { owner, byOwner, byMember = byOwner } = access
  const accepted: Verdict = { kind: 'accepted', owner, byOwner, byMember }
  if (message.chatType === 'direct' || message.event === 'button') return accepted
  const needsMention = resolveActivation(access.requireMention, activation) === 'mention'
  // A command in a group counts only when it is said to us: every bot in the group sees it.
  const addressed = message.mentioned || isMentioned(message.text, mentions)
  return needsMention && !addressed ? { kind: 'overheard' } : accepted
}

/** Session over the group's own setting over the general one. */
function resolveActivation(requireMention: boolean, activation: GroupActivation): 'mention' | 'always' {
  if (activation.session) return activation.session
  return requireMention ? activation.config : 'always'
}

function refusal(access: Extract<Access, { kind: 'refused' }>): Verdict {
  const { reason, say, waitMs } = access
  return {
    kind: 'refused',
    reason,
    ...(say === undefined ? {} : { say }),
    ...(waitMs === undefined ? {} : { waitMs }),
  }
}

function isEmpty(message: Message): boolean {
  return message.text.trim() === '' && message.media.length === 0 && !message.button
}
