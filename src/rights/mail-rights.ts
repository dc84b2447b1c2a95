// Who may write to whom. A session writes as itself: it has no more reach than the agent that it belongs to, and never the owner's.
import type { Author } from './author.ts'

export interface MailSender {
  author: Author
  /** `program`: a token that is bound to no agent and may not approve. It has the reach of the operator, and is not the owner. If its
   *  client names a session or an agent, it has the reach of that one only (`session`). */
  kind: 'owner' | 'program' | 'session' | 'chat'
  /** The agent that it belongs to; absent for the owner, for programs and for sessions that people run in a terminal. */
  agentId?: string
}

interface MailRecipient {
  kind: 'owner' | 'program' | 'session' | 'chat' | 'person'
  agentId?: string
  /** The recipient wrote to the sender before, and this message is the answer. */
  hasAsked: boolean
}

/** Undefined: it may. Otherwise the reason. */
export function whyNotWrite(sender: MailSender, recipient: MailRecipient): string | undefined {
  if (sender.author !== 'owner' && sender.author !== 'program')
    return 'Guests, groups and hooks send no mail.'
  if (isOperators(sender) || recipient.kind === 'owner') return undefined
  if (recipient.kind === 'person') return 'Only the owner writes to people outside.'
  if (recipient.kind === 'chat' && recipient.agentId !== sender.agentId)
    return 'An agent writes only into its own chats; a session that belongs to no agent writes into none.'
  const isOwn = sender.agentId === undefined || sender.agentId === recipient.agentId
  return isOwn || recipient.hasAsked
    ? undefined
    : 'An agent and its sessions write to sessions of the same agent, to the owner, and to those who wrote to them.'
}

/** Reads the mail of all, and writes to all. */
export function isOperators({ kind }: Pick<MailSender, 'kind'>): boolean {
  return kind === 'owner' || kind === 'program'
}
