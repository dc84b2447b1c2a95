// sessions.usage: what sessions used and cost, by the totals that their rows keep.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { dayIn } from '../../domain/local-time.ts'
import type { Session } from '../../domain/session.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { findSession, visibleAgents } from './which-session.ts'

const totals = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  costUsd: z.number(),
})
type Totals = z.infer<typeof totals>

export const sessionUsage = operation({
  name: 'sessions.usage',
  description: 'Say what sessions used and cost.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).optional().describe('Only this session.'),
    agentId: z.string().optional().describe('Only this agent.'),
    startDate: z.string().optional().describe('Only sessions active on or after this day, YYYY-MM-DD.'),
    endDate: z.string().optional().describe('Only sessions active on or before this day, YYYY-MM-DD.'),
    mode: z
      .enum(['gateway', 'utc', 'specific'])
      .default('gateway')
      .describe("Whose days: the configured time zone's, UTC's, or those of --utc-offset."),
    utcOffset: z.string().max(20).optional().describe('For `specific`: an offset like +05:30 or UTC-5.'),
    includeContextWeight: z.boolean().default(false).describe('Also what fills the context of each.'),
    limit: z.int().min(1).max(10_000).default(50).describe('How many sessions, the most expensive first.'),
  }),
  output: z.object({
    ts: z.number(),
    totals,
    count: z.number(),
    sessions: z.array(
      totals.extend({
        key: z.string(),
        agentId: z.string(),
        sessionId: z.string(),
        updatedAt: z.number(),
        model: z.string().optional(),
        contextWeight: z.unknown().optional(),
      }),
    ),
  }),
  scope: 'read',
  forAgents: true,
  command: {
    positional: ['key'],
    flags: { agentId: 'agent' },
    examples: ['rockpool sessions usage --start-date 2026-11-01'],
  },
  async run(app, input, caller) {
    const sessions = input.key
      ? [await findSession(app, caller, input.key, input.agentId)]
      : await allSessions(visibleAgents(app, caller, input.agentId).map((id) => app.storage.sessions(id)))
    const from = checkDay(input.startDate, 'startDate') ?? '0'
    const to = checkDay(input.endDate, 'endDate') ?? '9'
    const dayOf = dayIn(zoneOf(input, app.config.timeZone))
    const isWithin = (at: number): boolean => dayOf(at) >= from && dayOf(at) <= to
    const rows = sessions
      .filter(({ entry }) => isWithin(entry.updatedAt))
      .map((session) => ({ ...usageOf(session), ...identify(session) }))
      .sort((a, b) => b.costUsd - a.costUsd || b.inputTokens - a.inputTokens)
    const shown = rows.slice(0, input.limit)
    return {
      ts: app.clock.now(),
      totals: sum(rows),
      count: rows.length,
      sessions: input.includeContextWeight
        ? await Promise.all(shown.map(async (row) => ({ ...row, contextWeight: await weightOf(app, row) })))
        : shown,
    }
  },
})

async function allSessions(stores: Array<{ list(): Promise<{ sessions: Session[] }> }>): Promise<Session[]> {
  return (await Promise.all(stores.map((store) => store.list()))).flatMap((page) => page.sessions)
}

function identify({ key, agentId, entry }: Session): {
  key: string
  agentId: string
  sessionId: string
  updatedAt: number
  model?: string
} {
  const { sessionId, updatedAt, model } = entry
  return { key, agentId, sessionId, updatedAt, model }
}

function usageOf({ entry }: Session): Totals {
  return {
    inputTokens: entry.inputTokens ?? 0,
    outputTokens: entry.outputTokens ?? 0,
    cacheRead: entry.cacheRead ?? 0,
    cacheWrite: entry.cacheWrite ?? 0,
    costUsd: entry.estimatedCostUsd ?? 0,
  }
}

function sum(rows: Totals[]): Totals {
  const total: Totals = { inputTokens: 0, outputTokens: 0, cacheRead: 0, cacheWrite: 0, costUsd: 0 }
  for (const row of rows)
    for (const name of Object.keys(total) as Array<keyof Totals>) total[name] += row[name]
  return total
}

function checkDay(day: string | undefined, field: string): string | undefined {
  if (day === undefined) return undefined
  if (/^\d{4}-\d{2}-\d{2}$/.test(day) && !Number.isNaN(Date.parse(`${day}T00:00:00Z`))) return day
  throw new RockpoolError('input-invalid', `${field}: ${JSON.stringify(day)} is not a day like 2026-11-15.`)
}

/** A name or an offset that Intl knows; the machine's own zone when it is undefined. */
function zoneOf(
  { mode, utcOffset }: { mode: string; utcOffset?: string },
  configured: string | undefined,
): string | undefined {
  if (mode === 'utc') return 'UTC'
  if (mode === 'gateway') return configured
  const [, sign, hours, minutes = '00'] =
    /^(?:UTC)?([+-])(\d{1,2})(?::?([0-5]\d))?$/.exec(utcOffset ?? '') ?? []
  if (hours !== undefined && Number(hours) <= 14) return `${sign}${hours.padStart(2, '0')}:${minutes}`
  throw new RockpoolError('input-invalid', 'mode `specific` needs utcOffset, like +05:30 or UTC-5.')
}

/** The day of a moment, as 2026-11-15. */

/** What the system prompt, the skills and the tools take of the context, as the last turn reported it. */
async function weightOf(app: App, row: { agentId: string; key: string }): Promise<unknown> {
  return (await app.storage.sessions(row.agentId).get(row.key))?.systemPromptReport
}
