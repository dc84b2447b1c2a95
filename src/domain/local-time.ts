// Clock time and dates in a time zone. Days have 23 or 25 hours twice a year, so nothing here counts in 24 hours.

/** Formats moments as the date there: `2026-03-29`. The machine's time zone when none is given. */
export function dayIn(timeZone?: string): (moment: number) => string {
  // Sweden writes dates as ISO does.
  const format = new Intl.DateTimeFormat('sv-SE', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  })
  const days = new Map<number, string>()
  return (moment) => {
    // Formatting is slow. Zones differ by quarters of an hour, so within a quarter the date cannot change.
    const quarter = Math.floor(moment / 900_000)
    let day = days.get(quarter)
    if (day === undefined) days.set(quarter, (day = format.format(moment)))
    return day
  }
}

type Period = 'day' | 'week' | 'month'

/** The first day of a day, a week or a month: `2026-03-29`, its Monday, `2026-03`. */
export function periodOf(period: Period, day: string): string {
  if (period === 'month') return day.slice(0, 7)
  const sinceMonday = (new Date(`${day}T00:00:00Z`).getUTCDay() + 6) % 7
  return period === 'day' ? day : daysAfter(day, -sinceMonday)
}

/** The period after one that `periodOf` gave. */
export function nextPeriod(period: Period, key: string): string {
  if (period !== 'month') return daysAfter(key, period === 'day' ? 1 : 7)
  return daysAfter(`${key}-28`, 4).slice(0, 7)
}

function daysAfter(day: string, count: number): string {
  return new Date(Date.parse(`${day}T00:00:00Z`) + count * 86_400_000).toISOString().slice(0, 10)
}

/** The latest moment, not after `now`, at which clocks in the time zone showed this full hour. */
export function lastTimeAtHour(hour: number, now: number, timeZone?: string): number {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  })
  const today = wallTime(clock, now)
  const midnight = today - (today % 86_400_000)
  const atHour = (day: number): number => momentOf(clock, day + hour * 3_600_000)
  const moment = atHour(midnight)
  return moment <= now ? moment : atHour(midnight - 86_400_000)
}

/** What the clock shows at a moment, as if that were a time in UTC. */
function wallTime(clock: Intl.DateTimeFormat, moment: number): number {
  const parts = new Map(clock.formatToParts(moment).map(({ type, value }) => [type, Number(value)]))
  const part = (type: Intl.DateTimeFormatPartTypes): number => parts.get(type)!
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'), part('second'))
}

/** When the clock shows `wall`: the first time if it does so twice, the moment of the jump if it never does. */
function momentOf(clock: Intl.DateTimeFormat, wall: number): number {
  const offsetAt = (moment: number): number => wallTime(clock, moment) - moment
  const before = offsetAt(wall - 86_400_000)
  const after = offsetAt(wall + 86_400_000)
  const showing = [before, after]
    .map((offset) => wall - offset)
    .filter((moment) => wallTime(clock, moment) === wall)
  return showing.length > 0 ? Math.min(...showing) : wall - before
}
