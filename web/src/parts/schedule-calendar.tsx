// The calendar of schedules: two weeks in weeks of seven days; on a phone only the days on which something is due, one below
// another. A schedule that is due more than twice a day would fill every day, so it is listed above the calendar.
import type { OutputOf } from '../../../src/rpc/client.ts'
import { clock, visible } from '../format.ts'

export type Schedule = OutputOf<'schedules.list'>['schedules'][number]

export const calendarDays = 14
const mostInCalendar = 2 * calendarDays

interface Entry {
  at: number
  name: string
}

export function Calendar({ schedules }: { schedules: Schedule[] }) {
  const frequent = schedules.filter(({ calendar = [] }) => calendar.length > mostInCalendar)
  const entries = schedules
    .filter((schedule) => !frequent.includes(schedule))
    .flatMap(({ name, calendar = [] }) => calendar.map((at) => ({ at, name })))
    .sort((a, b) => a.at - b.at)
  const byDay = Map.groupBy(entries, ({ at }) => dayOf(at))
  return (
    <section aria-labelledby="upcoming">
      <h2 id="upcoming">Upcoming</h2>
      {frequent.length > 0 && (
        <p>
          Several times a day:{' '}
          {frequent.map(({ id, name, times, nextTimes: [next] }, n) => (
            <span key={id}>
              {n > 0 && '; '}
              <strong>{visible(name)}</strong> ({visible(times)}
              {next !== undefined && `, next ${clock(next)}`})
            </span>
          ))}
        </p>
      )}
      <ol class="calendar">
        {shownDays(Date.now()).map((day, n) => (
          <Day
            key={day.getTime()}
            day={day}
            isToday={n === 0}
            entries={byDay.get(dayOf(day.getTime())) ?? []}
          />
        ))}
      </ol>
    </section>
  )
}

const dayName = new Intl.DateTimeFormat(undefined, { weekday: 'short', day: 'numeric', month: 'short' })
const timeOfDay = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' })
const mostOfDay = 6

function Day({ day, isToday, entries }: { day: Date; isToday: boolean; entries: Entry[] }) {
  const rest = entries.length - mostOfDay
  return (
    <li class={entries.length === 0 ? 'is-empty' : undefined} aria-current={isToday ? 'date' : undefined}>
      <h3>{isToday ? `Today, ${dayName.format(day)}` : dayName.format(day)}</h3>
      <ul>
        {entries.slice(0, mostOfDay).map(({ at, name }) => (
          <li key={`${name} ${at}`}>
            <time dateTime={new Date(at).toISOString()}>{timeOfDay.format(at)}</time> {visible(name)}
          </li>
        ))}
        {rest > 0 && <li class="faint">{rest} more</li>}
      </ul>
    </li>
  )
}

function shownDays(now: number): Date[] {
  return Array.from({ length: calendarDays }, (_, n) => {
    const day = new Date(now)
    day.setDate(day.getDate() + n)
    return day
  })
}

function dayOf(at: number): string {
  return new Date(at).toDateString()
}
