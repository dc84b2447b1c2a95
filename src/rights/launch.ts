// Where an agent may start coding sessions and read projects, and how much a session may cost that it starts. People choose
// freely; these limits hold for agents and for tokens that are bound to an agent. All paths are real paths.
import { sep } from 'node:path'

export interface LaunchLimits {
  /** The agent's own folder. */
  workspace: string
  /** The repositories that the configuration names. */
  repositories: readonly string[]
  /** The state directory and the workspaces of other agents. */
  closed: readonly string[]
  maxBudgetUsd: number
}

/** The innermost folder around the directory decides: `coding.repos` may name a folder that contains a closed one. A
 *  directory that contains a closed folder is refused, because whoever works there can read everything below it. */
export function mayUseDirectory(directory: string, limits: LaunchLimits): boolean {
  const { workspace, repositories, closed } = limits
  if (directory === workspace) return true
  if (closed.some((folder) => isWithin(folder, directory))) return false
  return innermost(directory, [workspace, ...repositories]) > innermost(directory, closed)
}

export function mayCost(budgetUsd: number | undefined, { maxBudgetUsd }: LaunchLimits): boolean {
  return budgetUsd === undefined || budgetUsd <= maxBudgetUsd
}

/** The length of the longest of these folders that contain the directory; 0 when none does. */
function innermost(directory: string, folders: readonly string[]): number {
  return Math.max(0, ...folders.filter((folder) => isWithin(directory, folder)).map(({ length }) => length))
}

function isWithin(path: string, folder: string): boolean {
  return path === folder || path.startsWith(folder.endsWith(sep) ? folder : folder + sep)
}
