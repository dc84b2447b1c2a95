// The folder of an agent: made when it is added, set aside when it is removed.
import { existsSync, mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import type { StatePaths } from './paths.ts'

export function addAgentFolder(paths: StatePaths, agentId: string): string {
  mkdirSync(paths.sessions(agentId), { recursive: true, mode: 0o700 })
  return paths.agent(agentId)
}

/** Resolves to where it is now; undefined when the agent had none. */
export function setAgentFolderAside(paths: StatePaths, agentId: string, now: number): string | undefined {
  const folder = paths.agent(agentId)
  if (!existsSync(folder)) return undefined
  const aside = join(paths.root, 'removed-agents')
  mkdirSync(aside, { recursive: true, mode: 0o700 })
  const target = join(aside, `${agentId}-${new Date(now).toISOString().replaceAll(':', '-')}`)
  renameSync(folder, target)
  return target
}
