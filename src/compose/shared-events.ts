// What several machines tell each other: events of one reach the dashboards of all.
import { basename, join } from 'node:path'
import type { RockpoolEvent } from '../domain/events.ts'
import { followPurges } from './purge-on-machines.ts'
import type { FlowParts } from '../flow/flow-parts.ts'
import type { App } from '../operations/app.ts'
import { StoreAway } from '../store/store-unavailable.ts'

/** What belongs to one machine, or is said by each of them for itself, is not passed on. */
const ownMatter = new Set<RockpoolEvent['type']>(['native-changed', 'config-changed', 'channel-status'])

/** Joins the others, if there can be any; the result ends it. */
export async function joinOthers(app: App): Promise<() => Promise<void>> {
  const { cluster } = app.storage
  if (!cluster) return async () => {}
  const { members } = cluster
  await members.join()
  let isTheirs = false
  const endTelling = app.events.on((event) => {
    if (!isTheirs && !ownMatter.has(event.type)) members.signal({ kind: 'event', event })
  })
  const pass = (event: RockpoolEvent): void => {
    isTheirs = true
    try {
      app.events.emit(asOurs(app, event))
    } finally {
      isTheirs = false
    }
  }
  let heard = Promise.resolve()
  const endHearing = members.on((signal) => {
    if (signal.kind !== 'event') return
    const event = signal.event as RockpoolEvent
    heard = heard.then(() => knowing(app, event)).then(() => pass(event))
  })
  if (members.serves) await cluster.followFiles()
  const endPurges = members.serves ? await followPurges(app) : undefined
  return async () => {
    endTelling()
    endHearing()
    endPurges?.()
    await members.close()
  }
}

/** A subscriber reads the coding session or approval after its event, so the local copy is updated first. */
async function knowing(app: App, { type }: RockpoolEvent): Promise<void> {
  if (type === 'coding-changed' || type === 'approval-changed') await app.storage.cluster?.refresh()
}

/** Notes that others wrote are here before a turn, and what the turn wrote goes to them. */
export function sharedNotes(app: App): Pick<FlowParts, 'notes'> {
  const { notes: exchange } = app.storage
  return {
    notes: {
      // Without the database no turn is taken anyway; whatever else is wrong with notes does not keep anybody from an answer.
      bring: (agentId) =>
        exchange.sync(agentId).catch((error: unknown) => {
          if (error instanceof StoreAway) throw error
          app.log.warn(
            { event: 'notes-fetch-failed', agentId, error: String(error) },
            'Could not fetch notes from other machines; the turn runs without them.',
          )
        }),
      // The turn has its answer; what could not be told now is told at the next look.
      give: (agentId) =>
        exchange
          .give(agentId)
          .catch((error: unknown) =>
            app.log.warn(
              { event: 'notes-share-delayed', agentId, error: String(error) },
              'Could not share the notes of a turn; they are shared later.',
            ),
          ),
    },
  }
}

/** A transcript has the same name on every machine, in another folder. */
function asOurs(app: App, event: RockpoolEvent): RockpoolEvent {
  if (event.type !== 'transcript-appended') return event
  return { ...event, file: join(app.paths.sessions(event.agentId), basename(event.file)) }
}
