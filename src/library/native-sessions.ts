// The seeds' functions for finding Claude Code sessions, with what the environment says about where to look.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { configDirsOf, isSessionId, listTranscripts } from '../discovery/list-files.ts'
import { openclawSource, readRegistries } from '../discovery/registries.ts'
import type { RegistryRow } from '../discovery/registries.ts'
import { repoPathToSlug } from '../discovery/repo-paths.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { listEverySession } from '../operations/cc/cc-list.ts'
import { loadConfig, readEnvironment } from '../store/config-file.ts'
import type { WithApp } from './with-app.ts'

export { parseJsonlHeader } from './parse-header.ts'
export type { JsonlHeader } from './parse-header.ts'
export { repoPathToSlug } from '../discovery/repo-paths.ts'

export interface DiscoveryLibrary {
  /** Sessions of a repository and its worktrees, or of the whole machine: running ones first, then the newest. */
  discoverSessions: (repoPath?: string) => Promise<DiscoveredSession[]>
  /** Rows of all registries, ours and OpenClaw's, whether or not their transcripts are still there. */
  listAllSessions: () => Promise<RegistryRow[]>
}

export function discoveryLibrary(withApp: WithApp): DiscoveryLibrary {
  return {
    discoverSessions: (repoPath) =>
      withApp(async (app) => (await app.discovery().list({ repoPath })).sessions),
    listAllSessions: () =>
      withApp(async (app) => {
        const ours = (await listEverySession(app, { source: 'rockpool' })).sessions.map(rowOf)
        const { environment, log } = app
        const files = [
          openclawSource(environment.stateDir, log, 'rockpool'),
          openclawSource(environment.openclawStateDir, log),
        ]
        return [...(await readRegistries([async () => ours, ...files], log)).values()]
      }),
  }
}

function rowOf(session: DiscoveredSession): RegistryRow {
  const { sessionId, agentId = '', repoPath, label, totalCostUsd, totalTurns, lastTask } = session
  const times = { createdAt: session.createdAt?.getTime(), lastUsedAt: session.lastModified.getTime() }
  return {
    sessionId,
    source: 'rockpool',
    agentId,
    repoPath,
    label,
    totalCostUsd,
    totalTurns,
    lastTask,
    ...times,
  }
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
