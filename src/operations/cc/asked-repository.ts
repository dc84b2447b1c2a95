// The repository that a question is about.
import { RockpoolError } from '../../domain/errors.ts'
import { workspaceOf } from '../../store/agents.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

/** The given repository, or the workspace of the calling agent; never the gateway's own directory. */
export async function repoOf(app: App, given: string | undefined, caller: Caller): Promise<string> {
  const { agentId } = caller
  if (agentId !== undefined) return repoOfAgent(app, given ?? workspaceOf(app, agentId), agentId)
  if (given !== undefined) return given
  throw new RockpoolError('input-invalid', 'repo is missing.', { hint: 'Give the path of the repository.' })
}

async function repoOfAgent(app: App, folder: string, agentId: string): Promise<string> {
  // Loaded only for an agent: a command of a person starts faster without them.
  const { isOpenTo, refuseForeignRepository } = await import('../coding/launch-rights.ts')
  if (!isOpenTo(app, folder, agentId))
    throw new RockpoolError('not-found', `There is no folder ${JSON.stringify(folder)} for ${agentId}.`, {
      hint: 'An agent sees its own workspace and the repositories in coding.repos.',
    })
  await refuseForeignRepository(app, folder, agentId)
  return folder
}
