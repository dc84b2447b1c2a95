// Who may talk: the one decision that every message, edit, button, reaction and command passes. It goes by ids that
// the platform vouches for. What is paired in private gives no right in a group, and being in a group gives none in private.
import type { Access, AccessPolicy, RefusalReason } from '../domain/access.ts'
import type { Clock } from '../domain/clock.ts'
import { accountSettingsOf } from '../domain/config/channel-settings.ts'
import type { AccountSettings, ChannelsConfig } from '../domain/config/channel-settings.ts'
import type { Message } from '../domain/message.ts'
import type { People, PersonRef } from '../store/tables/pairing.ts'
import { SenderPace } from './sender-rate-limit.ts'
import type { TooMany } from './sender-rate-limit.ts'

export interface AccessParts {
  /** Somebody new asks to talk. */
  onStranger?: (person: PersonRef) => void
  config: () => ChannelsConfig
  pairing: Pick<People, 'find' | 'request'>
  clock: Clock
}

/** Channels whose people the gateway or the machine has let in already. */
const trustedChannels = new Set(['web', 'console'])

export function makeAccessPolicy(parts: AccessParts): AccessPolicy {
  const pace = new SenderPace(parts.clock)
  return {
    async check(message) {
      const decision = await settle(message, parts)
      if (decision.kind === 'refused') return decision
      const { messagesPerMinute, ownerMessagesPerMinute } = parts.config()
      const perMinute = decision.byOwner ? ownerMessagesPerMinute : messagesPerMinute
      const counted = pace.count(senderKey(message), perMinute)
      return counted.kind === 'within' ? decision : tooMany(message, perMinute, counted)
    },
    wouldAllow: (message) => decide(message, parts).kind === 'allowed',
  }
}

type Decision = Access | { kind: 'stranger' }

function decide(message: Message, parts: AccessParts): Decision {
  const { sender, address } = message
  if (trustedChannels.has(address.channel))
    return { kind: 'allowed', owner: true, byOwner: true, requireMention: false }
  if (sender.isBot) return refuse('not-a-person')
  if (sender.id.trim() === '') return refuse('sender-unknown')
  const config = parts.config()
  const settings = accountSettingsOf(config, address.channel, address.accountId)
  return message.chatType === 'direct'
    ? decideDirect(message, settings, parts)
    : decideGroup(message, settings, parts)
}

function decideDirect(message: Message, settings: AccountSettings, parts: AccessParts): Decision {
  const id = message.sender.id
  const policy = settings.dmPolicy ?? 'pairing'
  if (policy === 'disabled') return refuse('closed')
  const paired = policy === 'pairing' ? parts.pairing.find(personOf(message)) : undefined
  const owner = paired?.owner === true || isListedOwner(message, parts)
  const listed = settings.allowFrom?.includes(id) ?? false
  const everybody = policy === 'open' && (settings.allowFrom?.includes('*') ?? false)
  if (owner || listed || paired || everybody)
    return { kind: 'allowed', owner, byOwner: owner, requireMention: false }
  return policy === 'pairing' ? { kind: 'stranger' } : refuse('not-allowed')
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
  const byOwner = isListedOwner(message, parts) || parts.pairing.find(personOf(message))?.owner === true
  const byMember = byOwner || (people?.includes(message.sender.id) ?? false)
  return { kind: 'allowed', owner: false, byOwner, byMember, requireMention: group?.requireMention ?? true }
}

function isListedOwner({ address, sender }: Message, parts: AccessParts): boolean {
  return parts.config().ownerAllowFrom.includes(`${address.channel}:${sender.id}`)
}

/** A stranger gets a code, unless they were approved between the question and the code: then they are no stranger. */
async function settle(message: Message, parts: AccessParts): Promise<Access> {
  const decision = decide(message, parts)
  if (decision.kind !== 'stranger') return decision
  const invited = await invite(message, parts)
  if (invited !== 'paired') return invited
  const again = decide(message, parts)
  return again.kind === 'stranger' ? refuse('not-paired') : again
}

/** Only somebody who writes gets a code: a press, a reaction or an edit of a stranger is met with silence. */
async function invite(message: Message, parts: AccessParts): Promise<Access | 'paired'> {
  if (message.event !== 'message' && message.event !== 'command') return refuse('not-paired')
  const person = personOf(message)
  const answer = await parts.pairing.request(person, message.sender.name)
  if (answer.kind === 'paired') return 'paired'
  if (answer.kind === 'new') parts.onStranger?.(person)
  return refuse('not-paired', answer.kind === 'new' ? invitation(message, answer.code) : undefined)
}

function invitation(message: Message, code: string): string {
  return [
    'I do not know you yet, so nothing that you write reaches the agent.',
    `Your pairing code is ${code} (for one hour). Your id here is ${message.sender.id}.`,
    `Whoever runs this Rockpool can let you in: rockpool pairing approve ${code}`,
  ].join('\n')
}

/** A page that writes is answered at once, each time; in other chats one notice covers all messages of the wait. */
function tooMany(message: Message, perMinute: number, { isFirst, waitMs }: TooMany): Access {
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

function senderKey(message: Message): string {
  return JSON.stringify([message.address.channel, message.address.accountId, message.sender.id])
}
