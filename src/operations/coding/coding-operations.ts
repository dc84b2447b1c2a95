// Coding sessions: launch, watch, answer, approve, end, resume. The names of the plugin (`claude_launch`,
// `claude-code.launch`, `/claude`) are aliases of these.
import { z } from 'zod'
import { lookForClaude } from '../../agent/choose.ts'
import { budgetsLeft } from '../../coding/budget/budget.ts'
import type { BudgetLeft } from '../../coding/budget/budget.ts'
import { formatOutput, formatStats } from '../../coding/listing.ts'
import { resumeChanges } from '../../coding/session/resume-origin.ts'
import { launchCoding } from './coding-launch.ts'
import { resumeCoding } from './coding-resume.ts'
import { ref, watching } from './coding-output.ts'
import { afterRecovery, codingRow, findCoding, rowOf } from './coding-row.ts'
import type { App } from '../app.ts'
import { refuseWider } from './launch-rights.ts'
import type { Caller } from '../operation.ts'
import { operation } from '../operation.ts'
import { nonBlankText, permissionMode } from '../input-fields.ts'

/** One word for it everywhere. */
const machine = z
  .string()
  .max(100)
  .optional()
  .describe('The machine that is to do it: its name, or a label that it carries.')

const note = z
  .string()
  .optional()
  .describe('What to know about it: Claude is not connected here, or a resume changes its tools.')

/** A command that waited for the end of the turn fails with it. */
function hasFailed({ status, output }: Record<string, unknown>): boolean {
  return output !== undefined && (status === 'failed' || status === 'killed')
}

/** Reported at launch, not only when the session is looked at. */
function noteOn(app: App, { machine: its }: { machine?: string }): { note?: string } {
  const claude = lookForClaude(app.environment, app.config.claude.credential)
  const isElsewhere = its !== undefined && its !== app.coding().machines?.name
  return claude.connected || isElsewhere ? {} : { note: `Claude is not connected. ${claude.hint}` }
}

