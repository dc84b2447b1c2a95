// The repository that a question is about.
import { RockpoolError } from '../../domain/errors.ts'
import { workspaceOf } from '../../store/agents.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

/** The given repository, or the workspace of the calling agent; never the gateway's own directory. */
export async function repoOf(app: App, given: string | undefined, caller: Caller): Promise<string> {
  const { agentId } = caller
  if (given !== undefined && agentId !== undefined && !(await isOpenTo(app, given, agentId)))
    throw new RockpoolError('not-found', `There is no folder ${JSON.stringify(given)} for ${agentId}.`, {
      hint: 'An agent sees its own workspace and the repositories in coding.repos.',
    })
  if (given !== undefined) return given
  if (agentId !== undefined) return workspaceOf(app, agentId)
  throw new RockpoolError('input-invalid', 'repo is missing.', { hint: 'Give the path of the repository.' })
}

/** The rights of agents are loaded only for an agent: a command of a person starts faster without them. */
async function isOpenTo(app: App, folder: string, agentId: string): Promise<boolean> {
  return (await import('../coding/launch-rights.ts')).isOpenTo(app, folder, agentId)
}
