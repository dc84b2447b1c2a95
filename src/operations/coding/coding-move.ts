// Moving a coding session to another machine that has its repository: it stops here and goes on there, with everything
// that was said.
import { z } from 'zod'
import { asRockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import { ref } from './coding-output.ts'
import { afterRecovery, codingRow, findCoding, rowOf } from './coding-row.ts'
import { asideOf, sidesOf, warningsOf } from './moved-session.ts'
import { operation } from '../operation.ts'
import { placeOfMove } from './which-machine.ts'

const side = z.object({
  machine: z.string(),
  workdir: z.string(),
  checkedOut: z
    .object({ branch: z.string(), commit: z.string(), uncommitted: z.number() })
    .optional()
    .describe('Absent when the machine did not say.'),
})

const move = operation({
  name: 'coding.move',
  description:
    'Move a session to another machine that has its repository; it continues there with its whole conversation.',
  input: z.strictObject({
    session: ref,
    machine: z
      .string()
      .min(1)
      .max(100)
      .describe('Where to: the name of a machine, or a label that it carries.'),
  }),
  output: codingRow.extend({
    from: side,
    to: side,
    warnings: z.array(z.string()).describe('What is not the same there.'),
  }),
  scope: 'write',
  changesState: true,
  command: {
    positional: ['session'],
    startsBackgroundWork: () => true,
    examples: ['rockpool cc move fix-login-bug --machine office'],
  },
  async run(app, input, caller) {
    const { pool } = app.coding()
    const session = findCoding(app, caller, input.session)
    const { machine, workdir } = await placeOfMove(app, session, input.machine)
    const sides = await sidesOf(app, session, { machine: machine.name, workdir })
    const to = { machine: machine.name, workdir, aside: asideOf(sides) }
    const { id } = await pool.handOver(session.id, to)
    const warnings = [...warningsOf(sides), ...(await takenOver(app, machine.name))]
    return { ...rowOf(app, pool.resolve(id)), ...sides, warnings }
  },
})

/** It is theirs already; that they begin at once is a courtesy. */
async function takenOver(app: App, machine: string): Promise<string[]> {
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
