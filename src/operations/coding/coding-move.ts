// Moves a coding session to another machine that shares the database and has its repository.
import { z } from 'zod'
import { programOf } from '../../agent/programs/programs.ts'
import { kindOf, type CodingSession } from '../../domain/coding-session.ts'
import { asRockpoolError, RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { giverOf } from '../perform-operation.ts'
import { refuseUnknownCoding } from './coding-resume.ts'
import { afterRecovery, codingRow, codingSession, findCoding, rowOf } from './coding-row.ts'
import { asSeenBy, moveNotice, moveWarnings, placeOfMove, sidesOf } from './which-machine.ts'

const side = z.object({
  machine: z.string(),
  workdir: z.string(),
  checkedOut: z
    .object({ branch: z.string(), commit: z.string(), uncommitted: z.number() })
    .optional()
    .describe('Absent when the machine did not answer.'),
})

const move = operation({
  name: 'coding.move',
  description:
    'Move a session to another machine that has its repository; it continues there with its whole conversation.',
  input: z.strictObject({
    session: codingSession,
    machine: z
      .string()
      .min(1)
      .max(100)
      .describe('Where to: the name of a machine, or a label that it carries.'),
  }),
  output: codingRow.extend({
    from: side,
    to: side,
    warnings: z.array(z.string()).describe('Differences between the two machines.'),
  }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['session'],
    startsBackgroundWork: () => true,
    checkBeforeStart: refuseUnknownCoding,
    examples: ['rockpool cc move fix-login-bug --machine office'],
  },
  async run(app, input, caller) {
    const { pool } = app.coding()
    const session = findCoding(app, caller, input.session)
    const door = app.coding().givenBy(giverOf(caller))
    await door.check(session)
    refuseOthers(session)
    const { machine, workdir } = await asSeenBy(caller, () => placeOfMove(app, session, input.machine))
    const sides = await sidesOf(app, session, { machine: machine.name, workdir }, caller)
    const to = { machine: machine.name, workdir, aside: moveNotice(sides) }
    const { id } = await door.handOver(session.id, to)
    const warnings = [...moveWarnings(sides), ...(await startThere(app, machine.name))]
    return { ...rowOf(app, pool.resolve(id), caller), ...sides, warnings }
  },
})

/** Machines share the conversations of Claude Code only. */
function refuseOthers(session: CodingSession): void {
  const kind = kindOf(session)
  if (kind === 'claude') return
  const { name } = programOf(kind)
  throw new RockpoolError('refused', `${name} keeps the session ${session.name} on its machine only.`, {
    hint: 'Launch a new session on the other machine: `rockpool cc launch --machine`.',
  })
}

/** Asks the other machine to continue at once. The session belongs to it already, so a failure is only a warning. */
async function startThere(app: App, machine: string): Promise<string[]> {
  const { machines, pool } = app.coding()
  try {
    if (machine === machines?.name) await pool.takeOver()
    else await machines?.ask(machine, 'take-over', {})
    return []
  } catch (error) {
    return [`${machine} continues it when it can: ${asRockpoolError(error).message}`]
  }
}

export const operations = afterRecovery([move])
