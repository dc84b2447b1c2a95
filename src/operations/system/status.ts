// status: channels, sessions, coding sessions, today's cost, and what waits for a person.
import { statfsSync } from 'node:fs'
import { z } from 'zod'
import { deviceChannel } from '../../domain/device.ts'
import { lookForClaude } from '../../agent/choose.ts'
import { findCredential } from '../../agent/credentials.ts'
import type { ChannelStatus } from '../../domain/channel.ts'
import { dayIn } from '../../domain/local-time.ts'
import { plainLine } from '../../domain/text.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import { isRunning, type CodingSession } from '../../domain/coding-session.ts'
import { isLimited, needsYou, sessionState, sessionStates, stateText } from '../../domain/coding-state.ts'
import { requestHeading } from '../../domain/request-heading.ts'
import { costParts } from '../../domain/costs.ts'
import { configProblem } from '../../store/config-reload.ts'
import type { App } from '../app.ts'
import { requestLine } from '../../coding/approvals/question-text.ts'
import { channelProbe, probeChannels } from '../people/channel-operations.ts'
import { operation, type Caller } from '../operation.ts'
import { isElsewhere } from '../coding/which-machine.ts'
import { rowOf, sessionRow } from '../sessions/session-row.ts'
import { visibleAgents } from '../sessions/which-session.ts'
import { flag } from '../input-fields.ts'
import { usageWindowRow, usageWindows } from './usage-windows.ts'

const waitingRow = z.object({
  kind: z.string(),
  id: z.string(),
  name: z.string().optional(),
  about: z.string(),
  since: z.number(),
})
const codingRow = z.object({
  id: z.string(),
  name: z.string(),
  status: z.string(),
  lifecycle: z.string(),
  state: z.enum(sessionStates),
  workdir: z.string(),
  costUsd: z.number(),
  doing: z.string().optional(),
})

export const slowStatement = z.object({ at: z.number(), ms: z.number(), statement: z.string() })

/** A message that Rockpool will not send, or will not send again. */
const undeliveredRow = z.object({
  channel: z.string(),
  to: z.string(),
  reason: z.string(),
  at: z.number(),
  text: z.string(),
})

