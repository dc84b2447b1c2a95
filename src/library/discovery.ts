// The seeds' functions for finding Claude Code sessions, with what the environment says about where to look.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { configDirsOf } from '../discovery/config-dirs.ts'
import { openDiscovery } from '../discovery/discovery.ts'
import { isSessionId, listTranscripts } from '../discovery/list-files.ts'
import { openclawSource, readRegistries } from '../discovery/registry.ts'
import type { RegistryRow, RegistrySource } from '../discovery/registry.ts'
import { repoPathToSlug } from '../discovery/slug.ts'
import { systemClock } from '../domain/clock.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { silentLog } from '../domain/log.ts'
import type { Environment } from '../store/config-file.ts'
import { loadConfig, readEnvironment } from '../store/config-file.ts'
import { statePaths } from '../store/paths.ts'

export { parseJsonlHeader } from '../discovery/parse-header.ts'
export type { JsonlHeader } from '../discovery/parse-header.ts'
export { repoPathToSlug } from '../discovery/slug.ts'

/** Sessions of a repository and its worktrees, or of the whole machine: running ones first, then the newest. */
export async function discoverSessions(repoPath?: string): Promise<DiscoveredSession[]> {
  const environment = readEnvironment()
  const { config } = await loadConfig(environment)
  const discovery = openDiscovery({
    configDirs: configDirsOf({ ...environment, discovery: config.discovery }),
    indexFile: statePaths(environment.stateDir).discoveryIndex,
    registries: registriesOf(environment),
    clock: systemClock,
    log: silentLog,
    timeZone: config.timeZone,
  })
  try {
    return (await discovery.list({ repoPath })).sessions
  } finally {
    await discovery.close()
  }
}

/** Rows of all registries, ours and OpenClaw's, whether or not their transcripts are still there. */
export async function listAllSessions(): Promise<RegistryRow[]> {
  return [...(await readRegistries(registriesOf(readEnvironment()), silentLog)).values()]
}

/** Is the transcript of this session there? First where the repository's must be, then anywhere. */
export async function ccSessionFileExists(repoPath: string, sessionId: string): Promise<boolean> {
  if (!isSessionId(sessionId)) return false
  const environment = readEnvironment()
  const { config } = await loadConfig(environment)
  const configDirs = configDirsOf({ ...environment, discovery: config.discovery })
  const slug = repoPathToSlug(repoPath)
  if (configDirs.some((dir) => existsSync(join(dir, 'projects', slug, `${sessionId}.jsonl`)))) return true
  const id = sessionId.toLowerCase()
  return listTranscripts(configDirs).files.some((file) => file.kind === 'session' && file.sessionId === id)
}

function registriesOf(environment: Environment): RegistrySource[] {
  return [
    openclawSource(environment.stateDir, silentLog, 'rockpool'),
    openclawSource(environment.openclawStateDir, silentLog),
  ]
}
