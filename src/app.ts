// Puts the program together: what operations work with. Each part is made when it is first asked for and closed
// at the end, the last one first.
import { mkdirSync, readdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { systemClock } from './domain/clock.ts'
import type { Clock } from './domain/clock.ts'
import { makeEvents } from './domain/events.ts'
import { silentLog } from './domain/log.ts'
import type { Log } from './domain/log.ts'
import type { App } from './operations/app.ts'
import type { Environment } from './store/config-file.ts'
import { loadConfig } from './store/config-file.ts'
import type { Database } from './store/database.ts'
import { checkAgentId, statePaths } from './store/paths.ts'
import type { StatePaths } from './store/paths.ts'
import { openStateDatabase } from './store/state-database.ts'
import { openSessionStore, openTranscriptStore } from './store/stores.ts'

export interface AppOptions {
  version: string
  clock?: Clock
  log?: Log
}

export async function openApp(environment: Environment, options: AppOptions): Promise<App> {
  const { clock = systemClock, log = silentLog, version } = options
  const { config } = await loadConfig(environment)
  const paths = statePaths(environment.stateDir)
  mkdirSync(paths.root, { recursive: true, mode: 0o700 })
  const closing: Array<() => Promise<void>> = []
  const once = <T>(make: () => T, close?: (part: T) => Promise<void>): (() => T) => {
    let made: { part: T } | undefined
    return () => {
      if (!made) {
        const part = make()
        made = { part }
        if (close) closing.push(() => close(part))
      }
      return made.part
    }
  }
  const perAgent = <T>(
    make: (agentId: string) => T,
    close: (part: T) => Promise<void>,
  ): ((id: string) => T) => {
    const made = new Map<string, () => T>()
    return (agentId) => {
      const id = checkAgentId(agentId)
      const part = made.get(id) ?? once(() => make(id), close)
      made.set(id, part)
      return part()
    }
  }
  const events = makeEvents((error) => log.error({ error: String(error) }, 'A listener failed.'))
  const { sessionCacheTtlMs } = environment
  const storeParts = { config, paths, clock, log, events, sessionCacheTtlMs }
  return {
    environment,
    config,
    paths,
    clock,
    log,
    version,
    startedAt: clock.now(),
    events,
    agentIds: () => agentIds(config.agents.list, paths),
    sessions: perAgent(
      (agentId) => openSessionStore(agentId, storeParts),
      (store) => store.close(),
    ),
    transcripts: perAgent(
      (agentId) => openTranscriptStore(agentId, storeParts),
      async () => {},
    ),
    database: once<Database>(
      () => openStateDatabase(paths.database),
      (database) => database.close(),
    ),
    async close() {
      for (const close of closing.splice(0).reverse()) await close()
    },
  }
}

function agentIds(configured: ReadonlyArray<{ id: string }>, paths: StatePaths): string[] {
  const found = new Set(configured.map((agent) => agent.id))
  for (const name of readFolder(dirname(paths.agent('main')))) found.add(name)
  if (found.size === 0) found.add('main')
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
