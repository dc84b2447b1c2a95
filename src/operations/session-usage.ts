// sessions.usage: what sessions used and cost, by the totals that their rows keep.
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { Session } from '../domain/session.ts'
import { operation } from './operation.ts'
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
  says: 'Say what sessions used and cost.',
  input: z.strictObject({
    key: z.string().min(1).max(2000).optional().describe('Only this session.'),
    agentId: z.string().optional().describe('Only this agent.'),
    startDate: z.string().optional().describe('Only sessions active on or after this day, YYYY-MM-DD.'),
    endDate: z.string().optional().describe('Only sessions active on or before this day, YYYY-MM-DD.'),
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
      : await allSessions(visibleAgents(app, caller, input.agentId).map((id) => app.sessions(id)))
    const from = dayStart(input.startDate, 'startDate') ?? -Infinity
    const to = (dayStart(input.endDate, 'endDate') ?? Infinity) + 24 * 60 * 60 * 1000
    const rows = sessions
      .filter(({ entry }) => entry.updatedAt >= from && entry.updatedAt < to)
      .map((session) => ({ ...usageOf(session), ...identify(session) }))
      .sort((a, b) => b.costUsd - a.costUsd || b.inputTokens - a.inputTokens)
    return {
      ts: app.clock.now(),
      totals: sum(rows),
      count: rows.length,
      sessions: rows.slice(0, input.limit),
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

function dayStart(day: string | undefined, field: string): number | undefined {
  if (day === undefined) return undefined
  const at = /^\d{4}-\d{2}-\d{2}$/.test(day) ? new Date(`${day}T00:00:00`).getTime() : Number.NaN
  if (!Number.isNaN(at)) return at
  throw new RockpoolError('input-invalid', `${field}: ${JSON.stringify(day)} is not a day like 2026-11-15.`)
}
