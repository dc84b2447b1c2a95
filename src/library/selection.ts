// The seed's functions of project status and session selection, for programs that build on Rockpool. Each call reads the
// environment and opens what it needs; a program that asks often is better served by the gateway.
import { assessTaskRelevance } from '../discovery/relevance.ts'
import { gatherProjectStatus } from '../discovery/project-status.ts'
import { selectSession } from '../discovery/select.ts'
import type { SessionSelectionConfig } from '../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import type { SessionSelection, TaskRelevance } from '../domain/selection.ts'
import type { WithApp } from './with-app.ts'

export interface SelectionLibrary {
  gatherProjectStatus: (repoPath: string, agentId?: string) => Promise<ProjectStatus>
  /** One call to a small model for all sessions; words are compared when there is none or it does not answer. */
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
