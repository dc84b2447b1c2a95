// Puts discovery together: the directories of Claude's, the registries of others, and our own rows.
import { configDirsOf } from '../discovery/config-dirs.ts'
import { openDiscovery } from '../discovery/discovery.ts'
import { claudeIdOf, openclawSource } from '../discovery/registry.ts'
import type { RegistryRow } from '../discovery/registry.ts'
import type { CodingSession } from '../domain/coding.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import type { App } from '../operations/app.ts'
import { CodingStore } from '../store/coding-store.ts'

type Needs = Pick<
  App,
  'environment' | 'config' | 'paths' | 'clock' | 'log' | 'database' | 'agentIds' | 'sessions'
>

export function openDiscoveryOf(app: Needs): Discovery {
  const { environment, config, clock, log } = app
  return openDiscovery({
    configDirs: configDirsOf({ ...environment, discovery: config.discovery }),
    indexFile: app.paths.discoveryIndex,
    registries: [
      async () => new CodingStore(app.database()).list().flatMap(rowOfCoding),
      () => rowsOfChats(app),
      openclawSource(environment.openclawStateDir, log),
    ],
    clock,
    log,
    timeZone: config.timeZone,
  })
}

/** What a coding session says of its conversation. */
function rowOfCoding(session: CodingSession): RegistryRow[] {
  const { request, sdkSessionId, waiting, lifecycle } = session
  if (sdkSessionId === undefined) return []
  const live = session.owner !== undefined && lifecycle !== 'queued'
  return [
    {
      sessionId: sdkSessionId,
      source: 'rockpool',
      agentId: request.agentId,
      repoPath: request.workdir,
      label: request.label,
      totalCostUsd: session.costUsd,
      totalTurns: session.turns,
      lastTask: request.prompt,
      budgetUsd: session.budgetUsd,
      createdAt: session.createdAt,
      lastUsedAt: session.lastActivityAt,
      ...(live ? { status: waiting ? 'waiting' : 'busy' } : {}),
      ...(live && waiting ? { waitingFor: waiting.for } : {}),
    },
  ]
}

async function rowsOfChats(app: Needs): Promise<RegistryRow[]> {
  const rows: RegistryRow[] = []
  for (const agentId of app.agentIds()) {
    const { sessions } = await app.sessions(agentId).list()
    for (const { entry } of sessions) {
      const sessionId = claudeIdOf(entry)
      if (!sessionId) continue
      const { label, estimatedCostUsd: totalCostUsd, updatedAt: lastUsedAt } = entry
      rows.push({ sessionId, source: 'rockpool', agentId, label, totalCostUsd, lastUsedAt })
    }
  }
  return rows
}
