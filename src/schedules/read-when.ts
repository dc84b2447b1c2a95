// Reads when a schedule is due from words that people write: `weekdays 9:00`, `every 15 minutes`, `tomorrow 18:30`, `in 2 hours`, a
// date and a time, or a cron expression. Words with two meanings are refused with examples instead of guessed.
import { RockpoolError } from '../domain/errors.ts'
import { dayIn } from '../domain/local-time.ts'
import type { When } from '../domain/schedule.ts'
import { parsedCron } from './times.ts'

const units: Readonly<Record<string, number>> = { second: 1, minute: 60, hour: 3_600, day: 86_400 }
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat']
const shortestEveryMs = 60_000
const farthestMs = 10 * 366 * 86_400_000

interface Place {
  now: number
  timeZone: string
}

/** Throws when the words mean nothing, or two things. */
export function readWhen(words: string, place: Place): When {
  const text = words.trim().toLowerCase().replaceAll(/\s+/g, ' ')
  const found =
    readInterval(text, place) ?? readDelay(text, place) ?? readMoment(text, place) ?? readDays(text, place)
  if (found) return withinReach(found, words, place.now)
  if (/^[@*\d][^a-z]*( [^ ]+){4,5}$/.test(text) || /^(\S+ ){4,5}\S+$/.test(text))
    return readCron(words.trim(), place)
  throw notUnderstood(words)
}

/** A calendar cannot show every number: what is due in millions of years is a mistake. */
function withinReach(when: When, words: string, now: number): When {
  const untilDueMs = when.kind === 'once' ? when.at - now : when.kind === 'every' ? when.everyMs : 0
  if (untilDueMs <= farthestMs) return when
  throw new RockpoolError('input-invalid', `${words} is more than ten years away.`, {
    hint: 'Name an earlier time.',
  })
}

/** The time at the beginning of a text, and the rest: `tomorrow 9:00 call Bob`. */
export function splitWhen(text: string, place: Place): { when: When; rest: string } {
  const words = text.trim().split(/\s+/)
  let failure: unknown = notUnderstood(text)
  for (let count = Math.min(words.length - 1, 7); count > 0; count--) {
    try {
      const when = readWhen(words.slice(0, count).join(' '), place)
      return { when, rest: words.slice(count).join(' ') }
    } catch (error) {
      // A shorter beginning may be a time; a time in the past is the better explanation. Of a cron expression with seconds the
      // first five fields are another time.
      if (String(error).includes('once a minute')) throw error
      if (String(error).includes('in the past')) failure = error
    }
  }
  throw failure
}

/** A sixth field, in front, has the seconds. */
function readCron(cron: string, { timeZone }: Place): When {
  parsedCron(cron, timeZone)
  const fields = cron.split(/\s+/)
  if (fields.length > 5 && !/^\d+$/.test(fields[0]!)) throw tooOften()
  return { kind: 'cron', cron, timeZone }
}

/** `every 15 minutes`, `hourly`, `every hour`. A day is not 24 hours in every zone: `every day` is read as days. */
function readInterval(text: string, { now }: Place): When | undefined {
  if (text === 'hourly' || text === 'every hour') return { kind: 'every', everyMs: 3_600_000, from: now }
  const [, count, unit] = /^every (\d+) ?(second|minute|hour|day)s?$/.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const everyMs = Number(count) * units[unit]! * 1_000
  if (everyMs < shortestEveryMs) throw tooOften()
  return { kind: 'every', everyMs, from: now }
}

function tooOften(): RockpoolError {
  return new RockpoolError('input-invalid', 'A schedule runs at most once a minute.', {
    hint: 'Examples: "every 1 minute", or cron with five fields: "* * * * *".',
  })
}

/** `in 10 minutes`, `in 2h`. */
function readDelay(text: string, { now }: Place): When | undefined {
  const [, count, unit] = /^in (\d+) ?(s|second|m|min|minute|h|hour|d|day)s?$/.exec(text) ?? []
  if (count === undefined || unit === undefined) return undefined
  const whole = { s: 'second', m: 'minute', min: 'minute', h: 'hour', d: 'day' }[unit] ?? unit
  return { kind: 'once', at: now + Number(count) * units[whole]! * 1_000 }
}

/** `today 18:00`, `tomorrow 9am`, `2026-12-01 09:00`, `2026-12-01T09:00:00Z`. */
function readMoment(text: string, place: Place): When | undefined {
  const { now, timeZone } = place
  if (/^\d{4}-\d\d-\d\dt[\d:.]+(z|[+-]\d\d:?\d\d)$/.test(text))
    return onceAt(Date.parse(text.toUpperCase()), text, now)
  const [, day, rest] = /^(today|tomorrow|\d{4}-\d\d-\d\d)[ t](?:at )?(.+)$/.exec(text) ?? []
  if (day === undefined || rest === undefined) return undefined
  const time = readTime(rest)
  if (!time) throw notUnderstood(text)
  const today = dayIn(timeZone)(now)
  const date = day === 'today' ? today : day === 'tomorrow' ? dayAfter(today) : day
  const local = `${date}T${two(time.hour)}:${two(time.minute)}:00`
  return onceAt(parsedCron(local, timeZone).nextRun(new Date(0))?.getTime() ?? Number.NaN, text, now)
}

