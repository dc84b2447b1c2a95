// Which session a message belongs to, and which turn it may join, as far as rights decide it. What one person said must not
// be answered with the rights of another, nor be told where others read along.
import type { Address } from '../domain/address.ts'
import { chatKey } from '../domain/address.ts'
import type { Author } from './author.ts'
import { isLesser } from './author.ts'

interface Place {
  author: Author
  address: Address | undefined
}

/** May an answer to one of our messages go to the session which that message came from? The owner's private chats are one
 *  person's; everybody else stays in the chat that they write in. */
export function mayFollowReply(message: Place, session: Place): boolean {
  return message.author === session.author && (message.author === 'owner' || isSameChat(message, session))
}

/** May an input join a turn that runs? */
export function mayJoinTurn(input: Author, running: Author): boolean {
  return input === running
}

/** May the session's replies go from now on where this message came from? Never to a place with fewer rights. */
export function mayTakeRoute(message: Author, current: Author): boolean {
  return !isLesser(message, current)
}

function isSameChat({ address: one }: Place, { address: other }: Place): boolean {
  if (!one || !other) return false
  const { threadId: _one, ...chat } = one
  const { threadId: _other, ...otherChat } = other
  return chatKey(chat) === chatKey(otherChat)
}
