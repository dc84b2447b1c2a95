// What a person may do in a chat: give commands, join a running turn, continue another session. Rockpool must not answer one
// person with the rights of another, nor show a private answer where others read along.
import type { Address } from '../domain/address.ts'
import { chatKey, isPrivateChat } from '../domain/address.ts'
import type { Delivery } from '../domain/reply.ts'
import { hasFewerRights } from './author.ts'
import type { Author } from './author.ts'
import type { Readers } from './owners.ts'

/** Who may use a command: everybody who may write; in groups only listed members; in groups only the owner; only the owner. */
export type CommandRight = 'anybody' | 'members-in-groups' | 'owner-in-groups' | 'owner'

export interface CommandAuthor {
  byOwner: boolean
  /** The author is in the group's `allowFrom`, or is the owner. */
  byMember: boolean
  inGroup: boolean
}

/** A command changes what everybody in the chat shares: its session, its model, its queue. */
export function mayCommand(right: CommandRight, { byOwner, byMember, inGroup }: CommandAuthor): boolean {
  if (byOwner || right === 'anybody') return true
  if (right === 'owner') return false
  return !inGroup || (right === 'members-in-groups' && byMember)
}

interface Place {
  author: Author
  address: Address | undefined
}

/** May an answer to one of our messages continue the session that sent that message? The owner's private chats belong to one
 *  person; everybody else stays in the chat of the answer. */
export function mayFollowReply(message: Place, session: Place): boolean {
  return message.author === session.author && (message.author === 'owner' || isSameChat(message, session))
}

/** May an input join the running turn? */
export function mayJoinTurn(input: Author, running: Author): boolean {
  return input === running
}

/** May the session's replies go to the chat of this message from now on? Never to a chat with fewer rights. */
export function mayChangeRoute(message: Author, current: Author): boolean {
  return !hasFewerRights(message, current)
}

/** Keys of deliveries to people who may have no access: what a refusal says, and what the operator sends on purpose, which is a
 *  message, a message of a schedule, or mail to a person outside. */
const forAnybody = /^(refused|send|schedule|mail-outside):/

/** May this be sent to its chat? What a coding session says, every permission request, and what was made for the owner is for the
 *  owner: a private chat gets it only while it is the owner's. The rest is for people who have access. Asked when it is enqueued and
 *  when it is sent. */
export function mayReceive(delivery: Delivery, { isOwners, hasAccess }: Readers): boolean {
  const { address, reply, sessionKey, forOwner, idempotencyKey } = delivery
  if (!isPrivateChat(address)) return true
  const isForOwner =
    forOwner === true || reply.approvalId !== undefined || sessionKey?.startsWith('coding:') === true
  return isForOwner ? isOwners(address) : forAnybody.test(idempotencyKey) || hasAccess(address)
}

function isSameChat({ address: one }: Place, { address: other }: Place): boolean {
  if (!one || !other) return false
  const { threadId: _one, ...chat } = one
  const { threadId: _other, ...otherChat } = other
  return chatKey(chat) === chatKey(otherChat)
}
