// Operations that show a session without changing it: its row, its stored entry, its usage.
import { z } from 'zod'
import { RockpoolError } from '../../domain/errors.ts'
import { dayIn } from '../../domain/local-time.ts'
import { buildAgentMainSessionKey, defaultAgentId } from '../../domain/session-key.ts'
import type { Session } from '../../domain/session.ts'
import { operation } from '../operation.ts'
import { previewItem, previewOf, tailOf } from './session-history.ts'
import { withoutEffect } from './session-patch.ts'
import { rowOf, sessionRow } from './session-row.ts'
import {
  agentFlag,
  findSession,
  findSessions,
  noSession,
  storedEntry,
  visibleAgents,
  whichSession,
} from './which-session.ts'
import { flag } from '../input-fields.ts'

const getSession = operation({
  name: 'sessions.get',
  description: 'Give everything that is stored about a session.',
  input: z.strictObject({ ...whichSession, full: flag('Include large fields: skills and prompt report.') }),
  output: z.object({ key: z.string(), agentId: z.string(), entry: storedEntry() }),
  scope: 'read',
  forAgents: true,
  command: {
    positional: ['key'],
    flags: agentFlag,
    examples: ['rockpool sessions get agent:main:main', 'rockpool sessions get 08ef14de --json'],
  },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const whole = input.full ? await app.storage.sessions(session.agentId).get(session.key) : undefined
    return { ...session, entry: whole ?? session.entry }
  },
})

const showSession = operation({
  name: 'sessions.show',
  description: 'Show one session: its row, where its transcript is, and the last messages.',
  input: z.strictObject({
    ...whichSession,
    limit: z.int().min(0).max(200).default(6).describe('How many of the last messages.'),
  }),
  output: z.object({
    session: sessionRow,
    transcript: z.object({ exists: z.boolean(), entries: z.number(), damage: z.array(z.string()) }),
    items: z.array(previewItem),
    withoutEffect: z.array(z.string()),
  }),
  scope: 'read',
  redactOutput: true,
  command: { positional: ['key'], flags: agentFlag, examples: ['rockpool sessions show main'] },
  async run(app, input, caller) {
    const session = await findSession(app, caller, input.key, input.agentId)
    const page = await tailOf(app, session, 200)
    const exists = page.header !== undefined || page.entries.length > 0
    return {
      session: rowOf(session, app.clock.now(), app.config.session.mainKey),
      transcript: { exists, entries: page.entries.length, damage: page.damage },
      items: exists && input.limit > 0 ? await previewOf(app, session, input.limit, 2000) : [],
      withoutEffect: withoutEffect(session.entry),
    }
  },
})

const resolveInput = z.strictObject({
  key: z.string().min(1).optional().describe('A key, in any spelling.'),
  sessionId: z.string().min(1).optional().describe('An id, or its beginning.'),
  label: z.string().min(1).optional().describe('A label.'),
  agentId: whichSession.agentId,
  spawnedBy: z.string().optional().describe('Only among the sub-agents of this session key.'),
  includeGlobal: z.boolean().optional().describe('Also the session that everybody shares.'),
  includeUnknown: z.boolean().optional().describe('Also the session of unknown senders.'),
})

const resolveSession = operation({
  name: 'sessions.resolve',
  description: 'Find the key of a session from its key, id or label.',
  input: resolveInput,
  output: z.object({ ok: z.literal(true), key: z.string(), agentId: z.string(), sessionId: z.string() }),
  scope: 'read',
  forAgents: true,
  command: { positional: ['key'], examples: ['rockpool sessions resolve --label home'] },
  async run(app, input, caller) {
    const [ref, ...others] = [input.key, input.sessionId, input.label].filter((ref) => ref !== undefined)
    if (ref === undefined || others.length > 0)
      throw new RockpoolError('input-invalid', 'Give exactly one of key, sessionId and label.')
    const found = (await findSessions(app, caller, ref, input.agentId)).filter((one) => matches(one, input))
    if (found.length === 0) throw noSession(ref)
    const session = found.length === 1 ? found[0]! : await findSession(app, caller, ref, input.agentId)
    const { key, agentId, entry } = session
    return { ok: true as const, key, agentId, sessionId: entry.sessionId }
  },
})

function matches({ key, entry }: Session, input: z.output<typeof resolveInput>): boolean {
  if (key === 'global' && input.includeGlobal === false) return false
  if (key === 'unknown' && input.includeUnknown === false) return false
  if (input.spawnedBy !== undefined && entry.spawnedBy !== input.spawnedBy) return false
  if (input.sessionId !== undefined) return entry.sessionId.startsWith(input.sessionId)
  return input.label === undefined || entry.label === input.label
}

