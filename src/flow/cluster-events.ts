// Several machines that share one database: events of one reach the dashboards of all, notes are exchanged around each turn,
// and a purge removes Claude's files on every machine.
import { basename, join } from 'node:path'
import { claudeConfigDir } from '../agent/credentials.ts'
import type { Events, RockpoolEvent } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Environment } from '../store/config-file.ts'
import type { StatePaths } from '../store/paths.ts'
import type { Cluster, NoteExchange, Storage } from '../store/storage.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import { claudeFilesOf, removeClaudeTranscript } from '../store/transcripts/claude-file.ts'
import type { FlowParts } from './flow-parts.ts'

interface ClusterEventParts {
  environment: Environment
  paths: StatePaths
  storage: Storage
  events: Events
  log: Log
  /** Called after Claude's files of these sessions were removed. */
  onPurged: (sdkSessionIds: string[]) => Promise<void>
}

/** Events about one machine, or that each machine emits for itself, are not passed on; nor is text that is still being written,
 *  which the row of the session has every second. */
const localEvents = new Set<RockpoolEvent['type']>([
  'native-changed',
  'config-changed',
  'channel-status',
  'coding-writing',
])

/** Joins the cluster, if there is one. The result leaves it. */
export async function joinCluster(parts: ClusterEventParts): Promise<() => Promise<void>> {
  const { cluster } = parts.storage
  if (!cluster) return async () => {}
  const { members } = cluster
  await members.join()
  const stopEvents = exchangeEvents(parts, cluster)
  if (members.serves) await cluster.followFiles()
  const stopPurges = members.serves ? await followPurges(parts, cluster) : undefined
  return async () => {
    stopEvents()
    stopPurges?.()
    await members.close()
  }
}

function exchangeEvents(
  { events, paths, log }: ClusterEventParts,
  { members, refresh }: Cluster,
): () => void {
  let isForeign = false
  const stopSending = events.on((event) => {
    if (!isForeign && !localEvents.has(event.type)) members.signal({ kind: 'event', event })
  })
  const emitForeign = (event: RockpoolEvent): void => {
    isForeign = true
    try {
      events.emit(withLocalPath(paths, event))
    } finally {
      isForeign = false
    }
  }
  const receive = async (event: RockpoolEvent): Promise<void> => {
    try {
      // A subscriber reads the coding session or approval after its event, so the local copy is updated first.
      if (event.type === 'coding-changed' || event.type === 'approval-changed') await refresh()
      emitForeign(event)
    } catch (error) {
      // Every user of the database may send notifications. The next events do not wait for this one.
      log.warn(
        { event: 'cluster-event-invalid', error: String(error) },
        'Could not read an event of another machine; open pages show its change later.',
      )
    }
  }
  let received = Promise.resolve()
  const stopReceiving = members.on((signal) => {
    if (signal.kind === 'event') received = received.then(() => receive(signal.event as RockpoolEvent))
  })
  return () => {
    stopSending()
    stopReceiving()
  }
}

/** A transcript has the same file name on every machine, in another folder. */
function withLocalPath(paths: StatePaths, event: RockpoolEvent): RockpoolEvent {
  if (event.type !== 'transcript-appended') return event
  return { ...event, file: join(paths.sessions(event.agentId), basename(event.file)) }
}

/**
 * Each machine that took a turn has a file of Claude's transcript. On the purge event each removes its own files; at the start
 * also those of sessions that were purged while the machine was away.
 */
async function followPurges(parts: ClusterEventParts, cluster: Cluster): Promise<() => void> {
  const stop = cluster.members.on(({ kind }) => {
    if (kind === 'gone') void removePurged(parts, cluster, '10 minutes')
  })
  await removePurged(parts, cluster, '90 days')
  return stop
}

async function removePurged(parts: ClusterEventParts, cluster: Cluster, since: string): Promise<void> {
  const configDir = claudeConfigDir(parts.environment)
  try {
    const ids = await cluster.purgedClaudeIds(since)
    const found = ids.filter((id) => claudeFilesOf(configDir, id).length > 0)
    if (found.length === 0) return
    for (const path of found.flatMap((id) => claudeFilesOf(configDir, id))) await removeClaudeTranscript(path)
    await parts.onPurged(found)
  } catch (error) {
    parts.log.warn(
      { event: 'purge-local-failed', error: String(error) },
      "Could not remove Claude's transcript of a session that was purged on another machine; the next start tries again.",
    )
  }
}

/** Fetches notes of other machines before a turn, and sends what the turn wrote afterwards. */
export function exchangeNotes(exchange: NoteExchange, log: Log): Required<FlowParts>['notes'] {
  return {
    // Without the database no turn can run. Any other failure does not delay the answer.
    bring: (agentId) =>
      exchange.sync(agentId).catch((error: unknown) => {
        if (error instanceof StoreUnavailable) throw error
        log.warn(
          { event: 'notes-fetch-failed', agentId, error: String(error) },
          'Could not fetch notes from other machines; the turn runs without them.',
        )
      }),
    give: (agentId) =>
      exchange
        .give(agentId)
        .catch((error: unknown) =>
          log.warn(
            { event: 'notes-share-delayed', agentId, error: String(error) },
            'Could not share the notes of a turn; they are shared later.',
          ),
        ),
  }
}
