// A coding session that another session began has a row of its own among the sessions, so that lists show what the parent
// began; when it is over the row goes, if the parent wanted so. The coding session itself stays.
import { asRockpoolError } from '../../domain/errors.ts'
import type { CodingSession } from '../../domain/coding-session.ts'
import { deleteSession, newEntry } from '../../sessions/lifecycle.ts'
import type { App } from '../app.ts'
import { partsOf } from '../sessions/session-parts.ts'

export interface SpawnedRow {
  childSessionKey: string
  parentKey: string
  depth: number
  label?: string
}

export async function addSpawnedRow(app: App, session: CodingSession, row: SpawnedRow): Promise<void> {
  const fields = {
    label: row.label === undefined ? undefined : `${row.label} (${session.id})`,
    spawnedBy: row.parentKey,
    spawnDepth: row.depth,
    codingSessionId: session.id,
  }
  const sessions = app.storage.sessions(session.request.agentId)
  await sessions.update(row.childSessionKey, () => newEntry(app.clock.now(), fields))
  // It may have been over before its row was there.
  await tidy(app, app.storage.coding.get(session.id) ?? session)
}

/** Cleans up sessions that ended meanwhile now, the others when they end. */
export async function followSpawnedCoding(app: App): Promise<void> {
  app.events.on((event) => {
    if (event.type !== 'coding-changed' || event.why !== 'ended') return
    const session = app.storage.coding.get(event.id)
    if (session) void tidy(app, session)
  })
  for (const session of app.storage.coding.list()) await tidy(app, session)
}

async function tidy(app: App, { request, lifecycle }: CodingSession): Promise<void> {
  const { childSessionKey: key, agentId } = request
  if (lifecycle !== 'ended' || key === undefined) return
  try {
    if (!(await app.storage.sessions(agentId).get(key))) return
    await deleteSession(partsOf(app, { agentId }), key, { purge: false })
  } catch (error) {
    app.log.warn(
      { event: 'subagent-cleanup-failed', key, error: asRockpoolError(error).message },
      'Could not remove the session of a finished sub-agent.',
    )
  }
}
