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

/** May anything but a refusal, or what the operator sends on purpose, reach this chat? */
export function mayReach(address: Address, { hasAccess }: Pick<Readers, 'hasAccess'>): boolean {
  return !isPrivateChat(address) || hasAccess(address)
}

/** May this be sent to its chat? Output of coding sessions, permission requests and deliveries that are marked for the owner go
 *  to a private chat only while it is the owner's. Everything else goes to people who have access. Checked when a delivery is
 *  enqueued and again when it is sent. */
export function mayReceive(delivery: Delivery, readers: Readers): boolean {
  const { address, reply, sessionKey, forOwner, forAnybody } = delivery
  const isForOwner =
    forOwner === true || reply.approvalId !== undefined || sessionKey?.startsWith('coding:') === true
  if (isForOwner) return !isPrivateChat(address) || readers.isOwners(address)
  return forAnybody === true || mayReach(address, readers)
}

function isSameChat({ address: one }: Place, { address: other }: Place): boolean {
  if (!one || !other) return false
  const { threadId: _one, ...chat } = one
  const { threadId: _other, ...otherChat } = other
  return chatKey(chat) === chatKey(otherChat)
}
