// Answers in plain words, such as "yes", in the owner's private chats. Words that are no reply answer the question that is the
// last message of the chat. The shared store says which one that is, so it is known after a restart and on every machine.
import { sleep } from '../domain/async.ts'
import { chatKey, isSamePersonsChat, isTerminal, plainPerson, type Address } from '../domain/address.ts'
import type { Approval } from '../domain/coding-session.ts'
import type { Message } from '../domain/message.ts'
import { defaultAgentId, sessionKeyOf } from '../domain/session-key.ts'
import type { AnsweredNotice } from '../flow/reply-routing.ts'
import { chatKeyStart } from '../inbound/admit.ts'
import { boundAgent } from '../inbound/bindings.ts'
import type { App } from '../operations/app.ts'
import type { ShownDelivery } from '../store/work-store.ts'
import { answerByReply, answerInWords, openInChat } from './chat-approvals.ts'

/**
 * The command that the owner's plain words mean as an answer to a pending question. Only in private chats: in a group others read
 * along. A reply answers the question that it is a reply to, as we recorded it when we sent the question: the quoted text proves
 * nothing, because agents and programs write texts too. For the same reason a reply to another notice of a coding session allows
 * nothing; it only answers what the session wants to know. Words that are no reply answer the questions that the chat showed
 * after every other message, before the words were written; if there are none, the words are a message to the agent.
 */
export async function commandForAnswer(
  app: App,
  isOwners: (address: Address) => boolean,
  message: Message,
  answered: AnsweredNotice | undefined,
): Promise<string | undefined> {
  const { address, event, replyTo } = message
  const isWritten = event === 'message' || event === 'command'
  if (!isWritten || message.chatType !== 'direct' || !isOwners(address)) return undefined
  const agentId = boundAgent(message, app.config.bindings) ?? defaultAgentId(app.config)
  const key = sessionKeyOf(message, agentId, app.config.session)
  const open = openInChat(app, address, key)
  const words = wordsOf(message.text)
  const chat = { app, message, key }
  if (answered?.approvalId !== undefined)
    return answerByReply(
      open.filter(({ id }) => id === answered.approvalId),
      words,
    )
  if (answered) return answerByReply(await askedBySession(chat, open, answered.codingId), words)
  // Words beside a file are about the file.
  if (replyTo || message.media.length > 0) return undefined
  // Returns before it reads the store, because most messages are no answers.
  const meant = open.filter((approval) => answerInWords([approval], words) !== undefined)
  if (meant.length === 0) return undefined
  const { certain, uncertain } = await shownLast(chat, open)
  if (uncertain.some((approval) => meant.includes(approval))) return askWhich
  return answerInWords(certain, words)
}

/** Without an id, a command of a chat answers nothing; the person gets the open questions with their ids. */
const askWhich = '/approve'

/** A command without an id is as unclear as a plain "yes" is. */
function wordsOf(text: string): string {
  const [, command, all = ''] = /^\/(approve|deny)(?:@\w+)?( all)?$/i.exec(text.trim()) ?? []
  if (command === undefined) return text
  return `${command.toLowerCase() === 'approve' ? 'yes' : 'no'}${all.toLowerCase()}`
}

/** The largest expected difference between the times of two machines in the shared outbox and inbox, which have the database's
 *  time. */
const clockToleranceMs = 5_000

/** A question has the time of the machine that asks, whose clock may be wrong by hours, as with a wrong time zone. */
const wrongClockMs = 86_400_000

const confirmedWithinMs = 3_000

/** Some platforms count in seconds. */
const smallestStepMs = 1_000

/** A message of a chat, and the chat's session. */
interface Chat {
  app: App
  message: Message
  key: string
}

/** When a chat showed a question. */
interface Shown {
  approval: Approval
  /** By the clock of the process that sent it: not earlier than this. */
  since: number
  isForeign: boolean
  /** By the platform's clock: when the platform had accepted it. */
  at: number
  /** Absent for a question that a terminal shows itself. */
  row?: ShownDelivery
}

/** What a coding session wants to know, as far as the writer of this message can have seen it. */
async function askedBySession(
  chat: Chat,
  open: Approval[],
  codingId: string | undefined,
): Promise<Approval[]> {
  const asked = open.filter((approval) => approval.codingId === codingId && approval.kind === 'question')
  if (asked.length === 0) return []
  const shown = await shownOf(chat, asked, await deliveriesSince(chat, asked))
  return shown.filter((one) => mayHaveSeen(chat, one)).map(({ approval }) => approval)
}

/** The questions that were shown after every other message of the chat, and before this message was written. It is uncertain for a
 *  question of the same second, for one that the platform has not confirmed, and if a turn wrote to the chat meanwhile, because
 *  its preview may be the last message. */
async function shownLast(
  chat: Chat,
  open: Approval[],
): Promise<{ certain: Approval[]; uncertain: Approval[] }> {
  const { app, message, key } = chat
  const deliveries = await confirmedDeliveries(chat, open)
  const isOpen = new Set<string | undefined>(open.map(({ id }) => id))
  const others = deliveries.filter(({ delivery }) => !isOpen.has(delivery.reply.approvalId))
  const received = isTerminal(message.address) ? { lane: key } : { keyStart: chatKeyStart(message.address) }
  const receivedAt = (await app.storage.work.inbox.lastAcceptedAt(received)) ?? 0
  const last = (await shownOf(chat, open, deliveries))
    .filter((one) => mayHaveSeen(chat, one))
    .filter((one) => receivedAt < one.since - toleranceOf(one))
    .filter((one) => others.every((other) => isBefore(other, one)))
  const turns = last.length === 0 ? [] : await turnsWritingTo(chat)
  const isCertain = (one: Shown): boolean =>
    message.sentAt > one.at &&
    turns.every(({ lane, until }) => lane === one.approval.sessionKey || until < one.since - toleranceOf(one))
  const [certain = [], uncertain = []] = [true, false].map((wanted) =>
    last.filter((one) => isCertain(one) === wanted).map(({ approval }) => approval),
  )
  return { certain, uncertain: [...uncertain, ...unconfirmed(open, deliveries, ['attempting', 'unknown'])] }
}

