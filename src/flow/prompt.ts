// The text that a turn begins with: what people said, who said it, what was said around it, what happened meanwhile.
import type { Config } from '../domain/config.ts'
import type { Message } from '../domain/message.ts'
import { classifySessionKey } from '../domain/session-key-forms.ts'
import { buildHistoryContext, formatEnvelope } from '../inbound/group-history.ts'
import { appendUntrustedContext, cleanText, senderLabel } from '../inbound/message-text.ts'
import { prependSystemEvents } from '../inbound/system-events.ts'
import { eventAuthor, hasFewerRights, isUntrustedEvent } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import type { OverheardEntry, SystemEventRow, WaitingInput, WorkStore } from '../store/work-store.ts'
import { collectPrompt } from './queue-settings.ts'

export interface HeldBack {
  author: Author
  upTo: number
}

export interface ComposedPrompt {
  /** What the agent is given. */
  text: string
  /** What the transcript keeps: the people's own words. */
  said: string
  /** What the turn was told, to be forgotten when it is over. */
  heard: { systemEvents: number[]; overheard?: { group: string; upTo: number } }
  /** Words of others that wait for a turn with fewer rights: whose, and up to which event. */
  heldBack?: HeldBack
}

export interface PromptParts {
  work: Pick<WorkStore, 'overheard' | 'systemEvents'>
  config: Config
}

export interface About {
  sessionKey: string
  isNewSession: boolean
  /** Which channels are there; told at the beginning of a main session. */
  channelSummary: readonly string[]
  notes: readonly string[]
  /** Whose turn it is, and whose session. */
  author: Author
  sessionAuthor: Author
}

/** One of the inputs of a turn, with the text that is left of it after commands. */
export interface SpokenInput {
  input: WaitingInput
  text: string
  untrusted: readonly string[]
}

export async function composePrompt(
  spoken: readonly SpokenInput[],
  dropped: readonly string[],
  about: About,
  parts: PromptParts,
): Promise<ComposedPrompt> {
  const first = spoken[0]!
  const said = collectPrompt(
    spoken.map(({ text }) => text),
    dropped,
  )
  const untrusted = spoken.flatMap((one) => one.untrusted)
  const overheard = await overheardBefore(first.input, parts)
  const { events, heldBack } = await eventsFor(about, parts)
  const quoted = events.flatMap(({ text }) => (isUntrustedEvent(text) ? [text] : []))
  const withHistory = withOverheard(appendUntrustedContext(said, [...untrusted, ...quoted]), first, overheard)
  const noted = [...about.notes, withHistory].join('\n\n')
  const ours = events.filter(({ text }) => !isUntrustedEvent(text))
  const text = await withEvents(noted, ours, about, parts.config.timeZone)
  return {
    text,
    said,
    ...(heldBack === undefined ? {} : { heldBack }),
    heard: {
      systemEvents: events.map((event) => event.id),
      ...(overheard.length === 0
        ? {}
        : { overheard: { group: historyKeyOf(first.input.message), upTo: overheard.at(-1)!.id } }),
    },
  }
}

/** The events that are told in this turn, and the last of those that need a turn with fewer rights. */
async function eventsFor(about: About, parts: PromptParts) {
  const waiting = (await parts.work.systemEvents.waiting(about.sessionKey)).map((event) => ({
    event,
    author: eventAuthor(event.text, about.sessionAuthor),
  }))
  const last = waiting.findLast(({ author }) => hasFewerRights(author, about.author))
  return {
    events: waiting.filter(({ author }) => author === about.author).map(({ event }) => event),
    heldBack: last && { author: last.author, upTo: last.event.id },
  }
}

/** `<channel>:<account>:<kind>:<chat>`: what was said in one group, whatever session it belongs to. */
export function historyKeyOf(message: Pick<Message, 'address' | 'chatType'>): string {
  const { channel, accountId, to, threadId } = message.address
  const thread = threadId === undefined ? '' : `:${threadId}`
  return `${channel}:${accountId}:${message.chatType}:${to}${thread}`
}

/** What a group message looks like to somebody who only overheard it. */
export function overheardEntry(message: Message): Omit<OverheardEntry, 'id'> {
  return {
    sender: senderLabel(message.sender) ?? 'somebody',
    body: cleanText(message.text),
    timestamp: message.sentAt,
    messageId: message.id,
  }
}

async function overheardBefore(input: WaitingInput, parts: PromptParts): Promise<OverheardEntry[]> {
  const { message } = input
  if (message.chatType === 'direct' || parts.config.messages.groupChat.historyLimit <= 0) return []
  return parts.work.overheard.list(historyKeyOf(message))
}

function withOverheard(text: string, first: SpokenInput, overheard: readonly OverheardEntry[]): string {
  if (overheard.length === 0) return text
  const { message } = first.input
  const envelope = { channel: message.address.channel, chat: message.address.to }
  const [line = '', ...rest] = text.split('\n')
  const sender = message.sender.name ?? senderLabel(message.sender) ?? 'somebody'
  const current = formatEnvelope({
    ...envelope,
    timestamp: message.sentAt,
    sender,
    body: [line, ...rest].join('\n'),
  })
  return buildHistoryContext(overheard, current, (entry) => formatEnvelope({ ...envelope, ...entry }))
}

async function withEvents(
  text: string,
  events: SystemEventRow[],
  about: About,
  timeZone: string | undefined,
): Promise<string> {
  return prependSystemEvents({
    ...about,
    isMainSession: classifySessionKey(about.sessionKey).kind === 'main',
    prefixedBodyBase: text,
    drain: async () => events,
    ...(timeZone === undefined ? {} : { timeZone }),
  })
}
