// Events that the program adds before the next message of a session: a model was switched, a background task ended. Each
// event is shown to the agent once, as a line `System: [time] …` before the message.
import { stripInvisible } from './normalize.ts'

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