/** A person may read a question and answer it before the platform's confirmation is here and stored, so wait for that. */
async function confirmedDeliveries(chat: Chat, open: Approval[]): Promise<ShownDelivery[]> {
  const { clock } = chat.app
  const until = clock.monotonic() + confirmedWithinMs
  for (;;) {
    const deliveries = await deliveriesSince(chat, open)
    if (unconfirmed(open, deliveries, ['attempting']).length === 0 || clock.monotonic() > until)
      return deliveries
    await sleep(clock, 50)
  }
}

function unconfirmed(
  open: Approval[],
  deliveries: ShownDelivery[],
  states: Array<ShownDelivery['state']>,
): Approval[] {
  const ids = deliveries
    .filter(({ state }) => states.includes(state))
    .map(({ delivery }) => delivery.reply.approvalId)
  return open.filter(({ id }) => ids.includes(id))
}

/** The deliveries of all processes that people may have seen in this chat since the first of these questions was asked. */
async function deliveriesSince({ app, message }: Chat, open: Approval[]): Promise<ShownDelivery[]> {
  const { address } = message
  const { work, cluster } = app.storage
  const earlierMs = cluster ? wrongClockMs : clockToleranceMs
  const since = Math.min(...open.map(({ askedAt }) => askedAt)) - earlierMs
  const found = await work.outbox.shownSince(since, plainPerson(address))
  return found.filter(({ delivery }) => isSamePersonsChat(delivery.address, address))
}

/** The questions that the platform has accepted in this chat. */
async function shownOf(chat: Chat, open: Approval[], deliveries: ShownDelivery[]): Promise<Shown[]> {
  const all = await Promise.all(open.map((approval) => shownIn(chat, approval, deliveries)))
  return all.filter((one) => one !== undefined)
}

async function shownIn(
  { app, message: { address }, key }: Chat,
  approval: Approval,
  deliveries: ShownDelivery[],
): Promise<Shown | undefined> {
  const { id, askedAt, codingId, sessionKey } = approval
  // A terminal itself shows the questions of its own turns.
  if (isTerminal(address) && codingId === undefined && sessionKey === key)
    return { approval, since: askedAt, isForeign: false, at: askedAt }
  const row = deliveries.findLast(
    ({ delivery, state }) => state === 'sent' && delivery.reply.approvalId === id,
  )
  const messageId = row?.messageIds.at(-1)
  if (!row || messageId === undefined || !isSameThread(row.delivery.address, address)) return undefined
  const sent = await app.storage.replyMap.find(row.delivery.address, messageId)
  if (sent?.approvalId !== id) return undefined
  return { approval, since: row.updatedAt, isForeign: row.isForeign, at: sent.sentAt, row }
}

function mayHaveSeen({ message }: Chat, { at }: Shown): boolean {
  return message.sentAt > at - smallestStepMs
}

function isSameThread(one: Address, other: Address): boolean {
  return chatKey({ ...one, to: '' }) === chatKey({ ...other, to: '' })
}

/** Did people see this before the question, for certain? */
function isBefore(other: ShownDelivery, question: Shown): boolean {
  const hasEnded = other.state === 'sent' || other.state === 'dead'
  const toleranceMs = other.isForeign || question.isForeign ? clockToleranceMs : 0
  if (!hasEnded) return false
  return (
    other.updatedAt < question.since - toleranceMs || (toleranceMs === 0 && isJustBefore(other, question))
  )
}

/** In the same millisecond, which happens in a terminal: deliveries of one lane are sent in order. */
function isJustBefore(other: ShownDelivery, { row, since }: Shown): boolean {
  return other.updatedAt === since && other.delivery.lane === row?.delivery.lane && other.seq < row.seq
}

function toleranceOf({ isForeign }: Shown): number {
  return isForeign ? clockToleranceMs : 0
}

/** A turn that may have shown a preview in this chat. */
interface WritingTurn {
  lane: string
  /** When it ended; Infinity while it runs. */
  until: number
}

/** How many of the latest turns may have left a preview below a question. */
const mostEndedTurns = 200

/** Running turns that answer messages of this chat, and ended ones that may have left a preview: those of the chat's own session,
 *  and those of all others that did not complete. A completed turn sends its reply, which is in the outbox. */
async function turnsWritingTo({ app, message: { address }, key }: Chat): Promise<WritingTurn[]> {
  const { lanes } = app.storage.work
  const running = (await lanes.running())
    .filter(({ inputs }) => inputs.some(({ message }) => isSamePersonsChat(message.address, address)))
    .map(({ lane }) => ({ lane, until: Infinity }))
  const own = await lanes.history({ lane: key, limit: 1 })
  const others = (await lanes.history({ limit: mostEndedTurns })).filter(({ end }) => end !== 'completed')
  return [...running, ...[...own, ...others].map(({ lane, endedAt }) => ({ lane, until: endedAt }))]
}
