// What `sessions.delete --purge` removes beside the row and the transcripts: messages and replies, the session's files,
// its words in the search index, and, if asked for, Claude's own record of it. Notes that the agent took are the agent's.
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import { classifySessionKey } from '../../domain/session-key-forms.ts'
import type { Session } from '../../domain/session.ts'
import { historyKeyOf } from '../../flow/prompt.ts'
import { removeClaudeTranscript } from '../../store/transcripts/claude-file.ts'
import { removeSessionMedia, sessionMediaName } from '../../store/media/media-files.ts'
import type { App } from '../app.ts'
import { workspaceOf } from '../../store/agent-folders.ts'
import { routeOf } from '../../flow/session-route.ts'

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
  session: Session,
  sessionIds: string[],
  claude: { asked: boolean; file: ClaudeFile | undefined },
): Promise<void> {
  const { key, agentId, entry } = session
  const purged = { key, agentId, group: groupOf(session) }
  const sent = await app.storage.purge(purged)
  await app.storage.media.remove({ folder: sessionMediaName(agentId, key), paths: sent })
  await removeSessionMedia(app.paths.media, { agentId, key, workspace: workspaceOf(app, agentId) }, sent)
  const { file } = claude
  if (file) {
    await removeClaudeTranscript(file.path)
    await app.discovery().purge()
  }
  if (claude.asked && entry.sdkSessionId !== undefined)
    await app.storage.cluster?.purgeClaude(entry.sdkSessionId)
  await app.search().purge(file ? [...sessionIds, file.sessionId] : sessionIds)
}

/** Under which name the talk of its group is kept. */
function groupOf({ key, entry }: Session): string | undefined {
  const { kind } = classifySessionKey(key)
  const address = routeOf(entry)
  return address && (kind === 'group' || kind === 'channel')
    ? historyKeyOf({ address, chatType: kind })
    : undefined
}

function stillRuns(sessionId: string): RockpoolError {
  return new RockpoolError('busy', `Claude's session ${sessionId} is running; its file still changes.`, {
    hint: 'Nothing was deleted. End it, or leave out --claude-file.',
  })
}
