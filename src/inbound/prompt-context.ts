// The text around a message in the prompt: events of the program as lines `System: [time] …` before it, and messages of the
// group since the agent's last reply.
import { CURRENT_MESSAGE_MARKER, HISTORY_CONTEXT_MARKER, oneLine, stripInvisible } from './message-text.ts'
import type { OverheardEntry } from '../store/work-store.ts'

export interface SystemEvent {
  text: string
  /** Milliseconds since 1970. */
  at: number
}

export const MAX_SYSTEM_EVENTS = 20

/** The text with a line for each notice and each event before it. */
export function withSystemLines(
  text: string,
  notices: readonly string[],
  events: readonly SystemEvent[],
  timeZone?: string,
): string {
  const lines = [
    ...notices.map((notice) => `System: ${flat(notice)}`),
    ...events.map((event) => formatSystemEvent(event, timeZone)),
  ]
  return lines.length === 0 ? text : `${lines.join('\n')}\n\n${text}`
}

/** `System: [2026-01-12 12:19:17 PST] Model switched.` */
export function formatSystemEvent(event: SystemEvent, timeZone?: string): string {
  return `System: [${formatMoment(event.at, timeZone)}] ${flat(event.text)}`
}

/** `2026-01-12 12:19:17 PST` */
function formatMoment(at: number, timeZone?: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
    hourCycle: 'h23',
    timeZoneName: 'short',
  }).formatToParts(at)
  const part = (type: Intl.DateTimeFormatPartTypes): string => parts.find((p) => p.type === type)?.value ?? ''
  const day = `${part('year')}-${part('month')}-${part('day')}`
  return `${day} ${part('hour')}:${part('minute')}:${part('second')} ${part('timeZoneName')}`
}

function flat(text: string): string {
  return stripInvisible(text.replace(/\s*[\r\n\u2028\u2029]+\s*/g, ' ')).trim()
}

/** How many groups have a history; the least recently used ones are removed. */
export const MAX_HISTORY_KEYS = 1000

/** A group message that did not address the agent. */
export type HistoryEntry = Omit<OverheardEntry, 'id'>

/** The history of a group and the current message in one text. */
export function buildHistoryContext<T extends HistoryEntry>(
  entries: readonly T[],
  currentMessage: string,
  formatEntry: (entry: T) => string,
): string {
  if (entries.length === 0) return currentMessage
  return [
    HISTORY_CONTEXT_MARKER,
    ...entries.map(formatEntry),
    '',
    CURRENT_MESSAGE_MARKER,
    currentMessage,
  ].join('\n')
}

/** `[WhatsApp 120363@g.us 2026-01-13T07:45Z] Alice: hello` */
export function formatEnvelope(params: {
  channel: string
  chat: string
  timestamp?: number
  sender: string
  body: string
}): string {
  const when =
    params.timestamp === undefined ? '' : ` ${new Date(params.timestamp).toISOString().slice(0, 16)}Z`
  const where = `${channelTitle(params.channel)} ${oneLine(params.chat, 100)}${when}`
  return `[${where}] ${oneLine(params.sender, 100)}: ${params.body}`
}

function channelTitle(channel: string): string {
  const known: Record<string, string> = {
    whatsapp: 'WhatsApp',
    telegram: 'Telegram',
    discord: 'Discord',
    web: 'Web',
  }
  return Object.hasOwn(known, channel) ? known[channel]! : oneLine(channel, 40)
}