const showStatus = operation({
  name: 'status',
  description: 'Show an overview: channels, sessions, coding sessions, cost, and what waits for you.',
  input: z.strictObject({
    all: flag('Also check for damage and free disk space.'),
    usage: flag('Also the cost of each day.'),
    deep: flag('Also check the tokens with the platforms, and show which agent answers.'),
    recent: z.int().min(0).max(100).default(5).describe('How many sessions to show.'),
  }),
  output: z.object({
    ts: z.number(),
    version: z.string(),
    stateDir: z.string(),
    gateway: z.object({ url: z.string(), pid: z.number(), uptimeMs: z.number() }).nullable(),
    waiting: z.array(waitingRow),
    channels: z.array(
      z.object({
        channel: z.string(),
        accountId: z.string(),
        state: z.string(),
        lastError: z.string().optional(),
      }),
    ),
    sessions: z.object({ total: z.number(), recent: z.array(sessionRow) }),
    coding: z.object({
      running: z.array(codingRow),
      limited: z
        .array(z.object({ id: z.string(), name: z.string(), until: z.number() }))
        .describe('Sessions that a usage limit stopped, with the time of the reset.'),
      continuesAfterLimit: z.boolean().describe('They continue by themselves after the reset.'),
    }),
    undelivered: z.array(undeliveredRow),
    cost: z.object({
      todayUsd: z.number().describe('All spending of today, from the transcripts.'),
      parts: costParts,
      billing: z
        .enum(['api', 'subscription', 'none'])
        .describe('With a subscription, dollars are the price of the API.'),
      days: z.array(z.object({ day: z.string(), usd: z.number() })).optional(),
    }),
    usage: z
      .array(usageWindowRow)
      .describe('The usage windows of the Claude subscription, as far as Claude has reported them.'),
    claude: z
      .object({ connected: z.boolean(), source: z.string().optional(), hint: z.string().optional() })
      .describe('Whether Claude is logged in, and what to do if not.'),
    demo: z
      .boolean()
      .optional()
      .describe('True in the gateway of `rockpool demo`, which does not use Claude.'),
    agent: z.object({ kind: z.string() }).optional(),
    /** The result of checking each token with its platform (`deep`). */
    probes: z.array(channelProbe).optional(),
    problems: z.array(z.string()).optional(),
    disk: z.object({ freeBytes: z.number() }).optional(),
    /** The database that several machines share. */
    database: z
      .object({
        place: z.string(),
        server: z.string().optional().describe('The server in use, of several.'),
        state: z.string(),
        since: z.number(),
        lastError: z.string().optional(),
        slow: z.number().describe('Statements that took longer than a second, since the start.'),
        lastSlow: slowStatement.optional(),
      })
      .optional(),
  }),
  scope: 'read',
  isCostly: true,
  redactOutput: true,
  forAgents: true,
  heavyParts: ['discovery', 'coding'],
  command: { examples: ['rockpool status', 'rockpool status --all --usage --json'] },
  async run(app, input, caller) {
    const now = app.clock.now()
    const agents = visibleAgents(app, caller)
    const mine = (agentId: string): boolean => caller.agentId === undefined || caller.agentId === agentId
    const { running, limited, waiting } = codingOf(app, mine)
    const operator = caller.agentId === undefined
    return {
      ts: now,
      version: app.version,
      stateDir: app.paths.root,
      gateway: app.gateway ? { url: app.gateway.url, pid: process.pid, uptimeMs: now - app.startedAt } : null,
      waiting,
      channels: operator ? await channelsOf(app) : [],
      sessions: await unlessAway(app, { total: 0, recent: [] }, () =>
        recentSessions(app, agents, input.recent, now),
      ),
      database: app.storage.cluster?.health(),
      coding: { running, limited, continuesAfterLimit: app.config.coding.continueAfterLimit === true },
      undelivered: operator ? await unlessAway(app, [], () => undeliveredOf(app)) : [],
      cost: {
        ...(await costToday(app, caller, now)),
        billing: findCredential(app.environment, app.config.claude.credential)?.billing ?? 'none',
        days: input.usage && operator ? await costPerDay(app) : undefined,
      },
      usage: operator ? await unlessAway(app, [], () => usageWindows(app)) : [],
      claude: lookForClaude(app.environment, app.config.claude.credential),
      demo: app.isDemo || undefined,
      ...(input.deep ? { agent: { kind: (await app.runtime()).kind } } : {}),
      ...(input.deep && operator ? { probes: await probeChannels(app) } : {}),
      ...(input.all ? { disk: diskOf(app) } : {}),
      problems: await shownProblems(app, agents, { all: input.all, operator }),
    }
  },
})

/** Longer than any day, also when clocks change. */
const dayMs = 26 * 3_600_000
const shownDays = 31

async function costToday(app: App, caller: Caller, now: number) {
  const day = dayIn(app.config.timeZone)(now)
  const filter = { firstDay: day, lastDay: day, since: now - dayMs, agentId: caller.agentId }
  const { totals, parts } = await app.discovery().costs(filter)
  const elsewhereUsd = await codingElsewhere(app, caller, day)
  const codingUsd = parts.codingUsd + elsewhereUsd
  return { todayUsd: totals.costUsd + elsewhereUsd, parts: { ...parts, codingUsd } }
}

/** The cost of coding sessions on other machines: their transcripts are there, their cost is in the shared database. */
async function codingElsewhere(app: App, { agentId }: Caller, day: string): Promise<number> {
  const { coding: store, spend } = app.storage
  const others = store.list({ agentId }).filter((session) => isElsewhere(app, session))
  const here = await app.discovery().known(others.flatMap(({ sdkSessionId }) => sdkSessionId ?? []))
  const known = new Set(here.map(({ sessionId }) => sessionId))
  return others
    .filter(({ sdkSessionId }) => sdkSessionId === undefined || !known.has(sdkSessionId))
    .reduce((sum, { id }) => sum + spend.total({ codingId: id }, day), 0)
}

async function costPerDay(app: App): Promise<Array<{ day: string; usd: number }>> {
  const { by } = await app.discovery().costs({ by: 'day' })
  return by.map(({ key, costUsd }) => ({ day: key, usd: costUsd })).slice(-shownDays)
}

/** While the shared database is away, `otherwise` is shown, and `database` says why. */
async function unlessAway<T>(app: App, otherwise: T, look: () => Promise<T>): Promise<T> {
  try {
    return await look()
  } catch (error) {
    if (!app.storage.cluster || asRockpoolError(error).code !== 'unavailable') throw error
    return otherwise
  }
}

