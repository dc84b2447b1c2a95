import { expect, test } from 'vitest'
import type { When } from '../domain/schedule.ts'
import { describeWhen, readWhen, splitWhen } from './read-when.ts'
import { dueTimes, jitterOf, nextTimes } from './times.ts'

const iso = (times: number[]): string[] => times.map((time) => new Date(time).toISOString().slice(0, 16))
const at = (text: string): number => Date.parse(`${text}Z`)

/** The due times of a cron expression in a zone, in UTC. */
function times(cron: string, timeZone: string, after: string, count: number): string[] {
  const when = { kind: 'cron', cron, timeZone } as const
  return iso(nextTimes({ when }, at(after), count))
}

test.each<[zone: string, what: string, cron: string, after: string, due: string[]]>([
  // Clocks jump from 2:00 to 3:00: 2:30 does not exist and is due at the jump.
  ['Europe/Berlin', 'spring', '30 2 * * *', '2026-03-28T12:00', ['2026-03-29T01:00', '2026-03-30T00:30']],
  // Clocks show 2:30 twice: it is due the first time only.
  ['Europe/Berlin', 'autumn', '30 2 * * *', '2026-10-24T12:00', ['2026-10-25T00:30', '2026-10-26T01:30']],
  ['America/New_York', 'spring', '30 2 * * *', '2026-03-07T12:00', ['2026-03-08T07:00', '2026-03-09T06:30']],
  ['America/New_York', 'autumn', '30 1 * * *', '2026-10-31T12:00', ['2026-11-01T05:30', '2026-11-02T06:30']],
  // Half an hour only.
  [
    'Australia/Lord_Howe',
    'spring',
    '15 2 * * *',
    '2026-10-03T00:00',
    ['2026-10-03T15:30', '2026-10-04T15:15'],
  ],
  [
    'Australia/Lord_Howe',
    'autumn',
    '45 1 * * *',
    '2026-04-03T20:00',
    ['2026-04-04T14:45', '2026-04-05T15:15'],
  ],
  // No change at all.
  ['Asia/Kolkata', 'no change', '0 9 * * *', '2026-03-28T12:00', ['2026-03-29T03:30', '2026-03-30T03:30']],
])('a daily time in %s (%s) is due once a day', (zone, _what, cron, after, due) => {
  expect(times(cron, zone, after, 2)).toEqual(due)
})

test.each(['Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe', 'Pacific/Auckland', 'UTC'])(
  'in a whole year every day has exactly one 02:30 in %s, and every hour its run',
  (timeZone) => {
    const start = at('2026-01-01T00:00')
    const daily = nextTimes({ when: { kind: 'cron', cron: '30 2 * * *', timeZone } }, start, 365)
    const day = new Intl.DateTimeFormat('sv-SE', { timeZone, dateStyle: 'short' })
    expect(new Set(daily.map((time) => day.format(time))).size).toBe(365)
    expect(daily.every((time, n) => n === 0 || time > daily[n - 1]!)).toBe(true)
  },
)

test('an hourly schedule runs every hour of the long and the short night', () => {
  expect(times('0 * * * *', 'Europe/Berlin', '2026-10-24T22:30', 4)).toEqual([
    '2026-10-24T23:00',
    '2026-10-25T00:00',
    '2026-10-25T01:00',
    '2026-10-25T02:00',
  ])
  expect(times('0 * * * *', 'Europe/Berlin', '2026-03-28T23:30', 3)).toEqual([
    '2026-03-29T00:00',
    '2026-03-29T01:00',
    '2026-03-29T02:00',
  ])
})

const hourly: When = { kind: 'every', everyMs: 3_600_000, from: at('2026-11-17T00:00') }

test.each([
  ['skip', [], [7, 8, 9]],
  ['once', [{ due: 9, missedBefore: 2 }], []],
  ['all', [7, 8, 9].map((due) => ({ due, missedBefore: 0 })), []],
] as const)('missed times with the policy %s', (missed, runs, skipped) => {
  const hour = (time: number): number => (time - at('2026-11-17T00:00')) / 3_600_000
  const found = dueTimes({ when: hourly, missed }, at('2026-11-17T07:00'), at('2026-11-17T09:30'))
  expect(found.runs.map(({ due, missedBefore }) => ({ due: hour(due), missedBefore }))).toEqual(runs)
  expect(found.skipped.map(hour)).toEqual(skipped)
  expect(hour(found.next!)).toBe(10)
})

