// Where the permission dialogs of a terminal session are shown: everywhere, or in its terminal only.
import { z } from 'zod'
import { setQuiet } from '../../claude-hooks/quiet.ts'
import { quietText } from '../../claude-hooks/session-commands.ts'
import { flag, sessionField } from '../input-fields.ts'
import { operation } from '../operation.ts'
import { ownSession } from './cc.ts'

const quiet = operation({
  name: 'cc.quiet',
  description: 'Show the permission dialogs of a terminal session in its terminal only, or everywhere again.',
  input: z.strictObject({ id: sessionField(), off: flag('Show them everywhere again.') }),
  output: z.object({ sessionId: z.string(), quiet: z.boolean(), text: z.string() }),
  scope: 'write',
  operatorOnly: true,
  changesState: true,
  heavyParts: ['discovery'],
  command: { positional: ['id'], examples: ['rockpool cc quiet 3f2a', 'rockpool cc quiet 3f2a --off'] },
  async run(app, { id, off }, caller) {
    const session = await ownSession(app, id, caller)
    setQuiet(app.paths.root, session.sessionId, !off)
    return { sessionId: session.sessionId, quiet: !off, text: quietText(!off) }
  },
})

export const operations = [quiet]
