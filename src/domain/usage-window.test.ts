import { expect, test } from 'vitest'
import { afterReport, forecast, windowName, type UsageReport, type UsageWindow } from './usage-window.ts'

const hour = 3_600_000
const start = Date.parse('2026-11-17T12:00:00Z')
const resetsAt = start + 5 * hour

function report(hours: number, used: number, more: Partial<UsageReport> = {}): UsageReport {
  return { id: 'five_hour', used, resetsAt, isRejected: false, at: start + hours * hour, ...more }
}

function windowAfter(...reports: UsageReport[]): UsageWindow {
  return reports.reduce<UsageWindow | undefined>(
    (window, each) => afterReport(window, each) ?? window,
    undefined,
  )!
}

test('the pace of the last hour tells when the window is used up', () => {
  const window = windowAfter(report(1, 0.1), report(2, 0.4), report(3, 0.7))
  const { perHour, endsAt } = forecast(window, start + 3 * hour)
  expect(perHour).toBeCloseTo(0.3)
  expect(endsAt).toBeCloseTo(start + 4 * hour, -3)
})

test('a single report is taken as the pace since the window began', () => {
  const { perHour, endsAt } = forecast(windowAfter(report(2, 0.5)), start + 2 * hour)
  expect(perHour).toBeCloseTo(0.25)
  expect(endsAt).toBeCloseTo(start + 4 * hour, -3)
})

test('a window that resets before it is used up has no end', () => {
  expect(forecast(windowAfter(report(4, 0.4)), start + 4 * hour).endsAt).toBeUndefined()
})

test('what our sessions spent since the last report counts as used', () => {
  const { used } = forecast(windowAfter(report(2, 0.5)), start + 3 * hour, { untilReport: 10, untilNow: 14 })
  expect(used).toBeCloseTo(0.7)
})

test('a later reset begins a new window, an earlier one is a late report', () => {
  const window = windowAfter(report(1, 0.9))
  const next = afterReport(window, report(5.1, 0.01, { resetsAt: resetsAt + 5 * hour }))!
  expect(next.samples).toEqual([{ at: start + 5.1 * hour, used: 0.01 }])
  expect(afterReport(next, report(6, 0.95))).toBeUndefined()
})

test('repeated reports are not stored, and old ones are thinned out', () => {
  const window = windowAfter(report(1, 0.5))
  expect(afterReport(window, report(1.001, 0.5))).toBeUndefined()
  const many = windowAfter(...Array.from({ length: 200 }, (_, n) => report(1 + n / 50, n / 250)))
  expect(many.samples.length).toBeLessThanOrEqual(60)
  expect(many.samples.at(-1)!.used).toBe(199 / 250)
})

test('windows have names that people read', () => {
  const ids = ['five_hour', 'seven_day', 'seven_day_opus', 'something_new']
  expect(ids.map(windowName)).toEqual(['5 hours', 'week', 'week, Opus', 'something new'])
})
