// Decides whether a message gets a turn, before it is stored. First the sender: every message, edit, button, reaction and
// command passes the access policy. Only ids that the platform guarantees count; pairing in a direct chat gives no right in
// groups, and membership in a group gives none in direct chats. Then the message: is it an event that gets an answer, and does
// it address the agent?
import type { Access, AccessPolicy, RefusalReason } from '../domain/access.ts'
import type { Address } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import { accountSettingsOf } from '../domain/config/read-settings.ts'
import type { AccountSettings, ChannelsConfig } from '../domain/config/channel-settings.ts'
import type { Message } from '../domain/message.ts'
import type { People, PersonRef } from '../store/tables/pairing.ts'
import { isOwner, standingOf } from '../rights/owners.ts'
import { isMentioned, type MentionRules } from './mentions.ts'

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
  /** Given if its files are not fetched yet. */
  hasFiles = message.media.length > 0,
): Verdict {
  if (access.kind === 'refused') return access
  if (message.event === 'reaction') return { kind: 'ignored', reason: 'reaction' }
  const isEmpty = message.text.trim() === '' && !hasFiles && !message.button
  if (isEmpty) return { kind: 'ignored', reason: 'empty' }
  const { owner, byOwner, byMember = byOwner } = access
  const accepted: Verdict = { kind: 'accepted', owner, byOwner, byMember }
  if (message.chatType === 'direct' || message.event === 'button') return accepted
  const needsMention = resolveActivation(access.requireMention, activation) === 'mention'
  // Every bot in a group sees a command, so it must address the agent, too.
  const addressed = message.mentioned || isMentioned(message.text, mentions)
  return needsMention && !addressed ? { kind: 'overheard' } : accepted
}

/** The session's setting decides; then `requireMention: false` of the group; then the general setting. */
function resolveActivation(requireMention: boolean, activation: GroupActivation): 'mention' | 'always' {
  if (activation.session) return activation.session
  return requireMention ? activation.config : 'always'
}

/**
 * Identifies a message for ever: channel, account, chat and the platform's id, each encoded. Platforms repeat messages that
 * they believe lost; the inbox keeps the keys for seven days to recognise them.
 */
export function messageKey({ address, id }: Pick<Message, 'id' | 'address'>): string {
  return `${chatKeyStart(address)}${encodeURIComponent(id)}`
}

/** The beginning of the keys of a chat's messages. */
export function chatKeyStart({ channel, accountId, to }: Address): string {
  return [channel, accountId, to].map((part) => `${encodeURIComponent(part)}|`).join('')
}

interface AccessParts {
  /** An unknown person asks to write. */
  onStranger?: (person: PersonRef) => void
  config: () => ChannelsConfig
  pairing: Pick<People, 'find' | 'request'>
  clock: Clock
}

/** The gateway or the machine has authenticated the people on these channels. */
const trustedChannels = new Set(['web', 'console'])

export function makeAccessPolicy(parts: AccessParts): AccessPolicy {
  const limiter = new SenderLimiter(parts.clock)
  return {
    async check(message) {
      const decision = await decideOrInvite(message, parts)
      if (decision.kind === 'refused') return decision
      const { messagesPerMinute, ownerMessagesPerMinute } = parts.config()
      const perMinute = decision.byOwner ? ownerMessagesPerMinute : messagesPerMinute
      const { address, sender } = message
      const excess = limiter.count(JSON.stringify([address.channel, address.accountId, sender.id]), perMinute)
      return excess ? tooMany(message, perMinute, excess) : decision
    },
    decide(message) {
      const decision = decide(message, parts)
      return decision.kind === 'stranger' ? refuse('not-paired') : decision
    },
  }
}

type Decision = Access | { kind: 'stranger' }

function decide(message: Message, parts: AccessParts): Decision {
  const { sender, address } = message
  if (trustedChannels.has(address.channel))
    return { kind: 'allowed', owner: true, byOwner: true, requireMention: false }
  if (sender.isBot) return refuse('not-a-person')
  if (sender.id.trim() === '') return refuse('sender-unknown')
  if (message.chatType === 'direct') return decideDirect(message, parts)
  return decideGroup(message, accountSettingsOf(parts.config(), address.channel, address.accountId), parts)
}

function decideDirect(message: Message, parts: AccessParts): Decision {
  const standing = standingOf(personOf(message), parts.config(), parts.pairing)
  if (standing === 'stranger') return { kind: 'stranger' }
  if (standing === 'closed' || standing === 'not-allowed') return refuse(standing)
  const owner = standing === 'owner'
  return { kind: 'allowed', owner, byOwner: owner, requireMention: false }
}