const sessionStatus = operation({
  name: 'sessions.status',
  description: "Show a session's model, context, tokens and cost; the calling session when none is named.",
  input: z.strictObject({
    sessionKey: z.string().min(1).optional().describe('The session: key, id or label.'),
  }),
  output: sessionRow,
  scope: 'read',
  forAgents: true,
  command: { positional: ['sessionKey'], examples: ['rockpool sessions status main'] },
  async run(app, { sessionKey }, caller) {
    const { mainKey } = app.config.session
    const agentId = caller.agentId ?? defaultAgentId(app.config)
    const ref = sessionKey ?? caller.sessionKey ?? buildAgentMainSessionKey({ agentId, mainKey })
    return rowOf(await findSession(app, caller, ref), app.clock.now(), mainKey)
  },
})

const totals = z.object({
  inputTokens: z.number(),
  outputTokens: z.number(),
  cacheRead: z.number(),
  cacheWrite: z.number(),
  costUsd: z.number(),
})
type Totals = z.infer<typeof totals>

const sessionUsage = operation({
  name: 'sessions.usage',
  description: 'Show what sessions used and cost, by the totals that their rows keep.',
  input: z.strictObject({
    key: whichSession.key.optional().describe('Only this session.'),
    agentId: z.string().optional().describe('Only this agent.'),
    startDate: z.string().optional().describe('Only sessions active on or after this day, YYYY-MM-DD.'),
    endDate: z.string().optional().describe('Only sessions active on or before this day, YYYY-MM-DD.'),
    mode: z
      .enum(['gateway', 'utc', 'specific'])
      .default('gateway')
      .describe('The time zone of the days: the configured one, UTC, or that of --utc-offset.'),
    utcOffset: z.string().max(20).optional().describe('For `specific`: an offset like +05:30 or UTC-5.'),
    includeContextWeight: flag('Also what fills the context of each.'),
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
    flags: agentFlag,
    examples: ['rockpool sessions usage --start-date 2026-11-01'],
  },
  async run(app, input, caller) {
    const agents = visibleAgents(app, caller, input.agentId)
    const sessions = input.key
      ? [await findSession(app, caller, input.key, input.agentId)]
      : (await Promise.all(agents.map((id) => app.storage.sessions(id).list()))).flatMap(
          (page) => page.sessions,
        )
    const from = checkDay(input.startDate, 'startDate') ?? '0'
    const to = checkDay(input.endDate, 'endDate') ?? '9'
    const dayOf = dayIn(zoneOf(input, app.config.timeZone))
    const rows = sessions
      .filter(({ entry }) => dayOf(entry.updatedAt) >= from && dayOf(entry.updatedAt) <= to)
      .map(usageOf)
      .sort((a, b) => b.costUsd - a.costUsd || b.inputTokens - a.inputTokens)
    const shown = rows.slice(0, input.limit)
    // What the system prompt, the skills and the tools take of the context, as the last turn reported it.
    const withWeight = async (row: (typeof rows)[number]) => {
      const entry = await app.storage.sessions(row.agentId).get(row.key)
      return { ...row, contextWeight: entry?.systemPromptReport }
    }
    return {
      ts: app.clock.now(),
      totals: sum(rows),
      count: rows.length,
      sessions: input.includeContextWeight ? await Promise.all(shown.map(withWeight)) : shown,
    }
  },
})

function usageOf({ key, agentId, entry }: Session) {
  const { sessionId, updatedAt, model } = entry
  return {
    key,
    agentId,
    sessionId,
    updatedAt,
    model,
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

/** A name or an offset that Intl knows; undefined for the machine's own zone. */
function zoneOf({ mode, utcOffset }: { mode: string; utcOffset?: string }, configured: string | undefined) {
  if (mode === 'utc') return 'UTC'
  if (mode === 'gateway') return configured
  const [, sign, hours, minutes = '00'] =
    /^(?:UTC)?([+-])(\d{1,2})(?::?([0-5]\d))?$/.exec(utcOffset ?? '') ?? []
  if (hours !== undefined && Number(hours) <= 14) return `${sign}${hours.padStart(2, '0')}:${minutes}`
  throw new RockpoolError('input-invalid', 'mode `specific` needs utcOffset, like +05:30 or UTC-5.')
}

export const operations = [getSession, showSession, resolveSession, sessionStatus, sessionUsage]