const sessions = operation({
  name: 'coding.sessions',
  description: 'List coding sessions: running, waiting, and those that ended.',
  input: z.strictObject({
    status: z
      .enum(['all', 'starting', 'running', 'completed', 'failed', 'killed'])
      .default('all')
      .describe('Only these.'),
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
    return { sessions: found.map((session) => rowOf(app, session)), count: found.length }
  },
})

const launch = operation({
  name: 'coding.launch',
  description:
    'Start Claude Code in a repository, in the background; resume the right session for the task, or begin a new one.',
  input: z.strictObject({
    prompt: nonBlankText.describe('What to do.'),
    workdir: z
      .string()
      .optional()
      .describe(
        'The repository, or its name in coding.repos; the configured or current directory if absent.',
      ),
    name: z.string().max(60).optional().describe('A name for it; made from the prompt when absent.'),
    label: z.string().optional().describe('Go on with the session of this label, or begin it.'),
    agent: z.string().optional().describe('The agent it belongs to.'),
    model: z.string().optional().describe('The model.'),
    thinking: z.string().max(40).optional().describe('How much to think: off, low, medium, high, max.'),
    maxBudgetUsd: z.number().positive().optional().describe('It pauses and asks at this many dollars.'),
    systemPrompt: z.string().optional().describe('Added to the system prompt.'),
    allowedTools: z.array(z.string()).optional().describe('Tools it may use without asking.'),
    permissionMode: permissionMode.describe('How it asks for permission.'),
    resumeSessionId: z.string().optional().describe('Go on from this session: id, name or Claude id.'),
    forkSession: z.boolean().default(false).describe('Fork it instead of going on in it.'),
    atMessage: z.string().max(200).optional().describe('Fork it after this message (its uuid).'),
    fresh: z.boolean().default(false).describe('Begin a new conversation, whatever there is.'),
    multiTurnDisabled: z.boolean().default(false).describe('End after the first turn.'),
    originChannel: z.string().optional().describe('The chat to tell: channel|target.'),
    machine,
    wait: z.boolean().default(false).describe('Stay until the turn ends, and show it.'),
  }),
  output: codingRow.extend({ action: z.string(), reason: z.string(), output: z.string().optional(), note }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['prompt'],
    joinsRest: true,
    paths: ['workdir'],
    currentDirectory: 'workdir',
    startsBackgroundWork: (input) => input['wait'] !== true,
    isFailure: hasFailed,
    examples: [
      'rockpool cc launch "fix the failing test" --repo . --wait',
      'rockpool cc launch "review the diff" --fresh --model haiku',
      'rockpool cc launch "train it again" --repo . --machine gpu',
    ],
  },
  async run(app, input, caller) {
    await refuseWider(app, input, caller)
    const asked = { ...input, boundTo: caller.agentId }
    const { session, action, reason } = await launchCoding(app, asked, caller)
    if (!input.wait) return { ...rowOf(app, session), action, reason, ...noteOn(app, session) }
    const quiet = await app.coding().pool.whenQuiet(session.id)
    const { blocks } = app.coding().pool.output(quiet.id, 200)
    return { ...rowOf(app, quiet), action, reason, output: formatOutput(quiet, blocks, app.clock.now()) }
  },
})

const resume = operation({
  name: 'coding.resume',
  description: 'Go on with an earlier session, or fork it.',
  input: z.strictObject({
    session: ref,
    prompt: nonBlankText.default('Continue where you left off.').describe('What to say.'),
    fork: z.boolean().default(false).describe('Leave the earlier one as it is.'),
    atMessage: z.string().optional().describe('Fork after this message (its uuid).'),
    originChannel: z.string().optional().describe('The chat to tell: channel|target.'),
    machine,
    wait: z.boolean().default(false).describe('Stay until the turn ends, and show it.'),
  }),
  output: codingRow.extend({ output: z.string().optional(), note }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['session', 'prompt'],
    joinsRest: true,
    startsBackgroundWork: (input) => input['wait'] !== true,
    isFailure: hasFailed,
    examples: ['rockpool cc resume fix-login-bug "now write the test"'],
  },
  async run(app, input, caller) {
    const { pool } = app.coding()
    const changes = await changesOf(app, input.session)
    const session = await resumeCoding(app, input, caller)
    const note = [changes, noteOn(app, session).note].filter(Boolean).join(' ')
    const known = note === '' ? {} : { note }
    if (!input.wait) return { ...rowOf(app, session), ...known }
    const quiet = await pool.whenQuiet(session.id)
    return {
      ...rowOf(app, quiet),
      ...known,
      output: formatOutput(quiet, pool.output(quiet.id, 200).blocks, app.clock.now()),
    }
  },
})

/** For a session that Claude Code made without Rockpool. */
async function changesOf(app: App, ref: string): Promise<string | undefined> {
  const { pool } = app.coding()
  const native = app.storage.coding.resolve(ref).length > 0 ? undefined : await pool.findNative(ref)
  return native && resumeChanges(native, app.config.coding)
}

const respond = operation({
  name: 'coding.respond',
  description: 'Send a message to a running session.',
  input: z.strictObject({
    session: ref,
    message: nonBlankText.describe('What to say.'),
    interrupt: z.boolean().default(false).describe('Stop what it does first.'),
    userInitiated: z
      .boolean()
      .optional()
      .describe('A person asked for it: resets the count of automatic answers.'),
  }),
  output: codingRow,
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session', 'message'],
    joinsRest: true,
    examples: ['rockpool cc respond fix-login-bug "use the other parser"'],
  },
  async run(app, input, caller) {
    const { id } = findCoding(app, caller, input.session)
    // A caller that is not an agent is a person.
    const userInitiated = input.userInitiated ?? caller.agentId === undefined
    return rowOf(
      app,
      await app.coding().pool.respond(id, input.message, { interrupt: input.interrupt, userInitiated }),
    )
  },
})

const kill = operation({
  name: 'coding.kill',
  description: 'End a session now, with everything it started.',
  input: z.strictObject({ session: ref }),
  output: codingRow.extend({ killed: z.boolean() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: { positional: ['session'], examples: ['rockpool cc kill fix-login-bug'] },
  async run(app, input, caller) {
    const { session, killed } = await app.coding().pool.kill(findCoding(app, caller, input.session).id)
    return { ...rowOf(app, session), killed }
  },
})

const stats = operation({
  name: 'coding.stats',
  description:
    'Show figures over all coding sessions: cost by day, states, durations, the most expensive one.',
  input: z.strictObject({}),
  output: z.object({
    totalCostUsd: z.number(),
    costPerDay: z.record(z.string(), z.number()),
    sessionsByStatus: z.record(z.string(), z.number()),
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
      .describe('Limits that are set: of the day, of each agent and repository, of each session that runs.'),
    mostExpensive: z
      .object({ id: z.string(), name: z.string(), costUsd: z.number(), prompt: z.string() })
      .optional(),
    display: z.string(),
  }),
  scope: 'read',
  forAgents: true,
  command: { examples: ['rockpool cc stats'] },
  async run(app, _input, caller) {
    const metrics = app.coding().pool.getMetrics(caller.agentId)
    return { ...metrics, budgets: budgetsOf(app, caller), display: formatStats(metrics) }
  },
})

/** An agent sees what its own sessions may spend; what all have spent today is the operator's to know. */
function budgetsOf(app: App, { agentId }: Caller): BudgetLeft[] {
  const { coding, spend } = app.storage
  return budgetsLeft(coding.list({ running: true, visibleTo: agentId }), spend, {
    agentId,
    limits: app.config.coding.budgets,
    today: app.coding().today(),
    at: app.clock.now(),
  })
}

export const operations = afterRecovery([sessions, launch, resume, respond, kill, ...watching, stats])