async function channelsOf(app: App): Promise<ChannelStatus[]> {
  if (!app.gateway) return []
  const { channels } = await app.conversations()
  // Devices are not a channel that is set up: `rockpool devices` lists them.
  return channels.map((channel) => channel.status()).filter(({ channel }) => channel !== deviceChannel)
}

const shownUndelivered = 10

/** Messages that were not delivered, or whose delivery is unknown, as long as the outbox keeps finished rows. */
async function undeliveredOf(app: App): Promise<Array<z.input<typeof undeliveredRow>>> {
  const rows = await app.storage.work.outbox.list({ states: ['dead'], limit: shownUndelivered })
  return rows.map(({ delivery, reason, updatedAt }) => ({
    channel: delivery.address.channel,
    to: delivery.address.to,
    reason: reason ?? '',
    at: updatedAt,
    text: plainLine(delivery.reply.text ?? '', 80),
  }))
}

async function recentSessions(app: App, agents: string[], limit: number, now: number) {
  const pages = await Promise.all(
    agents.map((id) => app.storage.sessions(id).list({ limit: Math.max(1, limit) })),
  )
  const sessions = pages.flatMap((page) => page.sessions)
  const newest = sessions.sort((a, b) => b.entry.updatedAt - a.entry.updatedAt).slice(0, limit)
  return {
    total: pages.reduce((sum, page) => sum + page.total, 0),
    recent: newest.map((session) => rowOf(session, now, app.config.session.mainKey)),
  }
}

function codingOf(app: App, mine: (agentId: string) => boolean) {
  const { pool, approvals } = app.coding()
  const sessions = pool.list().filter(({ request }) => mine(request.agentId))
  const asked = approvals.pending().filter(({ agentId }) => mine(agentId))
  const questions = asked.map((approval) => ({
    kind: approval.kind,
    id: approval.id,
    name: approval.nativeName ?? sessions.find(({ id }) => id === approval.codingId)?.name,
    about: `${requestHeading(approval)}: ${requestLine(approval)}`,
    since: approval.askedAt,
  }))
  return {
    running: sessions.filter(isRunning).map((session) => ({
      ...session,
      state: sessionState(session),
      workdir: session.request.workdir,
    })),
    limited: sessions.flatMap((session) => {
      const { id, name, end } = session
      return isLimited(session) && end?.limit ? [{ id, name, until: end.limit.until }] : []
    }),
    waiting: [...questions, ...sessions.flatMap(waitingRowOf)].sort(
      (a, b) => Number(isReady(a)) - Number(isReady(b)) || a.since - b.since,
    ),
  }
}

/** Has only finished its turn. A session that cannot continue without a person comes first, however new its question is. */
function isReady({ kind }: { kind: string }): boolean {
  return kind === 'input' || kind === 'ready'
}

/** A session that failed, whose question expired, or that has finished its turn. Open questions have rows of their own. */
function waitingRowOf(session: CodingSession): Array<z.input<typeof waitingRow>> {
  const { id, name, waiting, end, expired, lastActivityAt } = session
  const state = sessionState(session)
  if (waiting?.approvalId !== undefined || !(needsYou(session) || state === 'ready')) return []
  const kind = expired ? 'expired' : (waiting?.for ?? state)
  const since = expired?.at ?? waiting?.since ?? end?.at ?? lastActivityAt
  return [{ kind, id, name, about: stateText(session), since }]
}

/** A changed configuration that is invalid is always shown: nothing else tells that the old one is still in force. */
async function shownProblems(
  app: App,
  agents: string[],
  { all, operator }: { all: boolean; operator: boolean },
): Promise<string[] | undefined> {
  const invalid = operator ? await configProblem(app.environment) : undefined
  if (!all && invalid === undefined) return undefined
  const old = invalid === undefined ? [] : [`${invalid} The configuration before this change stays in force.`]
  return [...old, ...(all ? await problemsOf(app, agents) : [])]
}

async function problemsOf(app: App, agents: string[]): Promise<string[]> {
  const found = await Promise.all(
    agents.map(async (id) => (await app.storage.sessions(id).damage()).map((what) => `${id}: ${what}`)),
  )
  const free = diskOf(app).freeBytes
  return [...found.flat(), ...(free < 50 * 1024 * 1024 ? [`Only ${free} bytes are free on the disk.`] : [])]
}

function diskOf(app: App): { freeBytes: number } {
  const { bavail, bsize } = statfsSync(app.paths.root)
  return { freeBytes: bavail * bsize }
}

export const operations = [showStatus]
