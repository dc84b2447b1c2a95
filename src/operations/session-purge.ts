// What `sessions.delete --purge` removes beside the row and the transcripts: the session's files, its words in the
// search index, and, if asked for, Claude's own record of it.
import { RockpoolError, asRockpoolError } from '../domain/errors.ts'
import type { Session } from '../domain/session.ts'
import { removeClaudeTranscript } from '../store/claude-file.ts'
import { removeSessionMedia } from '../store/media-files.ts'
import type { App } from './app.ts'

export interface ClaudeFile {
  sessionId: string
  path: string
}

/** Claude's own record, looked up before anything goes: while Claude writes it, nothing is deleted at all. */
export async function findClaudeFile(app: App, { key, entry }: Session): Promise<ClaudeFile | undefined> {
  const { sdkSessionId } = entry
  if (sdkSessionId === undefined) return undefined
  // A process of ours that waits for the next message has nothing to wait for.
  if (app.gateway) await (await app.runtime()).live(key)?.close()
  try {
    const { sessionId, filePath, isRunning } = await app.discovery().get(sdkSessionId)
    if (isRunning) throw stillRuns(sessionId)
    return sessionId === sdkSessionId.toLowerCase() ? { sessionId, path: filePath } : undefined
  } catch (error) {
    if (asRockpoolError(error).code === 'not-found') return undefined
    throw error
  }
}

export async function purgeTraces(
  app: App,
  session: Pick<Session, 'key' | 'agentId'>,
  sessionIds: string[],
  claude: ClaudeFile | undefined,
): Promise<void> {
  await removeSessionMedia(app.paths.media, session.agentId, session.key)
  if (claude) {
    await removeClaudeTranscript(claude.path)
    await app.discovery().refresh()
  }
  await app.search().purge(claude ? [...sessionIds, claude.sessionId] : sessionIds)
}

function stillRuns(sessionId: string): RockpoolError {
  return new RockpoolError('busy', `Claude's session ${sessionId} is running; its file still changes.`, {
    hint: 'Nothing was deleted. End it, or leave out --claude-file.',
  })
}
