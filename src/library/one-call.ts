// Library functions that open the program for one call: finding native sessions, project status and selection, messages of
// coding sessions. A program that calls often is better served by the gateway. src/index.ts passes in how to open it.
import { configDirsOf, isSessionId, listTranscripts } from '../discovery/list-files.ts'
import { gatherProjectStatus } from '../discovery/project-status.ts'
import { openclawSource, readRegistries, type RegistryRow } from '../discovery/registries.ts'
import { assessTaskRelevance } from '../discovery/relevance.ts'
import { selectSession } from '../discovery/select.ts'
import { repoPathToSlug } from '../discovery/repo-paths.ts'
import type { SessionSelectionConfig } from '../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { RockpoolError, attempt } from '../domain/errors.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import type { SessionSelection, TaskRelevance } from '../domain/selection.ts'
import type { App } from '../operations/app.ts'
import { listEverySession } from '../operations/cc/cc-list.ts'
import type { Caller } from '../operations/operation.ts'
import { perform } from '../operations/all.ts'
import { loadConfig, readEnvironment } from '../store/config-file.ts'
import { existsSync, realpathSync } from 'node:fs'
import { join, resolve } from 'node:path'

export { parseJsonlHeader } from './parse-header.ts'
export type { JsonlHeader } from './parse-header.ts'
export { repoPathToSlug } from '../discovery/repo-paths.ts'

export type WithApp = <T>(work: (app: App) => Promise<T>) => Promise<T>

export function withAppFrom(open: () => Promise<App>): WithApp {
  return async (work) => {
    const app = await open()
    try {
      return await work(app)
    } finally {
      await app.close()
    }
  }
}

export interface DiscoveryLibrary {
  /** Sessions of a repository and its worktrees, or of the whole machine: running ones first, then the newest. */
  discoverSessions: (repoPath?: string) => Promise<DiscoveredSession[]>
  /** Rows of all registries, ours and OpenClaw's, also those whose transcripts are gone. */
  listAllSessions: () => Promise<RegistryRow[]>
}

export function discoveryLibrary(withApp: WithApp): DiscoveryLibrary {
  return {
    discoverSessions: (repoPath) =>
      withApp(async (app) => (await app.discovery().list({ repoPath, agentKind: 'all' })).sessions),
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

/** Does the transcript of this session exist, in the folder of the repository or elsewhere? */
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

export interface SelectionLibrary {
  gatherProjectStatus: (repoPath: string, agentId?: string) => Promise<ProjectStatus>
  /** One call to a small model for all sessions; without a model or an answer, words are compared. */
  assessTaskRelevance: (
    task: string,
    sessions: DiscoveredSession[],
    config?: Partial<SessionSelectionConfig>,
  ) => Promise<TaskRelevance[]>
  /** `agentId` is undefined for the operator, to whom every session belongs. */
  selectSession: (
    task: string,
    repoPath: string,
    agentId: string | undefined,
    projectStatus: ProjectStatus,
    label?: string,
    maxBudgetUsd?: number,
    config?: Partial<SessionSelectionConfig>,
  ) => Promise<SessionSelection>
}

export function selectionLibrary(withApp: WithApp): SelectionLibrary {
  return {
    gatherProjectStatus: (repoPath, agentId) =>
      withApp((app) => {
        const { environment, clock } = app
        const sources = { discovery: app.discovery(), variables: environment.variables, clock }
        return gatherProjectStatus(sources, repoPath, agentId)
      }),
    assessTaskRelevance: (task, sessions, config = {}) =>
      withApp(async (app) => {
        const settings = { ...app.coding().choice.settings(undefined), ...config }
        const judged = await assessTaskRelevance(task, sessions, settings, app.smallModel(), app.clock)
        return judged.relevance
      }),
    selectSession: (task, repoPath, agentId, projectStatus, label, maxBudgetUsd, config = {}) =>
      withApp((app) =>
        selectSession(app.coding().choice.sources(), {
          task,
          projectStatus: { ...projectStatus, repo: { ...projectStatus.repo, path: repoPath } },
          config: { ...app.coding().choice.settings(agentId), ...config },
          agentId,
          label,
          maxBudgetUsd,
        }),
      ),
  }
}

const program: Caller = { via: 'rpc', scopes: ['admin'], name: 'library' }

export interface CodingLibrary {
  /** Sends a message to the chat of a coding session, or to its agent if no chat can be reached; the same label once. */
  routeEventMessage: (session: { id: string }, eventText: string, label: string) => Promise<void>
  /** Answers an approval request of the session in this repository; `requestId` may be the start of an id. */
  respondToPermission: (repoPath: string, requestId: string, allow: boolean) => Promise<void>
}

export function codingLibrary(withApp: WithApp): CodingLibrary {
  return {
    routeEventMessage: (session, eventText, label) =>
      withApp(async (app) => {
        const { pool, notifications } = app.coding()
        await notifications.routeEventMessage(pool.resolve(session.id), eventText, label)
      }),
    respondToPermission: (repoPath, requestId, allow) =>
      withApp(async (app) => {
        const { approvals } = app.coding()
        // Sessions store real paths; the caller may name the repository through a link. The folder may be deleted while a session
        // still asks; then only the path as given can match.
        const real = attempt(() => realpathSync(repoPath), resolve(repoPath))
        const asked = approvals.pending().find(({ id, codingId = '' }) => {
          return id.startsWith(requestId) && app.storage.coding.get(codingId)?.request.workdir === real
        })
        if (!asked)
          throw new RockpoolError('not-found', `No request ${requestId} is pending in ${repoPath}.`, {
            hint: '`rockpool approvals list` shows what is open.',
          })
        await perform(app, 'approvals.answer', { id: asked.id, decision: allow ? 'allow' : 'deny' }, program)
      }),
  }
}
