// Puts the program together: what operations work with. Each part is made when it is first asked for and closed
// at the end, the last one first.
import { readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { HeavyCode } from './compose/lazy-parts.ts'
import { openSharedMedia, openSharedMemory } from './operations/system/shared-files.ts'
import { systemClock } from './domain/clock.ts'
import type { Clock } from './domain/clock.ts'
import type { Config } from './domain/config.ts'
import { defaultAgentId } from './domain/session-key.ts'
import type { ScanProgress } from './domain/discovered-session.ts'
import { makeEvents } from './domain/events.ts'
import { silentLog } from './domain/log.ts'
import type { Log } from './domain/log.ts'
import type { IndexProgress } from './domain/search.ts'
import type { App } from './operations/app.ts'
import type { Environment } from './store/config-file.ts'
import { loadConfig } from './store/config-file.ts'
import type { Database } from './store/sqlite/database.ts'
import { Pairing } from './store/sqlite/people.ts'
import type { People } from './store/sqlite/people.ts'
import { checkAgentId, statePaths } from './store/paths.ts'
import type { StatePaths } from './store/paths.ts'
import { openShared } from './store/postgres/open.ts'
import type { Shared } from './store/postgres/open.ts'
import { SharedRecords } from './store/postgres/records.ts'
import { PostgresPeople } from './store/postgres/people.ts'
import { postgresWork } from './store/postgres/work.ts'
import { openStateDatabase } from './store/sqlite/state-database.ts'
import { secureStateDirectory } from './store/state-directory.ts'
import { openSessionStore, openTranscriptStore } from './store/open.ts'
import { sqliteWork } from './store/sqlite/work.ts'
import { knownSecrets } from './compose/known-secrets.ts'
import { makeRedactor } from './domain/redact.ts'
import type { Redactor } from './domain/redact.ts'

export interface AppOptions {
  version: string
  clock?: Clock
  log?: Log
  /** Told how far a long scan of sessions is. */
  onScanProgress?: (progress: ScanProgress) => void
  /** Told how far a long reading of what was said is. */
  onIndexProgress?: (progress: IndexProgress) => void
  onCopyProgress?: App['onCopyProgress']
  /** The process that holds the channels. */
  isGateway?: boolean
  /** Leaves the heavy parts unloaded until `prepare`, for a command that may need none of them. */
  light?: boolean
}

/** What runs is given this long to end; systemd waits 40 s. */
const drainMs = 20_000

export async function openApp(environment: Environment, options: AppOptions): Promise<App> {
  const { clock = systemClock, log = silentLog, version } = options
  const { config } = await loadConfig(environment)
  const paths = pathsOf(environment, config)
  for (const warning of secureStateDirectory(paths.root)) log.warn({ event: 'config-warning' }, warning)
  const parts = new Parts()
  const shared = openShared(config, environment, { clock, log, serves: options.isGateway === true })
  const stores = storesOf({ environment, config, paths, clock, log, version }, parts, shared)
  const code = new HeavyCode()
  const app: App = {
    ...stores,
    ...openParts(stores, parts, options, () => app, code),
    ...(options.onCopyProgress ? { onCopyProgress: options.onCopyProgress } : {}),
    prepare: async (needs) => {
      await code.load(needs)
      await app.records?.().refresh()
    },
    close: async () => {
      await parts.close()
      await shared?.members.close()
      await shared?.postgres.close()
    },
  }
  if (!options.light) await app.prepare()
  return app
}

/** With a shared database, the tables of this machine are a copy. */
function pathsOf({ stateDir }: Environment, { store }: Config): StatePaths {
  const paths = statePaths(stateDir)
  return store === 'postgres' ? { ...paths, database: paths.sharedCopy } : paths
}

type PartName = 'decisions' | 'discovery' | 'search' | 'smallModel' | 'runtime' | 'conversations' | 'coding'
type Stores = Omit<App, PartName | 'prepare' | 'close'>

/** Where everything is kept. */
function storesOf(
  basis: Pick<App, 'environment' | 'config' | 'paths' | 'clock' | 'log' | 'version'>,
  parts: Parts,
  shared: Shared | undefined,
): Stores {
  const { environment, config, paths, clock, log } = basis
  const events = makeEvents((error) =>
    log.error(
      { event: 'event-listener-failed', error: String(error) },
      'An event listener threw; other listeners are not affected.',
    ),
  )
  const { sessionCacheTtlMs } = environment
  const storeParts = { config, paths, clock, log, events, sessionCacheTtlMs, ...shared }
  const database = parts.once<Database>(
    () => openStateDatabase(paths.database, { durability: shared ? 'relaxed' : 'full' }),
    (opened) => opened.close(),
  )
  const agents = knownAgentIds(config, paths, clock)
  return {
    ...basis,
    startedAt: clock.now(),
    redactor: parts.once(() => redactorFor(basis)),
    events,
    agentIds: agents,
    sessions: parts.perAgent(
      (agentId) => openSessionStore(agentId, storeParts),
      (store) => store.close(),
    ),
    transcripts: parts.perAgent(
      (agentId) => openTranscriptStore(agentId, storeParts),
      (store) => store.close(),
    ),
    database,
    ...shared,
    ...(shared ? { records: recordsOf(shared, database, parts, basis) } : {}),
    ...(shared ? filesOf(shared, parts, { ...basis, agentIds: agents }) : {}),
    work: parts.once(() =>
      shared ? postgresWork(shared.postgres, clock, shared.members) : sqliteWork(database(), clock),
    ),
    people: parts.once<People>(() =>
      shared ? new PostgresPeople(shared.postgres, shared.members, clock) : new Pairing(database(), clock),
    ),
  }
}

function redactorFor(basis: Parameters<typeof knownSecrets>[0]): Redactor {
  const redactor = makeRedactor()
  for (const [name, value] of knownSecrets(basis)) redactor.know(name, value)
  return redactor
}

/** What all machines know of coding sessions, approvals, spending and decisions. */
function recordsOf(
  { postgres, members }: Shared,
  copy: () => Database,
  parts: Parts,
  { clock, log }: Pick<App, 'clock' | 'log'>,
): () => SharedRecords {
  return parts.once(
    () => new SharedRecords({ postgres, members, copy: copy(), clock, log }),
    (records) => records.close(),
  )
}

/** The files of agents that all machines share. */
function filesOf(
  shared: Shared,
  parts: Parts,
  basis: Parameters<typeof openSharedMemory>[1],
): Pick<App, 'memory' | 'media'> {
  return {
    memory: parts.once(
      () => openSharedMemory(shared, basis),
      (memory) => memory.close(),
    ),
    media: parts.once(
      () => openSharedMedia(shared, basis),
      async (media) => media.close(),
    ),
  }
}

/** The parts that work with the stores. */
function openParts(
  stores: Stores,
  parts: Parts,
  options: AppOptions,
  app: () => App,
  code: HeavyCode,
): Pick<App, PartName> {
  const { environment, config, paths, clock, log, version } = stores
  return {
    decisions: parts.once(() =>
      stores.records
        ? code.of('coding').sharedDecisions(stores.database(), stores.records())
        : code.of('coding').sqliteDecisions(stores.database()),
    ),
    discovery: parts.once(
      () => code.of('discovery').openDiscoveryOf(stores, options.onScanProgress),
      (discovery) => discovery.close(),
    ),
    search: parts.once(
      () => code.of('search').openSearch(app(), options.onIndexProgress),
      (search) => search.close(),
    ),
    smallModel: parts.once(() => code.of('coding').smallModelOf(stores)),
    // Whoever takes turns ends them first; it is made late, in the middle of their first turn.
    runtime: parts.onceClosedLast(
      async () => {
        const { chooseAgent } = await import('./agent/choose.ts')
        const { maskRuntime } = await import('./agent/masked-runtime.ts')
        const { sharedTranscriptsOf } = await import('./compose/shared-events.ts')
        const transcripts = sharedTranscriptsOf(stores)
        const runtime = await chooseAgent({ environment, config, paths, clock, log, version, transcripts })
        return maskRuntime(runtime, stores.redactor())
      },
      async (runtime) => (await runtime).close(),
    ),
    conversations: parts.once(
      async () => {
        const { openConversations } = await import('./compose/conversations.ts')
        return openConversations(app(), { withChannels: options.isGateway === true })
      },
      async (conversations) => (await conversations).stop(drainMs),
    ),
    coding: parts.once(
      () => code.of('coding').openCodingWorld(app()),
      (coding) => {
        coding.machines?.close()
        return coding.pool.drain()
      },
    ),
  }
}

/** What was opened, in order; closed the other way round. */
class Parts {
  #closing: Array<() => Promise<void>> = []

  /** Made at the first call, the same ever after. */
  once<T>(make: () => T, close?: (part: T) => Promise<void>): () => T {
    let made: { part: T } | undefined
    return () => {
      if (!made) {
        const part = make()
        made = { part }
        if (close) this.#closing.push(() => close(part))
      }
      return made.part
    }
  }

  /** The same, but closed when everything else is. */
  onceClosedLast<T>(make: () => T, close: (part: T) => Promise<void>): () => T {
    let made: { part: T } | undefined
    this.#closing.unshift(async () => made && close(made.part))
    return () => (made ??= { part: make() }).part
  }

  perAgent<T>(make: (agentId: string) => T, close: (part: T) => Promise<void>): (agentId: string) => T {
    const made = new Map<string, () => T>()
    return (agentId) => {
      const id = checkAgentId(agentId)
      const part = made.get(id) ?? this.once(() => make(id), close)
      made.set(id, part)
      return part()
    }
  }

  async close(): Promise<void> {
    for (const close of this.#closing.splice(0).reverse()) await close()
  }
}

/** Asked with every request, and it reads a folder; short enough that the next command knows a new agent. */
const agentsKnownMs = 20

function knownAgentIds(config: Pick<Config, 'agents'>, paths: StatePaths, clock: Clock): () => string[] {
  const folder = dirname(paths.agent('main'))
  let known: { ids: string[]; until: number } | undefined
  return () => {
    if (!known || clock.monotonic() >= known.until)
      known = { ids: agentIds(config, folder), until: clock.monotonic() + agentsKnownMs }
    return known.ids
  }
}

function agentIds(config: Pick<Config, 'agents'>, folder: string): string[] {
  const found = new Set(config.agents.list.map((agent) => agent.id))
  for (const name of readFolder(folder)) found.add(name)
  // The one that answers is there, also before its first session.
  found.add(defaultAgentId(config))
  return [...found].sort()
}

function readFolder(path: string): string[] {
  try {
    const folders = readdirSync(path, { withFileTypes: true }).filter((entry) => entry.isDirectory())
    return folders.map((entry) => entry.name).filter((name) => /^[a-z0-9][a-z0-9_-]{0,63}$/.test(name))
  } catch {
    // Not there yet: a fresh state directory has no agents but the default one.
    return []
  }
}
