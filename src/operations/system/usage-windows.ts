// The usage windows of the Claude subscription, as `status` shows them: how much is used, how fast, and when a window will be used
// up. Claude reports them to our sessions, to the status line of Claude Code, and in transcripts when a limit stops a session.
import { z } from 'zod'
import { beginningOf, forecast, windowName } from '../../domain/usage-window.ts'
import type { UsageWindow } from '../../domain/usage-window.ts'
import { reportedToStatusline } from '../../store/statusline-file.ts'
import type { App } from '../app.ts'

export const usageWindowRow = z.object({
  window: z.string().describe("Claude's name: `five_hour`, `seven_day`, `seven_day_opus`, …"),
  name: z.string().describe('For people: `5 hours`, `week`, `week, Opus`.'),
  usedPercent: z.number().describe('Claude’s last report, and what our sessions spent since.'),
  state: z.enum(['open', 'nearly used', 'used up']),
  resetsAt: z.number(),
  reportedAt: z.number(),
  percentPerHour: z.number().describe('The pace of the last reports.'),
  endsAt: z.number().optional().describe('When it is used up at this pace; absent if it resets before.'),
  forecast: z.string().describe('"at this pace the window ends at 16:40"'),
  spentUsd: z.number().describe('What our coding sessions cost in this window.'),
})
export type UsageWindowRow = z.infer<typeof usageWindowRow>

/** Stores what the status line and transcripts report, then shows all windows that have not reset. */
export async function usageWindows(app: App): Promise<UsageWindowRow[]> {
  const { usage } = app.storage
  const reports = [...reportedToStatusline(app.paths.root), ...(await reportedInTranscripts(app))]
  for (const report of reports) await usage.report(report)
  const now = app.clock.now()
  return usage.current(now).map((window) => rowOf(app, window, now))
}

/** Sessions that a limit stopped and that is not reset yet. */
async function reportedInTranscripts(app: App) {
  const { sessions } = await app.discovery().list({ limit: 200 })
  return sessions.flatMap(({ limit, lastModified }) =>
    limit?.window === undefined
      ? []
      : [{ id: limit.window, used: 1, resetsAt: limit.until, isRejected: true, at: lastModified.getTime() }],
  )
}

/** From this share on a window is nearly used. */
const nearly = 0.8

function rowOf(app: App, window: UsageWindow, now: number): UsageWindowRow {
  const { id, resetsAt, samples, isRejected } = window
  const { at } = samples.at(-1)!
  const spentUsd = app.storage.spend.since(beginningOf(window), {})
  const spent = { untilReport: spentUsd - app.storage.spend.since(at, {}), untilNow: spentUsd }
  const { used, perHour, endsAt } = forecast(window, now, spent)
  const state = isRejected || used >= 1 ? 'used up' : used >= nearly ? 'nearly used' : 'open'
  const time = clockTime(app.config.timeZone, now)
  return {
    window: id,
    name: windowName(id),
    usedPercent: Math.round(used * 1_000) / 10,
    state,
    resetsAt,
    reportedAt: at,
    percentPerHour: Math.round(perHour * 1_000) / 10,
    endsAt: state === 'used up' ? undefined : endsAt,
    forecast: forecastText(state === 'used up', endsAt, resetsAt, time),
    spentUsd,
  }
}

function forecastText(
  isUsedUp: boolean,
  endsAt: number | undefined,
  resetsAt: number,
  time: (moment: number) => string,
): string {
  if (isUsedUp) return `used up; it resets at ${time(resetsAt)}`
  if (endsAt !== undefined) return `at this pace the window ends at ${time(endsAt)}`
  return `at this pace it lasts until the reset at ${time(resetsAt)}`
}

/** `16:40`; with the day when that is not within a day. */
function clockTime(timeZone: string | undefined, now: number): (moment: number) => string {
  const short = new Intl.DateTimeFormat('en-GB', { timeStyle: 'short', timeZone })
  const withDay = new Intl.DateTimeFormat('en-GB', {
    weekday: 'short',
    hour: '2-digit',
    minute: '2-digit',
    timeZone,
  })
  return (moment) => (moment - now < 20 * 3_600_000 ? short : withDay).format(moment)
}
