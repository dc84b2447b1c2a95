// Operations that act on coding sessions: launch, resume, respond, interrupt, release, kill. The names of the plugin
// (`claude_launch`, `claude-code.launch`, `/claude`) are aliases of these.
import { z } from 'zod'
import { lookForClaude } from '../../agent/choose.ts'
import { noticeOf, programOf } from '../../agent/programs/programs.ts'
import { formatOutput } from '../../coding/listing.ts'
import { continuePrompt } from '../../coding/session/session-changes.ts'
import { resumeChanges } from '../../coding/session/resume-origin.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import { reservedUntil } from '../../domain/usage-window.ts'
import { requireAgent } from '../../store/agents.ts'
import type { App } from '../app.ts'
import { flag, nonBlankText } from '../input-fields.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import { launchCoding, launchInput } from './coding-launch.ts'
import {
  checkMayContinue,
  refuseUnknownCoding,
  refuseUnknownSession,
  resumeCoding,
  resumeInput,
} from './coding-resume.ts'
import { afterRecovery, codingRow, codingSession, findCoding, rowOf } from './coding-row.ts'
import { giverOf } from '../perform-operation.ts'
import { refuseMissingProgram, refuseWider } from './launch-rights.ts'

const note = z
  .string()
  .optional()
  .describe(
    'A warning: Claude is not connected, a program works without asking, or a resume changes the tools.',
  )

/** A command that waited for the end of the turn fails if the turn failed. */
function hasFailed({ status, output }: Record<string, unknown>): boolean {
  return output !== undefined && (status === 'failed' || status === 'killed')
}

/** A warning for the caller of a launch or a resume: what a program does without asking, or that there is no credential for Claude
 *  where the session runs. */
function warningFor(app: App, session: CodingSession): string | undefined {
  const kind = kindOf(session)
  if (kind !== 'claude') return noticeOf(programOf(kind), session.request.permissionMode)
  const { machine } = session
  const claude = lookForClaude(app.environment, app.config.claude.credential)
  const isElsewhere = machine !== undefined && machine !== app.coding().machines?.name
  return claude.connected || isElsewhere ? undefined : `Claude is not connected. ${claude.hint}`
}

/** The row and the output at the end of the turn. */
async function atEndOfTurn(app: App, id: string, caller: Caller) {
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

const launch = operation({
  name: 'coding.launch',
  description:
    'Start Claude Code or another agent in a repository, in the background: in the right earlier session or a new one.',
  input: launchInput,
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
  async run(app, input, caller) {
    await refuseWider(app, input, caller)
    if (input.agent !== undefined) requireAgent(app, input.agent)
    refuseInReserve(app, input.despiteReserve, caller)
    const asked = { ...input, by: giverOf(caller) }
    const { session, action, reason } = await launchCoding(app, asked, caller)
    if (input.wait) return { ...(await atEndOfTurn(app, session.id, caller)), action, reason }
    return { ...rowOf(app, session, caller), action, reason, note: warningFor(app, session) }
  },
})

const resume = operation({
  name: 'coding.resume',
  description: 'Continue an earlier session, or fork it.',
  input: resumeInput,
  output: codingRow.extend({ output: z.string().optional(), note }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['session', 'prompt'],
    joinsRest: true,
    startsBackgroundWork: (input) => input['wait'] !== true,
    checkBeforeStart: refuseUnknownSession,
    isFailure: hasFailed,
    valueAlone: { trim: 'normal' },
    examples: [
      'rockpool cc resume fix-login-bug "now write the test"',
      'rockpool cc resume fix-login-bug "now write the test" --trim',
    ],
  },
  async run(app, input, caller) {
    const changes = await changesOf(app, input.session, caller)
    const session = await resumeCoding(app, input, caller)
    const note = [changes, warningFor(app, session)].filter(Boolean).join(' ') || undefined
    return {
      ...(input.wait ? await atEndOfTurn(app, session.id, caller) : rowOf(app, session, caller)),
      note,
    }
  },
})

const resumeAll = operation({
  name: 'coding.resume-all',
  description: 'Continue every session that was interrupted in its turn when Rockpool stopped.',
  input: z.strictObject({
    prompt: nonBlankText().default(continuePrompt).describe('The message to each of them.'),
  }),
  output: z.object({
    sessions: z.array(codingRow),
    refused: z.array(z.object({ name: z.string(), reason: z.string() })),
  }),
  scope: 'write',
  changesState: true,
  command: {
    startsBackgroundWork: () => true,
    examples: ['rockpool cc resume-all', 'rockpool cc resume --all'],
  },
  async run(app, { prompt }, caller) {
    const sessions: Array<z.input<typeof codingRow>> = []
    const refused: Array<{ name: string; reason: string }> = []
    // The oldest first, in the order in which they were launched.
    for (const { id, name } of app.coding().pool.cutOff(caller.agentId).reverse()) {
      try {
        const input = { session: id, prompt, fork: false }
        sessions.push(rowOf(app, await resumeCoding(app, input, caller), caller))
      } catch (error) {
        refused.push({ name, reason: asRockpoolError(error).message })
      }
    }
    return { sessions, refused }
  },
})

/** For a session that Claude Code made without Rockpool. */
async function changesOf(app: App, ref: string, { agentId }: Caller): Promise<string | undefined> {
  const isOurs = app.storage.coding.resolve(ref, agentId).length > 0
  const native = isOurs ? undefined : await app.coding().pool.findNative(ref, agentId)
  return native && resumeChanges(native, app.config.coding)
}

const respond = operation({
  name: 'coding.respond',
  description: 'Send a message to a session; a suspended one is resumed.',
  input: z.strictObject({
    session: codingSession,
    message: nonBlankText().describe('The message.'),
    interrupt: z.boolean().default(false).describe('Stop the current work first.'),
    userInitiated: z
      .boolean()
      .optional()
      .describe('A person sent it: resets the count of automatic answers.'),
  }),
  output: codingRow,
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session', 'message'],
    joinsRest: true,
    // A message resumes a suspended session.
    startsBackgroundWork: () => true,
    checkBeforeStart: refuseUnknownCoding,
    examples: ['rockpool cc respond fix-login-bug "use the other parser"'],
  },
  async run(app, input, caller) {
    const session = findCoding(app, caller, input.session)
    checkMayContinue(app, session, input.session, caller)
    // A caller that is not an agent is a person.
    const userInitiated = input.userInitiated ?? caller.agentId === undefined
    const { message, interrupt } = input
    const door = app.coding().givenBy(giverOf(caller))
    return rowOf(app, await door.respond(session.id, message, { interrupt, userInitiated }), caller)
  },
})

