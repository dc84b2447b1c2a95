// Launches coding sessions: a new task, or the task of an earlier session again. Its helpers serve every operation that starts work.
import { z } from 'zod'
import { lookForClaude } from '../../agent/choose.ts'
import { noticeOf, programOf } from '../../agent/programs/programs.ts'
import { formatOutput } from '../../coding/listing.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { reservedUntil } from '../../domain/usage-window.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import { flag } from '../input-fields.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { launchCoding } from './coding-launch.ts'
import { launchInput } from './launch-input.ts'
import { refuseUnknownCoding } from './coding-resume.ts'
import { codingRow, codingSession, findCoding, rowOf } from './coding-row.ts'
import { refuseMissingProgram, refuseWider } from './launch-rights.ts'

export const note = z
  .string()
  .optional()
  .describe(
    'A warning: Claude is not connected, a program works without asking, or a resume changes the tools.',
  )

/** A command that waited for the end of the turn fails if the turn failed. */
export function hasFailed({ status, output }: Record<string, unknown>): boolean {
  return output !== undefined && (status === 'failed' || status === 'killed')
}

/** A warning for the caller of a launch or a resume: what a program does without asking, or that there is no credential for Claude
 *  where the session runs. */
export function warningFor(app: App, session: CodingSession): string | undefined {
  const kind = kindOf(session)
  if (kind !== 'claude') return noticeOf(programOf(kind), session.request.permissionMode)
  const { machine } = session
  const claude = lookForClaude(app.environment, app.config.claude.credential)
  const isElsewhere = machine !== undefined && machine !== app.coding().machines?.name
  return claude.connected || isElsewhere ? undefined : `Claude is not connected. ${claude.hint}`
}

/** The row and the output at the end of the turn. */
export async function atEndOfTurn(app: App, id: string, caller: Caller) {
  const { pool } = app.coding()
  const session = await pool.whenQuiet(id)
  const { blocks } = pool.output(id, 200)
  return { ...rowOf(app, session, caller), output: formatOutput(session, blocks, app.clock.now()) }
}

/** With `coding.reserve.launches: "ask"`: what is left of a usage window belongs to the owner, who may use it. */
function refuseInReserve(app: App, despite: boolean, { agentId }: Caller): void {
  const { percent, launches } = app.config.coding.reserve
  if (despite && agentId !== undefined)
    throw new RockpoolError('refused', 'An agent cannot use the reserve of the usage windows.')
  if (despite || launches !== 'ask') return
  const now = app.clock.now()
  const until = reservedUntil(app.storage.usage.current(now), percent, now)
  if (until === undefined) return
  const reset = new Date(until).toISOString()
  throw new RockpoolError(
    'refused',
    `Only the reserve of Claude's usage window is left; it resets at ${reset}.`,
    {
      hint: 'Launch it with --despite-reserve, or after the reset.',
    },
  )
}

const launched = codingRow.extend({
  action: z.string(),
  reason: z.string(),
  output: z.string().optional(),
  note,
})

async function runLaunch(app: App, input: z.output<typeof launchInput>, caller: Caller) {
  await refuseWider(app, input, caller)
  if (input.agent !== undefined) requireAgent(app, input.agent)
  refuseInReserve(app, input.despiteReserve, caller)
  const asked = { ...input, by: giverOf(caller) }
  const { session, action, reason } = await launchCoding(app, asked, caller)
  if (input.wait) return { ...(await atEndOfTurn(app, session.id, caller)), action, reason }
  return { ...rowOf(app, session, caller), action, reason, note: warningFor(app, session) }
}

export const launch = operation({
  name: 'coding.launch',
  description:
    'Start Claude Code or another agent in a repository, in the background: in the right earlier session or a new one.',
  input: launchInput,
  output: launched,
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['prompt'],
    joinsRest: true,
    paths: ['workdir'],
    currentDirectory: 'workdir',
    startsBackgroundWork: (input) => input['wait'] !== true,
    checkBeforeStart: refuseMissingProgram,
    isFailure: hasFailed,
    valueAlone: { trim: 'normal' },
    examples: [
      'rockpool cc launch "fix the failing test" --repo . --wait',
      'rockpool cc launch "review the diff" --fresh --model haiku',
      'rockpool cc launch "train it again" --repo . --machine gpu',
      'rockpool cc launch "fix the failing test" --agent-kind codex --permission-mode acceptEdits',
    ],
  },
  run: runLaunch,
})

export const again = operation({
  name: 'coding.again',
  description: 'Launch the task of a coding session again, with its options, in a new conversation.',
  input: z.strictObject({
    session: codingSession,
    model: z.string().optional().describe('Another model.'),
    wait: flag('Wait until the turn ends, and show its output.'),
  }),
  output: launched,
  scope: 'write',
  changesState: true,
  command: {
    positional: ['session'],
    startsBackgroundWork: (input) => input['wait'] !== true,
    checkBeforeStart: refuseUnknownCoding,
    isFailure: hasFailed,
    examples: ['rockpool cc again fix-login-bug', 'rockpool cc again fix-login-bug --model sonnet'],
  },
  async run(app, { session, model, wait }, caller) {
    const { request, machine } = findCoding(app, caller, session)
    const { prompt, workdir, agentKind, thinking, systemPrompt, allowedTools, permissionMode } = request
    const options = { thinking, systemPrompt, allowedTools, permissionMode, model: model ?? request.model }
    const same = { prompt, workdir, agentKind, agent: request.agentId, ...options, machine }
    const limits = { maxBudgetUsd: request.budgetUsd, multiTurnDisabled: !request.multiTurn }
    return runLaunch(app, launchInput.parse({ ...same, ...limits, fresh: true, wait }), caller)
  },
})
