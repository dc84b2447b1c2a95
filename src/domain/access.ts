// Who may write to the agent. One check for messages, edits, buttons, reactions and commands. Callers check before they
// accept a message, and store nothing of a refused one.
import type { Message } from './message.ts'

export type RefusalReason =
  /** The sender is a bot, or our own account. */
  | 'not-a-person'
  /** No sender id, or none that the platform guarantees. */
  | 'sender-unknown'
  /** Waits for the owner to approve the pairing code. */
  | 'not-paired'
  /** Too many strangers wait for the owner, so this one gets no code now. */
  | 'pairing-full'
  | 'not-allowed'
  | 'group-not-allowed'
  | 'closed'
  | 'too-many-messages'

export type Access =
  | {
      kind: 'allowed'
      /** May give owner commands and answer approvals. Never in a group: others read along there. */
      owner: boolean
      /** The owner wrote it, also in a group: may change how the agent behaves there. */
      byOwner: boolean
      /** In a group: the sender is in its list of people and may use commands there. Same as `byOwner` when absent. */
      byMember?: boolean
      /** In this group the agent answers only when it is addressed. Always false in direct chats. */
      requireMention: boolean
    }
  | {
      kind: 'refused'
      reason: RefusalReason
      /** How long until a message is accepted again, for `too-many-messages`. */
      waitMs?: number
      /** The answer to the sender: the pairing code, or the reason. No answer when absent. */
      say?: string
    }

export interface AccessPolicy {
  /** Decides, counts the message against the sender's rate limit, and makes a pairing code if needed. */
  check(message: Message): Promise<Access>
  /** The current decision, without any effect. */
  decide(message: Message): Access
}
