// Who a turn is taken for. Every path into a turn (a message, an answer to one, an edit, a hook, a schedule, a system event,
// an RPC call, another session) ends in one of these authors, and everything that the turn may do follows from it.
import { isTerminal } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { ChatType } from '../domain/message.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'

/**
 * From the most rights to the fewest. No author has a right that one before it lacks.
 *
 * - `owner`: the owner in a private chat, at the terminal or on the dashboard.
 * - `program`: a program whose token is bound to one agent.
 * - `guest`: a person who may write, in a private chat.
 * - `group`: anybody in a group or channel, the owner included, because others read along there.
 * - `hook`: a program that reached us through `/hooks/…`, and everything that quotes its words.
 */
export const authors = ['owner', 'program', 'guest', 'group', 'hook'] as const

export type Author = (typeof authors)[number]

/** The one of two authors with fewer rights: a turn never has more than its session, nor more than who asked for it. */
export function lesserOf(one: Author, other: Author): Author {
  return authors.indexOf(one) < authors.indexOf(other) ? other : one
}

export function isLesser(one: Author, than: Author): boolean {
  return authors.indexOf(one) > authors.indexOf(than)
}

/** What is known about a turn when its author is decided. */
export interface TurnOrigin {
  sessionKey: string
  /** Of the session, or of the message when there is no session yet. */
  chatType?: ChatType
  /** Where the words came from; the channel is `internal`, or it is a terminal, when no chat is behind them. */
  address: Address
  /** Where the session's replies go. Words without a chat are said in the session of whoever is there. */
  route?: Address
  /** Who asked for the turn, when it was no chat message. */
  askedBy?: Author
}

/** The address of a turn that belongs to no chat. */
export const internalChannel = 'internal'

/** `isOwners` says whether a private chat is the owner's. */
export function authorOf(origin: TurnOrigin, isOwners: (address: Address) => boolean): Author {
  const { address, route, askedBy = 'owner' } = origin
  const isBehindChat = address.channel !== internalChannel && !isTerminal(address)
  const person = isBehindChat ? address : (route ?? address)
  return lesserOf(lesserOf(placeOf(origin), askedBy), isOwners(person) ? 'owner' : 'guest')
}

/** The most that anybody may do in such a session. */
function placeOf({ sessionKey, chatType }: TurnOrigin): Author {
  const { kind } = classifySessionKey(sessionKey)
  if (kind === 'hook') return 'hook'
  const isShared = [chatType, kind].some((type) => type === 'group' || type === 'channel')
  return isShared ? 'group' : 'owner'
}
