// The prompt of a turn: what people wrote, who wrote it, what others said in the group before, and what has happened since.
import type { Message } from '../domain/message.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import { appendUntrustedContext, cleanText, senderLabel, withSeenLineEnds } from '../inbound/message-text.ts'
import { buildHistoryContext, formatEnvelope, withSystemLines } from '../inbound/prompt-context.ts'
import { eventAuthor, hasFewerRights, isUntrustedEvent } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import type { OverheardEntry, SystemEventRow, TurnOutcome, WaitingInput } from '../store/work-store.ts'
import { commandIn } from './chat-commands.ts'
import type { HeldBack, TurnParts } from './flow-parts.ts'
import { collectPrompt } from './questions.ts'
import type { TurnInput } from './turn-place.ts'
import { authorOfSession } from './turn-rights.ts'
import type { TurnSession } from './turn-session.ts'

export interface ComposedPrompt {
  /** For the agent. */
  text: string
  /** For the transcript: what people wrote, in each input. */
  questions: string[]
  /** Events and group messages in this prompt; they are removed from the store when the turn ends. */
  received?: TurnOutcome['received']
  /** Events that need a turn with fewer rights. */
  heldBack?: HeldBack
  /** The text is a command to Claude Code itself. */
  command?: boolean
}

interface PromptSource {
  found: TurnSession
  inputs: readonly TurnInput[]
  /** Texts of messages that were dropped from the full queue. */
  dropped: readonly string[]
  /** For whom the turn is taken. */
  author: Author
}

export async function composePrompt(turn: PromptSource, parts: TurnParts): Promise<ComposedPrompt> {
  const { found, inputs, dropped } = turn
  const first = inputs[0]!
  const command = commandIn(first.text.forCommands, first, parts)
  if (command?.kind === 'built-in' && command.name === 'compact') {
    const text = `/compact ${command.rest}`.trim()
    return { text, questions: [text], command: true }
  }
  const questions = [found.text, ...inputs.slice(1).map(({ text }) => text.forAgent)]
  const group = hasOverheard(first, parts) ? historyKeyOf(first.message) : undefined
  const overheard = group === undefined ? [] : await parts.work.overheard.list(group)
  const { events, heldBack } = await eventsFor(turn, parts)
  const quoted = events.flatMap(({ text }) => (isUntrustedEvent(text) ? [text] : []))
  const untrusted = [...inputs.flatMap(({ text }) => text.untrusted), ...quoted]
  const text = withOverheard(
    appendUntrustedContext(collectPrompt(questions, dropped), untrusted),
    first.message,
    overheard,
  )
  const startsMain = found.isNew && classifySessionKey(found.session.key).kind === 'main'
  const summary = startsMain ? (parts.channelSummary?.() ?? []) : []
  const ours = events.filter((event) => !isUntrustedEvent(event.text))
  return {
    text: withSystemLines(
      [...notesFor(found, first), text].join('\n\n'),
      summary,
      ours,
      parts.config.timeZone,
    ),
    questions,
    heldBack,
    received: {
      systemEvents: events.map((event) => event.id),
      overheard:
        group !== undefined && overheard.length > 0 ? { group, upTo: overheard.at(-1)!.id } : undefined,
    },
  }
}

/** What the agent must know about the circumstances of this turn. */
function notesFor({ session, isNew }: TurnSession, first: WaitingInput): string[] {
  const { entry } = session
  const notes: string[] = []
  if (first.lostTurns > 0)
    notes.push('[Retried: this message may have been begun before. Look before you repeat an action.]')
  if (!isNew && entry.abortedLastRun === true)
    notes.push('Note: the previous turn was stopped by the user. Go on carefully, or ask.')
  if (entry.groupActivationNeedsSystemIntro)
    notes.push(
      entry.groupActivation === 'always'
        ? 'Activation: always. You see every message of this group. Answer only when it helps; otherwise say NO_REPLY.'
        : 'Activation: mention. You see a message of this group when somebody addresses you.',
    )
  return notes
}

/** The events that this turn may read, and the last of those that need a turn with fewer rights. */
async function eventsFor(
  { found, author }: PromptSource,
  parts: TurnParts,
): Promise<{ events: SystemEventRow[]; heldBack?: ComposedPrompt['heldBack'] }> {
  const { key, entry } = found.session
  const rows = await parts.work.systemEvents.waiting(key)
  if (rows.length === 0) return { events: [] }
  const sessionAuthor = authorOfSession(key, entry, parts)
  const waiting = rows.map((event) => ({ event, author: eventAuthor(event.text, sessionAuthor) }))
  const last = waiting.findLast((one) => hasFewerRights(one.author, author))
  return {
    events: waiting.filter((one) => one.author === author).map(({ event }) => event),
    heldBack: last && { author: last.author, upTo: last.event.id },
  }
}

/** `<channel>:<account>:<kind>:<chat>`: names the history of one group, independent of its session. */
export function historyKeyOf(message: Pick<Message, 'address' | 'chatType'>): string {
  const { channel, accountId, to, threadId } = message.address
  const thread = threadId === undefined ? '' : `:${threadId}`
  return `${channel}:${accountId}:${message.chatType}:${to}${thread}`
}

/** A group message that did not address the agent, as its history keeps it. */
export function overheardEntry(message: Message): Omit<OverheardEntry, 'id'> {
  return {
    sender: senderLabel(message.sender) ?? 'somebody',
    body: cleanText(message.text),
    timestamp: message.sentAt,
    messageId: message.id,
  }
}

function hasOverheard({ message }: WaitingInput, { config }: TurnParts): boolean {
  return message.chatType !== 'direct' && config.messages.groupChat.historyLimit > 0
}

function withOverheard(text: string, message: Message, overheard: readonly OverheardEntry[]): string {
  if (overheard.length === 0) return text
  const envelope = { channel: message.address.channel, chat: message.address.to }
  const sender = message.sender.name ?? senderLabel(message.sender) ?? 'somebody'
  const current = formatEnvelope({ ...envelope, timestamp: message.sentAt, sender, body: text })
  // A second line of a message could look like the message of another person.
  return buildHistoryContext(overheard, current, (entry) =>
    formatEnvelope({ ...envelope, ...entry, body: withSeenLineEnds(entry.body) }),
  )
}
