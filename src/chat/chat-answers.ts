// Answers in plain words, such as "yes", in the owner's private chats. Remembers when something was last said in each chat: a
// plain "yes" answers a question only if nothing was said in between. Kept in memory, so a question from before a restart
// needs its id, or a reply.
import type { Address } from '../domain/address.ts'
import { chatKey } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { Approval } from '../domain/coding-session.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { defaultAgentId, sessionKeyOf } from '../domain/session-key.ts'
import type { AnsweredNotice } from '../flow/reply-routing.ts'
import { boundAgent } from '../inbound/bindings.ts'
import type { App } from '../operations/app.ts'
import { answerByReply, answerInWords, askedBefore, clockToleranceMs, openInChat } from './chat-approvals.ts'

export class LastMessages {
  #clock: Clock
  #isOwners: (address: Address) => boolean
  #times = new Map<string, number>()
  /** When each question was shown, by chat and approval. */
  #shown = new Map<string, number>()

  constructor(clock: Clock, isOwners: (address: Address) => boolean) {
    this.#clock = clock
    this.#isOwners = isOwners
  }

  /** Records the time of the message by our clock; by the platform's clock if its delivery was delayed. */
  received({ address, sentAt }: Message): void {
    const now = this.#clock.now()
    this.#record(address, sentAt < now - clockToleranceMs ? sentAt : now)
  }

  sent({ address, reply }: Delivery): void {
    const now = this.#clock.now()
    if (reply.approvalId === undefined) this.#record(address, now)
    else this.#shown.set(`${reply.approvalId} ${chatKey(address)}`, now)
  }

  /** A terminal shows its questions itself, when they are asked. */
  shownAt(address: Address, { id, askedAt }: Approval): number {
    return this.#shown.get(`${id} ${chatKey(address)}`) ?? askedAt
  }

  at(address: Address): number {
    return this.#times.get(chatKey(address)) ?? 0
  }

  #record(address: Address, time: number): void {
    if (this.#isOwners(address)) this.#times.set(chatKey(address), Math.max(time, this.at(address)))
  }
}

/**
 * The command that the owner's plain words mean as an answer to a pending question. Only in private chats: in a group others
 * read along. A reply answers the question that it is a reply to, as we recorded it when we sent the question: the quoted text
 * proves nothing, because agents and programs write texts too. For the same reason a reply to another notice of a coding session
 * allows nothing; it only answers what the session wants to know. Words that are no reply answer the questions that were shown after the
 * last message in the chat; if there are none, the words are a message to the agent.
 */
export function commandForAnswer(
  app: App,
  { isOwners, lastMessages }: { isOwners: (address: Address) => boolean; lastMessages: LastMessages },
  message: Message,
  answered: AnsweredNotice | undefined,
): string | undefined {
  const { address, replyTo, text } = message
  if (message.event !== 'message' || message.chatType !== 'direct' || !isOwners(address)) return undefined
  const agentId = boundAgent(message, app.config.bindings) ?? defaultAgentId(app.config)
  const key = sessionKeyOf(message, agentId, app.config.session)
  const open = openInChat(app, address, key)
  if (answered)
    return answerByReply(askedBefore(askedBy(open, answered), message.sentAt + clockToleranceMs), text)
  if (replyTo) return undefined
  const lastSaidAt = Math.max(lastMessages.at(address), app.startedAt)
  const last = open.filter((approval) => lastMessages.shownAt(address, approval) >= lastSaidAt)
  return answerInWords(askedBefore(last, message.sentAt + plainToleranceMs), text)
}

/** Words that are no reply may have been written before the question was seen. Telegram counts in seconds. */
const plainToleranceMs = 2_000

function askedBy(open: Approval[], { approvalId, codingId }: AnsweredNotice): Approval[] {
  if (approvalId !== undefined) return open.filter(({ id }) => id === approvalId)
  return open.filter((approval) => approval.codingId === codingId && approval.kind === 'question')
}
