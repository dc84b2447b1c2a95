// Gives back a cut of a trimmed session from the original transcript, also if only the vault still has it.
import { parseHandle, recallCut, type RecalledCut } from '../../discovery/trim/recall-cut.ts'
import type { DiscoveredSession } from '../../domain/discovered-session.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { withKeptTranscript } from '../vault/kept-sessions.ts'
import { ownOrKept } from './cc.ts'

interface RecallRequest {
  handle: string
  /** The character to begin at, and how many to give. */
  from: number
  limit: number
}

/** `mayRead` decides by the original session. */
export async function recall(
  app: App,
  { handle, from, limit }: RecallRequest,
  mayRead: (session: DiscoveredSession) => boolean,
): Promise<{ session: DiscoveredSession; cut: RecalledCut }> {
  const wanted = parseHandle(handle)
  const session = await ownOrKept(app, wanted.session, everybody).catch((error: unknown) => {
    throw new RockpoolError('not-found', `The session that ${handle} was cut from is gone.`, {
      hint: 'Read the file or run the command again.',
      cause: error,
    })
  })
  if (!mayRead(session))
    throw new RockpoolError('not-found', `There is no cut ${handle} in a session of yours.`)
  const read = (path: string): Promise<RecalledCut> => recallCut(path, wanted, { from, limit })
  const cut = await (session.kept ? withKeptTranscript(app, session, read) : read(session.filePath))
  return { session, cut }
}

/** A handle names one session of the machine; `mayRead` is checked afterwards. */
const everybody: Caller = { via: 'mcp', scopes: ['read'] }
