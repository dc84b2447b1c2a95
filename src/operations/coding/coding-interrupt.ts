// Stopping what a coding session does, or letting go of it, without ending it.
import { z } from 'zod'
import { afterRecovery, codingRow, findCoding, rowOf } from './coding-row.ts'
import { operation } from '../operation.ts'

export const operations = afterRecovery([
  operation({
    name: 'coding.interrupt',
    description: 'Stop what a session does right now; it stays, and waits for what is said next.',
    input: z.strictObject({
      session: z.string().min(1).describe('Id, name, Claude id, or the beginning of an id.'),
    }),
    output: codingRow,
    scope: 'write',
    changesState: true,
    command: { positional: ['session'], examples: ['rockpool cc interrupt fix-login-bug'] },
    async run(app, input, caller) {
      return rowOf(app, await app.coding().pool.interrupt(findCoding(app, caller, input.session).id))
    },
  }),
  operation({
    name: 'coding.release',
    description:
      'Release a session that waits for its next message, to continue it elsewhere; it can be resumed.',
    input: z.strictObject({
      session: z.string().min(1).describe('Id, name, Claude id, or the beginning of an id.'),
    }),
    output: codingRow,
    scope: 'write',
    changesState: true,
    command: { positional: ['session'], examples: ['rockpool cc release fix-login-bug'] },
    async run(app, input, caller) {
      return rowOf(app, await app.coding().pool.release(findCoding(app, caller, input.session).id))
    },
  }),
])
