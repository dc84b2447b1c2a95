// Watching coding sessions: list them, read what they said, stream one into a chat, show figures.
import { z } from 'zod'
import { budgetsLeft, type BudgetLeft } from '../../coding/budget/budget.ts'
import { durationOf, formatOutput, formatStats } from '../../coding/listing.ts'
import { formatBlocks, formatDuration } from '../../coding/session/names.ts'
import { unfinishedBlock } from '../../coding/session/output.ts'
import { withoutMarker } from '../../domain/machine-text.ts'
import { refuseWider } from './launch-rights.ts'
import { formatOriginChannel, parseOriginChannel } from '../../domain/address.ts'
import type { App } from '../app.ts'
import { operation, type Caller } from '../operation.ts'
import { afterRecovery, codingRow, codingSession, findCoding, rowOf, stateOf } from './coding-row.ts'

const sessions = operation({
  name: 'coding.sessions',
  description: 'List coding sessions: running, waiting, and those that ended.',
  input: z.strictObject({
    status: z
      .enum(['all', 'starting', 'running', 'completed', 'failed', 'killed'])
      .default('all')
      .describe('Only sessions with this status.'),
    limit: z.number().int().min(1).optional().describe('How many; the configured number when absent.'),
  }),
  output: z.object({ sessions: z.array(codingRow), count: z.number() }),
  scope: 'read',
  forAgents: true,
  command: { examples: ['rockpool cc sessions', 'rockpool cc sessions --status running --json'] },
  async run(app, input, caller) {
    const status = input.status === 'all' ? undefined : input.status
    const limit = input.limit ?? app.config.coding.maxPersistedSessions
    const found = app.coding().pool.list({ status, limit, visibleTo: caller.agentId })
    return { sessions: found.map((session) => rowOf(app, session, caller)), count: found.length }
  },
})

const output = operation({
  name: 'coding.output',
  description: 'Show what a session said and did.',
  input: z.strictObject({
    session: codingSession,
    lines: z.number().int().min(1).default(50).describe('How many of the last blocks.'),
    full: z.boolean().default(false).describe('Show everything.'),
    after: z.number().int().min(0).optional().describe('Only blocks after this number (`lastSeq`).'),
  }),
  output: z.object({
    id: z.string(),
    name: z.string(),
    status: z.string(),
    lifecycle: z.string(),
    state: codingRow.shape.state,
    stateText: z.string(),
    costUsd: z.number(),
    durationMs: z.number(),
    duration: z.string(),
    lines: z.array(z.string()),
    lineCount: z.number(),
    lastSeq: z.number(),
    writing: z
      .string()
      .optional()
      .describe('The text that Claude is writing now; it becomes a block when it is complete.'),
    result: z.string(),
  }),
  scope: 'read',
  redactOutput: true,
  forAgents: true,
  command: {
    positional: ['session'],
    nextInput: ({ session }, last) => ({ session, after: last['lastSeq'] }),
    examples: ['rockpool cc output fix-login-bug --lines 20', 'rockpool cc output fix-login-bug --follow'],
  },
  async run(app, input, caller) {
    const { id } = findCoding(app, caller, input.session)
    const { pool } = app.coding()
    const { session, blocks: last } = pool.output(id, input.full ? 1_000_000 : input.lines)
    const blocks = input.after === undefined ? last : app.storage.coding.outputAfter(id, input.after)
    const lastSeq = blocks.at(-1)?.seq ?? input.after ?? session.lastSeq
    const { name, status, lifecycle, costUsd } = session
    const { state, stateText } = stateOf(session)
    const durationMs = durationOf(session, app.clock.now())
    const shown = input.after === undefined ? [...blocks, ...unfinishedBlock(session)] : blocks
    const lines = shown.map((block) =>
      block.kind === 'prompt' ? `> ${withoutMarker(block.text)}` : block.text,
    )
    return {
      id,
      name,
      status,
      lifecycle,
      state,
      stateText,
      costUsd,
      lastSeq,
      writing: session.writing,
      durationMs,
      duration: formatDuration(durationMs),
      lines,
      lineCount: lines.length,
      result:
        input.after === undefined ? formatOutput(session, blocks, app.clock.now()) : formatBlocks(blocks),
    }
  },
})

