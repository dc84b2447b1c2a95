// Operations that act on coding sessions: launch, resume, respond, interrupt, release, kill. The names of the plugin
// (`claude_launch`, `claude-code.launch`, `/claude`) are aliases of these.
import { z } from 'zod'
import { continuePrompt } from '../../coding/session/session-changes.ts'
import { resumeChanges } from '../../coding/session/resume-origin.ts'
import { isRunning, type CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { flag, nonBlankText } from '../input-fields.ts'
import { operation } from '../operation.ts'
import type { Caller } from '../operation.ts'
import {
  checkMayContinue,
  refuseUnknownCoding,
  refuseUnknownSession,
  resumeCoding,
  resumeInput,
} from './coding-resume.ts'
import { afterRecovery, codingRow, codingSession, findCoding, rowOf } from './coding-row.ts'
import { giverOf } from '../perform-operation.ts'
import type { RespondRequest } from './machine-operations.ts'
import { isElsewhere } from './which-machine.ts'
import { again, atEndOfTurn, hasFailed, launch, note, warningFor } from './launch-operations.ts'

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
    const giver = giverOf(caller)
    const options = { interrupt, userInitiated }
    if (!isRunning(session) && isElsewhere(app, session))
      return rowOf(app, await respondThere(app, session, { message, options, by: giver }), caller)
    return rowOf(app, await app.coding().givenBy(giver).respond(session.id, message, options), caller)
  },
})

const respondWithinMs = 60_000

/** A message resumes a suspended session, on the machine of the session: only there the path is the repository of the session. */
async function respondThere(
  app: App,
  { id, name, machine = '' }: CodingSession,
  { by, ...given }: Omit<RespondRequest, 'ref'>,
): Promise<CodingSession> {
  const { machines, pool, givenBy } = app.coding()
  await givenBy(by).check(pool.resolve(id))
  const noAnswer = (_machine: string, wasStarted: boolean): RockpoolError =>
    wasStarted
      ? new RockpoolError('timed-out', `${machine} has the message for ${name} and does not answer.`, {
          hint: '`rockpool cc sessions` shows what the session does.',
        })
      : new RockpoolError('unavailable', `${name} is on ${machine}, which does not answer.`, {
          hint: `\`rockpool cc resume ${id}\` continues it on another machine that has its repository.`,
        })
  const input = { ref: id, by, ...given }
  await machines!.request({ machine, action: 'respond', input, withinMs: respondWithinMs, noAnswer })
  return pool.resolve(id)
}

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
  description: 'End a session now, with every process that it started; or undo its end.',
  input: z.strictObject({
    session: codingSession,
    undo: flag('Undo the end: the session waits for its next message again.'),
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

export const operations = afterRecovery([
  launch,
  again,
  resume,
  resumeAll,
  respond,
  interrupt,
  seen,
  release,
  kill,
])
