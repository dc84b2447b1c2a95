// Things the program tells the agent before the next message: a model was switched, a background task ended.
// Each event waits for one session, is said once, and stands in front of the message as `System: [time] …`.
import { stripInvisible } from './normalize.ts'

export interface SystemEvent {
  text: string
  /** Milliseconds since 1970. */
  at: number
}

export const MAX_SYSTEM_EVENTS = 20

/** Takes the waiting events of a session and puts them in front of the text. */
export async function prependSystemEvents(params: {
  sessionKey: string
  prefixedBodyBase: string
  /** Gives the events of this session and forgets them. */
  drain: (sessionKey: string) => Promise<SystemEvent[]>
  timeZone?: string
  /** Said once at the beginning of a main session: which channels are there. */
  channelSummary?: readonly string[]
  isMainSession?: boolean
  isNewSession?: boolean
}): Promise<string> {
  const events = await params.drain(params.sessionKey)
  const summary = params.isMainSession && params.isNewSession ? (params.channelSummary ?? []) : []
  const lines = [
    ...summary.map((line) => `System: ${flat(line)}`),
    ...events.map((event) => formatSystemEvent(event, params.timeZone)),
  ]
  return lines.length === 0 ? params.prefixedBodyBase : `${lines.join('\n')}\n\n${params.prefixedBodyBase}`
}

/** `System: [2026-01-12 12:19:17 PST] Model switched.` */
export function formatSystemEvent(event: SystemEvent, timeZone?: string): string {
  return `System: [${formatMoment(event.at, timeZone)}] ${flat(event.text)}`
}

/** `2026-01-12 12:19:17 PST` */
export function formatMoment(at: number, timeZone?: string): string {
  const parts = new Intl.DateTimeFormat('en-US', {
    ...(timeZone === undefined ? {} : { timeZone }),
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