const channel = z.string().optional().describe('The chat: channel|target; the calling chat when absent.')

const foreground = operation({
  name: 'coding.foreground',
  description: 'Stream a session into this chat, after what the chat has missed.',
  input: z.strictObject({
    session: codingSession,
    lines: z.number().int().min(1).default(30).describe('How many of the last blocks to show first.'),
    channel,
  }),
  output: z.object({ id: z.string(), name: z.string(), missed: z.string(), lastSeq: z.number() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session'],
    examples: ['rockpool cc fg fix-login-bug --channel "telegram|501234567"'],
  },
  async run(app, input, caller) {
    const { id } = findCoding(app, caller, input.session)
    // The own chat of a caller wins over the channel that it names, so that one needs no check then.
    if (!caller.address) await refuseWider(app, { originChannel: input.channel }, caller)
    const watching = await app.coding().pool.foreground(id, watcherOf(caller, input.channel), input.lines)
    const { session, blocks } = watching
    const { name, lastSeq } = session
    return { id, name, lastSeq, missed: formatOutput(session, blocks, app.clock.now()) }
  },
})

const background = operation({
  name: 'coding.background',
  description: 'Stop streaming a session, or all of them, into this chat.',
  input: z.strictObject({
    session: codingSession.optional(),
    channel,
  }),
  output: z.object({ ids: z.array(z.string()) }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session'],
    examples: ['rockpool cc bg --channel "telegram|501234567"'],
  },
  async run(app, input, caller) {
    const id = input.session === undefined ? undefined : findCoding(app, caller, input.session).id
    if (!caller.address) await refuseWider(app, { originChannel: input.channel }, caller)
    return { ids: await app.coding().pool.background(watcherOf(caller, input.channel), id) }
  },
})

/** The chat that watches: the caller's own, or the one that an operator names. A caller without a chat gets a name that is no
 *  address: nothing is sent to it, and it gets what it missed when it asks again. */
function watcherOf(caller: Caller, named: string | undefined): string {
  if (caller.address) return formatOriginChannel(caller.address)
  const address = named === undefined ? undefined : parseOriginChannel(named)
  if (named !== undefined) return address ? formatOriginChannel(address) : named
  return caller.sessionKey ?? `${caller.via}:${caller.name ?? 'operator'}`
}

const stats = operation({
  name: 'coding.stats',
  description: 'Show figures of all coding sessions: cost by day, states, durations, the most expensive one.',
  input: z.strictObject({}),
  output: z.object({
    totalCostUsd: z.number(),
    costPerDay: z.record(z.string(), z.number()),
    sessionsByStatus: z.record(z.string(), z.number()),
    sessionsByState: z.record(z.string(), z.number()),
    totalLaunched: z.number(),
    averageDurationMs: z.number(),
    waitedMs: z.number(),
    budgets: z
      .array(
        z.object({
          of: z.enum(['day', 'agent', 'repository', 'session']),
          name: z.string(),
          limitUsd: z.number(),
          spentUsd: z.number(),
          runsOutAt: z.number().optional(),
        }),
      )
      .describe('Limits of the day, of each agent and repository, and of each running session.'),
    mostExpensive: z
      .object({ id: z.string(), name: z.string(), costUsd: z.number(), prompt: z.string() })
      .optional(),
    display: z.string(),
  }),
  scope: 'read',
  isCostly: true,
  forAgents: true,
  command: { examples: ['rockpool cc stats'] },
  async run(app, _input, caller) {
    const metrics = app.coding().pool.getMetrics(caller.agentId)
    return { ...metrics, budgets: budgetsOf(app, caller), display: formatStats(metrics) }
  },
})

/** An agent sees the budgets of its own sessions; only an operator sees those of all. */
function budgetsOf(app: App, { agentId }: Caller): BudgetLeft[] {
  const { coding, spend } = app.storage
  return budgetsLeft(coding.list({ running: true, visibleTo: agentId }), spend, {
    agentId,
    limits: app.config.coding.budgets,
    today: app.coding().today(),
    at: app.clock.now(),
  })
}

export const operations = afterRecovery([sessions, output, foreground, background, stats])
