// Who may talk to the agent. One check for every way in: messages, edits, buttons, reactions, commands.
// Callers check before they accept a message, and store nothing of a refused one.
import type { Message } from './message.ts'

export type RefusalReason =
  /** A bot or ourselves. */
  | 'not-a-person'
  /** No sender id, or none that the platform vouches for. */
  | 'sender-unknown'
  /** Waits for the owner to approve the pairing code. */
  | 'not-paired'
  | 'not-allowed'
  | 'group-not-allowed'
  | 'closed'
  | 'too-many-messages'

export type Access =
  | {
      kind: 'allowed'
      /** May give owner commands and answer approvals. Never in a group: others read along there. */
      owner: boolean
      /** Said by the owner, be it in a group: may change how the agent behaves there. */
      byOwner: boolean
      /** In a group: named in its list of people, so that they may use commands there. As `byOwner` when absent. */
      byMember?: boolean
      /** In this group the agent answers only when it is addressed. Always false in direct chats. */
      requireMention: boolean
    }
  | {
      kind: 'refused'
      reason: RefusalReason
      /** How long until a message is accepted again, for `too-many-messages`. */
      waitMs?: number
      /** To be sent to the message's address: the pairing code, or what is wrong. Absent: stay silent. */
      say?: string
    }

export interface AccessPolicy {
  /** Decides, counts the message against its sender's limit, and makes a pairing code when one is due. */
  check(message: Message): Promise<Access>
  /** The same decision without any effect: may files of this message be fetched? */
  wouldAllow(message: Message): boolean
}
