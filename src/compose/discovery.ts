// Constructs discovery: Claude's directories, the registries of other programs, and our own sessions.
import { agentHomesOf } from '../discovery/agents/agent-homes.ts'
import { configDirsOf } from '../discovery/list-files.ts'
import { openDiscovery } from '../discovery/discovery.ts'
import { openclawSource } from '../discovery/registries.ts'
import type { Discovery, ScanProgress } from '../domain/discovered-session.ts'
import type { App } from '../operations/app.ts'
import { workspaceOf } from '../store/agents.ts'
import { ownRows } from '../coding/registry-rows.ts'

export function openDiscoveryOf(app: App, onProgress?: (progress: ScanProgress) => void): Discovery {
  const { environment, config, clock, log } = app
  return openDiscovery({
    configDirs: configDirsOf({ ...environment, discovery: config.discovery }),
    agentHomes: agentHomesOf(environment, config.discovery),
    indexFile: app.paths.discoveryIndex,
    registries: [ownRows(app), openclawSource(environment.openclawStateDir, log)],
    workspaces: () => app.agentIds().map((agentId) => workspaceOf(app, agentId)),
    reports: app.liveReports,
    clock,
    log,
    timeZone: config.timeZone,
    onProgress,
  })
}
