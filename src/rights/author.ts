// The author of a turn. Every path into a turn (a message, an answer to one, an edit, a hook, a schedule, a system event, an
// RPC call, another session) ends in one of these authors, and the rights of the turn follow from the author.
import { isTerminal, privateChatWith } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { ChatType } from '../domain/message.ts'
import { classifySessionKey, personOfKey } from '../domain/session-key-forms.ts'
import type { UntrustedWriter } from '../domain/transcript.ts'

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

/** The one of two authors with fewer rights: a turn has no more rights than its session, nor than its requester. */
export function leastPrivileged(one: Author, other: Author): Author {
  return authors.indexOf(one) < authors.indexOf(other) ? other : one
}

export function hasFewerRights(one: Author, than: Author): boolean {
  return authors.indexOf(one) > authors.indexOf(than)
}

/** What is known about a turn when its author is decided. */
export interface TurnOrigin {
  sessionKey: string
  /** The type of the session's chat, or of the message's chat when there is no session yet. */
  chatType?: ChatType
  /** Where the text came from; the channel is `internal` or a terminal when it came from no chat. */
  address: Address
  /** Where the session's replies go. A text without a chat has the rights of the person there; before the session has a route,
   *  those of the person that its key names. */
  route?: Address
  /** The requester of the turn, when it was not a chat message. */
  askedBy?: Author
}

/** The address of a turn that belongs to no chat. */
export const internalChannel = 'internal'

/** `isOwners` tells whether a private chat is the owner's. */
export function authorOf(origin: TurnOrigin, isOwners: (address: Address) => boolean): Author {
  const person = chatOfPerson(origin)
  const ofPerson = person && isOwners(person) ? 'owner' : 'guest'
  return leastPrivileged(leastPrivileged(mostIn(origin), origin.askedBy ?? 'owner'), ofPerson)
}

/** The chat of the person whose rights the turn has. Undefined if the session belongs to a person who cannot be determined. */
function chatOfPerson({ sessionKey, address, route }: TurnOrigin): Address | undefined {
  if (address.channel !== internalChannel && !isTerminal(address)) return address
  const person = personOfKey(sessionKey)
  if (route || !person) return route ?? address
  const { channel } = person
  return channel === undefined ? undefined : privateChatWith({ ...person, channel })
}

/** The author with the most rights that a session of this kind can have. */
function mostIn({ sessionKey, chatType }: TurnOrigin): Author {
  const { kind } = classifySessionKey(sessionKey)
  if (kind === 'hook') return 'hook'
  const isShared = [chatType, kind].some((type) => type === 'group' || type === 'channel')
  return isShared ? 'group' : 'owner'
}

const untrustedMark = /^Untrusted, from a (program|hook): /

/** The text of a system event as it is stored. Events are stored as text, so one that a program or a hook wrote carries a mark
 *  at its beginning. A text of ours that happens to begin like the mark only loses rights. */
export function markEvent(author: Author, text: string): string {
  const writer = untrustedWriter(author)
  return writer === undefined ? text : `Untrusted, from a ${writer}: ${text}`
}

/** The writer of a text of this author, if the text must be quoted. */
export function untrustedWriter(author: Author): UntrustedWriter | undefined {
  return author === 'program' || author === 'hook' ? author : undefined
}

export function isUntrustedEvent(text: string): boolean {
  return untrustedMark.test(text)
}

/** The author of the turns that see this event. Turns with fewer rights than the session do not see its events, and an
 *  untrusted event is shown only in a turn that has no more rights than its writer. */
export function eventAuthor(text: string, session: Author): Author {
  const writer = untrustedMark.exec(text)?.[1] as UntrustedWriter | undefined
  return writer === undefined ? session : leastPrivileged(writer, session)
}