function decideGroup(message: Message, settings: AccountSettings, parts: AccessParts): Decision {
  const policy = settings.groupPolicy ?? 'allowlist'
  const groups = settings.groups ?? {}
  const own = [message.address.to, message.group?.space ?? ''].find((id) => Object.hasOwn(groups, id))
  const group = own === undefined ? groups['*'] : groups[own]
  const isListed = group !== undefined || policy === 'open'
  if (policy === 'disabled' || !isListed || group?.enabled === false) return refuse('group-not-allowed')
  const people = group?.allowFrom ?? settings.groupAllowFrom
  if (people && !people.includes(message.sender.id) && !people.includes('*')) return refuse('not-allowed')
  const byOwner = isOwner(personOf(message), parts.config(), parts.pairing)
  const byMember = byOwner || (people?.includes(message.sender.id) ?? false)
  return { kind: 'allowed', owner: false, byOwner, byMember, requireMention: group?.requireMention ?? true }
}

/** A stranger gets a pairing code, unless the owner has approved them in the meantime. */
async function decideOrInvite(message: Message, parts: AccessParts): Promise<Access> {
  const decision = decide(message, parts)
  if (decision.kind !== 'stranger') return decision
  const invited = await invite(message, parts)
  if (invited !== 'paired') return invited
  const again = decide(message, parts)
  return again.kind === 'stranger' ? refuse('not-paired') : again
}

/** Only a message gets a code; a button, a reaction or an edit of a stranger gets no answer. */
async function invite(message: Message, parts: AccessParts): Promise<Access | 'paired'> {
  if (message.event !== 'message' && message.event !== 'command') return refuse('not-paired')
  const person = personOf(message)
  const answer = await parts.pairing.request(person, message.sender.name)
  if (answer.kind === 'paired') return 'paired'
  if (answer.kind === 'full') return refuse('pairing-full')
  if (answer.kind === 'new') parts.onStranger?.(person)
  return refuse('not-paired', answer.kind === 'new' ? invitation(message, answer.code) : undefined)
}

function invitation(message: Message, code: string): string {
  return [
    'I do not know you yet, so nothing that you write reaches the agent.',
    `Your pairing code is ${code} (for one hour). Your id here is ${message.sender.id}.`,
    `The owner of this Rockpool can let you in: rockpool pairing approve ${code}`,
  ].join('\n')
}

/** The web page shows each refusal itself; in other chats one notice covers all messages until the limit ends. */
function tooMany(message: Message, perMinute: number, { isFirst, waitMs }: Excess): Access {
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  const say =
    `That is more than ${perMinute} messages in a minute. I did not read the last one, and I read nothing from you ` +
    `for the next ${seconds} s. Please send it again after that.`
  const isAnsweredDirectly = message.address.channel === 'web'
  return { ...refuse('too-many-messages', isFirst && !isAnsweredDirectly ? say : undefined), waitMs }
}

function refuse(reason: RefusalReason, say?: string): Access & { kind: 'refused' } {
  return { kind: 'refused', reason, ...(say === undefined ? {} : { say }) }
}

function personOf(message: Message): PersonRef {
  const { channel, accountId } = message.address
  return { channel, accountId, senderId: message.sender.id }
}

/** A message over the limit. */
interface Excess {
  /** The first message over the limit in this window; the sender gets one notice. */
  isFirst: boolean
  /** How long until a message is accepted again. */
  waitMs: number
}

const windowMs = 60_000
const maxSenders = 10_000

/** Counts the messages of each sender in the last minute. Kept in memory, for at most ten thousand senders. */
class SenderLimiter {
  #clock: Clock
  #senders = new Map<string, { acceptedAt: number[]; isNotified: boolean }>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Counts one more message, unless the sender has reached the limit. */
  count(sender: string, perMinute: number): Excess | undefined {
    const now = this.#clock.monotonic()
    const before = this.#senders.get(sender)
    const acceptedAt = (before?.acceptedAt ?? []).filter((at) => now - at < windowMs)
    const isOver = acceptedAt.length >= perMinute
    if (!isOver) acceptedAt.push(now)
    // The most recent sender is last in the map; the first one is dropped.
    this.#senders.delete(sender)
    this.#senders.set(sender, { acceptedAt, isNotified: isOver })
    const [oldest] = this.#senders.keys()
    if (this.#senders.size > maxSenders) this.#senders.delete(oldest!)
    if (!isOver) return undefined
    const firstInWindow = acceptedAt[acceptedAt.length - Math.floor(perMinute)] ?? now
    return { isFirst: before?.isNotified !== true, waitMs: firstInWindow + windowMs - now }
  }
}
