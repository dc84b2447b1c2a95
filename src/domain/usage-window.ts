// The usage windows of a Claude subscription: how much of the 5 hours and of the week is used, as Claude reports it, how fast, and
// when a window will be used up at this pace. Everything here is pure; store/sqlite/usage-store.ts keeps the windows.

/** One window as Claude reports it. `used` is a share: 1 is all of it. */
export interface UsageReport {
  /** Claude's name of the window: `five_hour`, `seven_day`, `seven_day_opus`, … */
  id: string
  used: number
  resetsAt: number
  isRejected: boolean
  at: number
}

export interface UsageWindow {
  id: string
  resetsAt: number
  isRejected: boolean
  /** The reports since the last reset, the oldest first, thinned out. The last one is the latest. */
  samples: Array<{ at: number; used: number }>
}

const hourMs = 3_600_000
const keptSamples = 60
/** Claude's times of one reset differ by seconds between answers. */
const sameResetMs = 10 * 60_000
/** Closer reports replace each other, unless the usage has changed. */
const closeMs = 60_000

/** The window after a report; undefined when the report says nothing new. */
export function afterReport(window: UsageWindow | undefined, report: UsageReport): UsageWindow | undefined {
  const { id, used, resetsAt, isRejected, at } = report
  const latest = { at, used }
  if (!window || resetsAt > window.resetsAt + sameResetMs)
    return { id, resetsAt, isRejected, samples: [latest] }
  const last = window.samples.at(-1)!
  // A report that arrives late, from another machine or from a transcript.
  if (resetsAt < window.resetsAt - sameResetMs || at <= last.at) return undefined
  if (used === last.used && isRejected === window.isRejected && at - last.at < closeMs) return undefined
  const before = at - last.at < closeMs ? window.samples.slice(0, -1) : window.samples
  return { id, resetsAt, isRejected, samples: thinned([...before, latest]) }
}

/** Every second sample is dropped when there are too many: the first and the last stay. */
function thinned(samples: UsageWindow['samples']): UsageWindow['samples'] {
  if (samples.length <= keptSamples) return samples
  return samples.filter((_, place) => place % 2 === 0 || place === samples.length - 1)
}

interface Forecast {
  /** The share that is used now: the last report, and what was used since at the same price. */
  used: number
  /** The share that is used in an hour at this pace. */
  perHour: number
  /** When the window will be used up at this pace; undefined when it resets before. */
  endsAt?: number
}

/** How long a window is: the pace before the first two reports is the average since its beginning. */
function lengthOf(id: string): number {
  return id.startsWith('five_hour') ? 5 * hourMs : 7 * 24 * hourMs
}

/** The pace of the last part of the window: an hour of five, a day and a half of a week. */
function paceOf({ id, resetsAt, samples }: UsageWindow): number {
  const last = samples.at(-1)!
  const recentMs = lengthOf(id) / 5
  const first = samples.find(({ at }) => at >= last.at - recentMs)!
  const hours = (last.at - first.at) / hourMs
  // Two reports within a few minutes say little.
  if (last.at - first.at >= recentMs / 6) return Math.max(0, (last.used - first.used) / hours)
  const sinceStart = Math.max(last.at - (resetsAt - lengthOf(id)), recentMs / 6)
  return last.used / (sinceStart / hourMs)
}

/**
 * `spent`: what our own sessions cost since the window began, until the last report and until now. It tells how much was used
 * since Claude last reported.
 */
export function forecast(
  window: UsageWindow,
  now: number,
  spent: { untilReport: number; untilNow: number } = { untilReport: 0, untilNow: 0 },
): Forecast {
  const last = window.samples.at(-1)!
  const perUsd = spent.untilReport > 0 ? last.used / spent.untilReport : 0
  const used = last.used + Math.max(0, spent.untilNow - spent.untilReport) * perUsd
  const perHour = paceOf(window)
  if (used >= 1) return { used, perHour, endsAt: Math.min(now, last.at) }
  if (perHour === 0) return { used, perHour }
  const endsAt = now + ((1 - used) / perHour) * hourMs
  return endsAt < window.resetsAt ? { used, perHour, endsAt } : { used, perHour }
}

/** Until when new work must wait, because a window is used up or only its reserve is left; undefined when there is room. */
export function reservedUntil(
  windows: readonly UsageWindow[],
  reservePercent: number,
  now: number,
): number | undefined {
  const full = windows.filter(({ resetsAt, isRejected, samples }) => {
    const isReserved = reservePercent > 0 && samples.at(-1)!.used >= 1 - reservePercent / 100
    return resetsAt > now && (isRejected || isReserved)
  })
  return full.length === 0 ? undefined : Math.max(...full.map(({ resetsAt }) => resetsAt))
}

/** When the window began. */
export function beginningOf({ id, resetsAt }: Pick<UsageWindow, 'id' | 'resetsAt'>): number {
  return resetsAt - lengthOf(id)
}

const names: Readonly<Record<string, string>> = {
  five_hour: '5 hours',
  seven_day: 'week',
  seven_day_overage_included: 'week with extra usage',
  overage: 'extra usage',
}

/** For people: `5 hours`, `week`, `week, Opus`. */
export function windowName(id: string): string {
  const model = /^seven_day_([a-z]+)$/.exec(id)?.[1]
  if (Object.hasOwn(names, id)) return names[id]!
  return model === undefined ? id.replaceAll('_', ' ') : `week, ${model[0]!.toUpperCase()}${model.slice(1)}`
}
