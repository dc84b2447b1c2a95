// The times that a question names. `in July 2023`, `on 7 July` or `2023-07-07` is evidence: what was said then, or soon after,
// is more likely meant. `yesterday` or `last week` limits the search to that time.

/** A day, or a month, perhaps of a certain year. */
export interface NamedTime {
  /** Undefined: any year. */
  year?: number
  /** From 0. */
  month: number
  day?: number
}

interface TimeRange {
  since: number
  until: number
  /** The question without the words for the time. */
  rest: string
}

const months = 'january february march april may june july august september october november december'.split(
  ' ',
)
const dayMs = 86_400_000
const monthName = months.map((month) => `${month.slice(0, 3)}(?:${month.slice(3)})?`).join('|')
const named = new RegExp(
  `(?:\\b(\\d{1,2})(?:st|nd|rd|th)?\\s+(?:of\\s+)?)?\\b(${monthName})\\b\\.?(?:\\s+(\\d{1,2})(?:st|nd|rd|th)?\\b(?!\\d))?(?:,?\\s*(20\\d\\d))?`,
  'gi',
)
const written = /\b(20\d\d)-(\d\d)-(\d\d)\b/g

export function timesNamedIn(text: string): NamedTime[] {
  const times: NamedTime[] = []
  for (const [, before, month, after, year] of text.matchAll(named)) {
    const day = before ?? after
    if (day === undefined && year === undefined && !isSurelyMonth(month!)) continue
    times.push({
      month: months.findIndex((each) => each.startsWith(month!.toLowerCase().slice(0, 3))),
      day: day === undefined ? undefined : Number(day),
      year: year === undefined ? undefined : Number(year),
    })
  }
  for (const [, year, month, day] of text.matchAll(written)) {
    times.push({ year: Number(year), month: Number(month) - 1, day: Number(day) })
  }
  return times
}

/** `may` and `march` are words, too; a month by itself must be written in full, with a capital, and not be `May`. */
function isSurelyMonth(word: string): boolean {
  return word.length > 3 && /^[A-Z]/.test(word)
}

/** 1 for what was said at one of these times, less for what was said in the weeks after, 0 for everything else. */
export function nearnessInTime(at: number, times: NamedTime[]): number {
  if (at === 0) return 0
  const saidIn = new Date(at).getUTCFullYear()
  const near = times.flatMap((time) =>
    (time.year === undefined ? [saidIn, saidIn - 1] : [time.year]).map((year) => nearnessTo(at, time, year)),
  )
  return Math.max(0, ...near)
}

function nearnessTo(at: number, { month, day }: NamedTime, year: number): number {
  const from = Date.UTC(year, month, day ?? 1)
  const to = day === undefined ? Date.UTC(year, month + 1, 1) : from + dayMs
  if (at < from - dayMs) return 0
  const daysLater = (at - to) / dayMs
  if (daysLater <= 0) return 1
  return day === undefined ? 0.6 - daysLater / 30 : 1 - daysLater / 14
}

const relative =
  /\b(?:(today|yesterday)|(last|this|past) (week|month|year)|(?:in the )?last (\d{1,3}) (days|weeks|months)|(\d{1,3}) (day|week|month)s? ago)\b/i

/** The time that is said from now: `yesterday`, `last week`, `3 days ago`; undefined if there is none. */
export function timeRangeIn(text: string, now: number): TimeRange | undefined {
  const found = relative.exec(text)
  if (!found) return undefined
  const rest = text.replace(found[0], ' ')
  // A query of nothing but a time searches for these words.
  if (!/[\p{L}\p{N}]/u.test(rest)) return undefined
  const [, day, which, unit, count, units, ago, agoUnit] = found.map((part) => part?.toLowerCase())
  const today = startOf('day', now)
  if (day === 'today') return { since: today, until: now + dayMs, rest }
  if (day === 'yesterday') return { since: startOf('day', today - dayMs / 2), until: today, rest }
  if (count !== undefined)
    return { since: now - Number(count) * daysOf(units!) * dayMs, until: now + dayMs, rest }
  if (ago !== undefined) {
    const at = now - Number(ago) * daysOf(agoUnit!) * dayMs
    const slack = (daysOf(agoUnit!) * dayMs) / 2
    return { since: startOf('day', at - slack), until: startOf('day', at + slack) + dayMs, rest }
  }
  const start = startOf(unit as 'week', now)
  if (which === 'this') return { since: start, until: now + dayMs, rest }
  if (which === 'past') return { since: now - daysOf(unit!) * dayMs, until: now + dayMs, rest }
  return { since: startOf(unit as 'week', start - dayMs / 2), until: start, rest }
}

function daysOf(unit: string): number {
  return unit.startsWith('day') ? 1 : unit.startsWith('week') ? 7 : unit.startsWith('month') ? 30 : 365
}

/** The beginning of the day, the week (on Monday), the month or the year, in local time. */
function startOf(unit: 'day' | 'week' | 'month' | 'year', time: number): number {
  const date = new Date(time)
  date.setHours(0, 0, 0, 0)
  if (unit === 'week') date.setDate(date.getDate() - ((date.getDay() + 6) % 7))
  if (unit === 'month' || unit === 'year') date.setDate(1)
  if (unit === 'year') date.setMonth(0)
  return date.getTime()
}
