// Where the permission dialogs of a terminal session are shown: everywhere, or in its terminal only.
import { z } from 'zod'
import { setQuiet } from '../../claude-hooks/quiet.ts'
import { quietText } from '../../claude-hooks/session-commands.ts'
import { isRunning } from '../../domain/coding-session.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { shellWord } from '../../domain/text.ts'
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
    const [coding, ...more] = app.storage.existingCoding()?.resolve(id, caller.agentId) ?? []
    const background = off || more.length > 0 ? undefined : coding
    if (background && isRunning(background)) throw noTerminal(background)
    const session = await ownSession(app, id, caller)
    // A coding session that is not running may be open in a terminal.
    if (background && session.pid === undefined) throw noTerminal(background)
    setQuiet(app.paths.root, session.sessionId, !off)
    return { sessionId: session.sessionId, quiet: !off, text: quietText(!off) }
  },
})

function noTerminal({ id, name }: CodingSession): RockpoolError {
  return new RockpoolError(
    'refused',
    `${name} is a background session and has no terminal; its requests are shown on the page, in your chats and on your devices.`,
    {
      hint: `Continue it in a terminal with \`rockpool cc attach ${shellWord(id)}\`, then give /rockpool:quiet there.`,
    },
  )
}

export const operations = [quiet]