const interrupt = operation({
  name: 'coding.interrupt',
  description: 'Stop the current work of a session; the session stays and waits for the next message.',
  input: z.strictObject({ session: codingSession }),
  output: codingRow,
  scope: 'write',
  changesState: true,
  command: { positional: ['session'], examples: ['rockpool cc interrupt fix-login-bug'] },
  async run(app, input, caller) {
    return rowOf(app, await app.coding().pool.interrupt(findCoding(app, caller, input.session).id), caller)
  },
})

const seen = operation({
  name: 'coding.seen',
  description:
    'Mark a finished or failed session as looked at; it leaves "Needs you" and "Ready for review".',
  input: z.strictObject({ session: codingSession }),
  output: codingRow,
  scope: 'write',
  changesState: true,
  command: { positional: ['session'], examples: ['rockpool cc seen fix-login-bug'] },
  async run(app, input, caller) {
    return rowOf(app, await app.coding().pool.markSeen(findCoding(app, caller, input.session).id), caller)
  },
})

const release = operation({
  name: 'coding.release',
  description:
    'Release a session that waits for its next message, to continue it elsewhere; it can be resumed.',
  input: z.strictObject({ session: codingSession }),
  output: codingRow,
  scope: 'write',
  changesState: true,
  command: { positional: ['session'], examples: ['rockpool cc release fix-login-bug'] },
  async run(app, input, caller) {
    return rowOf(app, await app.coding().pool.release(findCoding(app, caller, input.session).id), caller)
  },
})

const kill = operation({
  name: 'coding.kill',
  description: 'End a session now, with every process that it started; or take its end back.',
  input: z.strictObject({
    session: codingSession,
    undo: flag('Take the end back: the session waits for its next message again.'),
  }),
  output: codingRow.extend({ killed: z.boolean() }),
  scope: 'write',
  changesState: true,
  forAgents: true,
  command: {
    positional: ['session'],
    acceptsYes: true,
    examples: ['rockpool cc kill fix-login-bug', 'rockpool cc kill fix-login-bug --undo'],
  },
  async run(app, input, caller) {
    const { pool, givenBy } = app.coding()
    const { id } = findCoding(app, caller, input.session)
    if (input.undo) return { ...rowOf(app, await givenBy(giverOf(caller)).reopen(id), caller), killed: false }
    const { session, killed } = await pool.kill(id)
    return { ...rowOf(app, session, caller), killed }
  },
})

export const operations = afterRecovery([launch, resume, resumeAll, respond, interrupt, seen, release, kill])