function onceAt(at: number, text: string, now: number): When {
  if (Number.isNaN(at)) throw notUnderstood(text)
  if (at > now) return { kind: 'once', at }
  throw new RockpoolError('input-invalid', `${text} is in the past.`, { hint: 'Name a later time.' })
}

/** `weekdays 9:00`, `daily at 18:30`, `mondays 8am`, `mon,thu 7:15`, `monthly 9:00` (on the first). */
function readDays(text: string, { timeZone }: Place): When | undefined {
  const [, days, rest] = /^(?:every )?([a-z]+(?:(?:, ?| and )[a-z]+)*) (?:at )?([\d].*)$/.exec(text) ?? []
  const time = rest === undefined ? undefined : readTime(rest)
  if (days === undefined || !time) return undefined
  const at = `${time.minute} ${time.hour}`
  const cron = (fields: string): When => ({ kind: 'cron', cron: `${at} ${fields}`, timeZone })
  if (days === 'daily' || days === 'day') return cron('* * *')
  if (days === 'weekdays' || days === 'weekday') return cron('* * 1-5')
  if (days === 'weekends' || days === 'weekend') return cron('* * 0,6')
  if (days === 'monthly' || days === 'month') return cron('1 * *')
  const numbers = days.split(/, ?| and /).map((day) => dayNumber(day))
  return numbers.includes(-1) ? undefined : cron(`* * ${numbers.join(',')}`)
}

function dayNumber(day: string): number {
  const isDay =
    /^(sun(day)?|mon(day)?|tue(s|sday)?|wed(nesday)?|thu(rs|rsday)?|fri(day)?|sat(urday)?)s?$/.test(day)
  return isDay ? weekdays.indexOf(day.slice(0, 3)) : -1
}

/** `9:00`, `18:30`, `9am`, `9:30 pm`; a bare `9` could be either half of the day. */
function readTime(text: string): { hour: number; minute: number } | undefined {
  const [, hours, minutes, half] = /^(\d{1,2})(?::(\d\d))? ?(am|pm)?$/.exec(text) ?? []
  if (hours === undefined || (minutes === undefined && half === undefined)) return undefined
  const hour = half === undefined ? Number(hours) : (Number(hours) % 12) + (half === 'pm' ? 12 : 0)
  const minute = Number(minutes ?? 0)
  const isWrong =
    hour > 23 || minute > 59 || (half !== undefined && (Number(hours) > 12 || Number(hours) < 1))
  return isWrong ? undefined : { hour, minute }
}

/** For people: what was understood. */
export function describeWhen(when: When): string {
  if (when.kind === 'cron') return `${describeCron(when.cron)} (${when.timeZone})`
  if (when.kind === 'once') return 'once'
  const seconds = when.everyMs / 1_000
  const unit = ['day', 'hour', 'minute'].find((name) => seconds % (units[name] ?? 1) === 0) ?? 'second'
  const count = seconds / units[unit]!
  return count === 1 ? `every ${unit}` : `every ${count} ${unit}s`
}

/** In the words that `readDays` reads, if they can say it. */
function describeCron(cron: string): string {
  const [, minute, hour, date, days] = /^(\d+) (\d+) (\*|1) \* (\*|[\d,-]+)$/.exec(cron) ?? []
  if (minute === undefined || hour === undefined || (date === '1' && days !== '*')) return cron
  const known: Readonly<Record<string, string>> = { '*': 'daily', '1-5': 'weekdays', '0,6': 'weekends' }
  const named = /^[0-6](,[0-6])*$/.test(days!)
    ? days!.split(',').map((day) => weekdays[Number(day)])
    : undefined
  const words = date === '1' ? 'monthly' : (known[days!] ?? named?.join(', '))
  return words === undefined ? cron : `${words} ${Number(hour)}:${two(Number(minute))}`
}

function dayAfter(day: string): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + 86_400_000).toISOString().slice(0, 10)
}

function two(part: number): string {
  return String(part).padStart(2, '0')
}

function notUnderstood(words: string): RockpoolError {
  return new RockpoolError(
    'input-invalid',
    `${JSON.stringify(words.slice(0, 80))} is no time that I understand.`,
    {
      hint: 'Examples: "weekdays 9:00", "mondays 8:30", "every 15 minutes", "tomorrow 18:00", "in 2 hours", "2026-12-01 09:00", or cron: "0 9 * * 1-5".',
    },
  )
}
