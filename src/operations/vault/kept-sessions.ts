// Sessions that only the vault still has: how lists show them, and how they are restored before a resume.
import { existsSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { readerOf } from '../../discovery/agents/readers.ts'
import type { AgentConversation } from '../../domain/agent-records.ts'
import type { DiscoveredSession, SessionRecord } from '../../domain/discovered-session.ts'
import { asRockpoolError, errorText, RockpoolError } from '../../domain/errors.ts'
import { readingPrefix } from '../../store/paths.ts'
import type { KeptSession } from '../../vault/vault.ts'
import { mayReadSession } from '../../rights/rights.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

/** Every session whose transcript is gone, and that the vault has. */
export async function goneSessions(app: App): Promise<DiscoveredSession[]> {
  // Most commands end here: without a vault its code is not loaded.
  if (!existsSync(app.paths.vault)) return []
  const present = await app.discovery().ids()
  return (await (await app.vault()).gone(present)).map(asDiscovered)
}

/** A session as it was when it was last kept. */
export function asDiscovered({ about, filePath, root }: KeptSession): DiscoveredSession {
  // The vault stores exactly what `sessionToKeep` made of a discovered session.
  const record = about as unknown as SessionRecord
  return {
    ...record,
    // Copies of earlier versions of Rockpool lack the field.
    agentKind: record.agentKind ?? 'claude',
    createdAt: record.createdAt === undefined ? undefined : new Date(record.createdAt),
    lastModified: new Date(record.lastModified),
    lastUsageAt: record.lastUsageAt === undefined ? undefined : new Date(record.lastUsageAt),
    // Rows of a database are shown with the path of the database, as discovery does.
    filePath: filePath.replace(/(\.db)#[^#]*$/, '$1'),
    configDir: root,
    isRunning: false,
    status: 'stopped',
    waitingFor: undefined,
    stateText: undefined,
    pid: undefined,
    warm: false,
    kept: true,
  }
}

/** The session in the vault whose transcript is gone; throws `otherwise` if there is none. An agent finds only its own. */
export async function goneSession(
  app: App,
  ref: string,
  otherwise: unknown,
  { agentId }: Caller,
): Promise<DiscoveredSession> {
  if (asRockpoolError(otherwise).code !== 'not-found' || ref === '') throw otherwise
  const wanted = ref.toLowerCase()
  const found = (await goneSessions(app)).filter(
    (session) =>
      mayReadSession(session, agentId) &&
      (session.sessionId.toLowerCase().startsWith(wanted) || session.title?.toLowerCase() === wanted),
  )
  const one = found.find(({ sessionId }) => sessionId.toLowerCase() === wanted) ?? found[0]
  if (!one) throw otherwise
  if (found.length === 1 || one.sessionId.toLowerCase() === wanted) return one
  throw new RockpoolError('ambiguous', `${JSON.stringify(ref)} could be ${found.length} kept sessions.`, {
    hint: `Give more of the id: ${found
      .slice(0, 5)
      .map(({ sessionId }) => sessionId)
      .join(', ')}.`,
  })
}

/** Removes these sessions from the vault for good; does nothing for those that it does not have. */
export async function purgeKept(app: App, sessionIds: readonly string[]): Promise<void> {
  if (!existsSync(app.paths.vault)) return
  const vault = await app.vault()
  const kept = sessionIds.filter((id) => vault.files(id).length > 0)
  if (kept.length === 0) return
  await vault.purge(kept)
  await removeShared(app)
}

/** Removes from the shared copy what is no longer in the vault. Resolves to the reason of a failure; the gateway then retries. */
export async function removeShared(app: App): Promise<string | undefined> {
  try {
    await (await app.sharedVault())?.send()
    return undefined
  } catch (error) {
    const reason = errorText(error)
    app.log.warn({ event: 'vault-share-failed', reason }, 'The shared vault still has what was purged here.')
    return reason
  }
}

/** Runs `read` on the transcript of a session that only the vault has: on a temporary copy. `all` are the files of the session. */
export async function withKeptTranscript<T>(
  app: App,
  { sessionId }: DiscoveredSession,
  read: (path: string, all: string[]) => Promise<T>,
): Promise<T> {
  const root = await mkdtemp(join(app.paths.vault, readingPrefix))
  try {
    const restored = await (await app.vault()).restore(sessionId, root)
    const transcript = restored.at(-1)!
    if (transcript.outcome === 'damaged') throw damagedCopy(sessionId)
    return await read(
      transcript.path,
      restored.map(({ path }) => path),
    )
  } finally {
    await rm(root, { recursive: true, force: true })
  }
}

/** Everything in a session of another agent that only the vault has. */
export async function keptConversation(app: App, session: DiscoveredSession): Promise<AgentConversation> {
  const { agentKind } = session
  if (agentKind === 'claude') throw new RockpoolError('internal', 'Claude Code has a reader of its own.')
  return withKeptTranscript(app, session, async (path, all) =>
    // A session may have several files in one folder; those of sub-agents are in others.
    readerOf(agentKind).read({ path, paths: all.filter((file) => dirname(file) === dirname(path)) }),
  )
}

function damagedCopy(sessionId: string): RockpoolError {
  return new RockpoolError('damaged', `The vault's copy of ${sessionId} is damaged.`, {
    hint: '`rockpool vault verify` shows what is damaged; the transcript cannot be restored.',
  })
}

/** Restores a session whose transcript is gone, so that it can be resumed; does nothing for other sessions, or if the caller may
 *  not read the session. */
export async function restoreIfGone(app: App, ref: string, caller: Caller): Promise<void> {
  if (!existsSync(app.paths.vault)) return
  const gone = await app
    .discovery()
    .get(ref, (session) => mayReadSession(session, caller.agentId))
    .then(() => undefined)
    .catch((error: unknown) => goneSession(app, ref, error, caller).catch(() => undefined))
  if (!gone) return
  const vault = await app.vault()
  const restored = await vault.restore(gone.sessionId)
  if (restored.at(-1)?.outcome === 'damaged') throw damagedCopy(gone.sessionId)
  app.log.info(
    { event: 'vault-restored', sessionId: gone.sessionId, files: restored.length },
    'Restored a session.',
  )
  await app.discovery().refresh()
}