test('every minute of a month: the latest are kept, the older ones are counted as one, and it takes no seconds', () => {
  const when = { kind: 'cron', cron: '* * * * *', timeZone: 'Europe/Berlin' } as const
  const now = at('2026-11-17T00:00')
  const began = performance.now()
  const all = dueTimes({ when, missed: 'all' }, at('2026-10-17T00:00'), now)
  expect(performance.now() - began).toBeLessThan(2_000)
  expect(iso([all.runs[0]!.due, all.runs.at(-1)!.due, all.next!])).toEqual([
    '2026-11-16T22:19',
    '2026-11-17T00:00',
    '2026-11-17T00:01',
  ])
  // The first run of those that are kept stands for the others.
  expect(all.runs.map(({ missedBefore }) => missedBefore > 1_000)).toEqual([
    true,
    ...all.runs.slice(1).map(() => false),
  ])
})

test('not before and not after bound the times; the jitter of a time is always the same', () => {
  const bounds = { notBefore: at('2026-11-17T03:00'), notAfter: at('2026-11-17T04:00') }
  expect(iso(nextTimes({ when: hourly, ...bounds }, at('2026-11-17T00:00'), 9))).toEqual([
    '2026-11-17T03:00',
    '2026-11-17T04:00',
  ])
  const schedule = { id: 'abc', jitterSeconds: 60 }
  const jitters = Array.from({ length: 50 }, (_, due) => jitterOf(schedule, due))
  expect(jitters).toEqual(Array.from({ length: 50 }, (_, due) => jitterOf(schedule, due)))
  expect(Math.min(...jitters)).toBeGreaterThanOrEqual(0)
  expect(Math.max(...jitters)).toBeLessThan(60_000)
  expect(new Set(jitters).size).toBeGreaterThan(40)
})

const place = { now: at('2026-11-17T08:00'), timeZone: 'Europe/Berlin' }

test.each<[words: string, first: string]>([
  ['weekdays 9:00', '2026-11-18T08:00'],
  ['Daily at 9:30', '2026-11-17T08:30'],
  ['every day 18:00', '2026-11-17T17:00'],
  ['mondays 8:30', '2026-11-23T07:30'],
  ['mon, thu 7am', '2026-11-19T06:00'],
  ['sat and sun 10:00', '2026-11-21T09:00'],
  ['monthly 9:00', '2026-12-01T08:00'],
  ['every 15 minutes', '2026-11-17T08:15'],
  ['hourly', '2026-11-17T09:00'],
  ['in 2 hours', '2026-11-17T10:00'],
  ['in 10m', '2026-11-17T08:10'],
  ['tomorrow 9:00', '2026-11-18T08:00'],
  ['today at 6pm', '2026-11-17T17:00'],
  ['2026-12-01 09:00', '2026-12-01T08:00'],
  ['2026-12-01T09:00:00Z', '2026-12-01T09:00'],
  ['*/20 9-17 * * 1-5', '2026-11-17T08:20'],
])('%s is understood', (words, first) => {
  expect(iso(nextTimes({ when: readWhen(words, place) }, place.now, 1))).toEqual([first])
})

test.each([
  '9',
  'daily 9',
  'someday 9:00',
  'every 10 seconds',
  '25:00',
  'today 7:00',
  '61 9 * * *',
  '* * * * * *',
  '*/30 * * * * *',
  '0,30 0 9 * * *',
  'daily 13pm',
  '',
])('%s is refused with a remedy', (words) => {
  expect(() => readWhen(words, place)).toThrow(
    expect.objectContaining({ hint: expect.any(String) as string }),
  )
})

test.each(['* * * * * * say hi', 'every 10 seconds say hi'])('%s is too often, not another time', (text) => {
  expect(() => splitWhen(text, place)).toThrow('A schedule runs at most once a minute.')
})

test('a cron expression may name the second of the minute', () => {
  const when = readWhen('30 0 9 * * *', place)
  expect(iso(nextTimes({ when }, place.now, 1))).toEqual(['2026-11-17T08:00'])
})

test('what was understood is said, in words that are understood again', () => {
  for (const words of ['daily 9:05', 'weekdays 18:00', 'weekends 0:30', 'mon, thu 7:00', 'monthly 9:00'])
    expect(describeWhen(readWhen(words, place))).toBe(`${words} (Europe/Berlin)`)
  for (const cron of ['*/20 9-17 * * 1-5', '0 9 1 * 1', '0 9 2 * *', '0 9 * * 1-3'])
    expect(describeWhen(readWhen(cron, place))).toBe(`${cron} (Europe/Berlin)`)
  expect(describeWhen(readWhen('weekdays 9:00', place))).toBe('weekdays 9:00 (Europe/Berlin)')
  expect(describeWhen(readWhen('every 90 minutes', place))).toBe('every 90 minutes')
  expect(describeWhen(readWhen('every 24 hours', place))).toBe('every day')
})
