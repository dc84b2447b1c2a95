// Who answers: the agents that are configured, and those that have sessions here.
import { z } from 'zod'
import { operation } from './operation.ts'

const agentRow = z.object({
  id: z.string(),
  name: z.string().optional(),
  default: z.boolean(),
  configured: z.boolean(),
  model: z.string().optional(),
  workspace: z.string(),
})

export const operations = [
  operation({
    name: 'agents.list',
    says: 'List the agents.',
    input: z.strictObject({}),
    output: z.object({ defaultId: z.string(), agents: z.array(agentRow) }),
    scope: 'read',
    forAgents: true,
    command: { examples: ['rockpool agents', 'rockpool agents list --json'] },
    async run(app, _input, caller) {
      const { list, defaults } = app.config.agents
      const defaultId = list.find((agent) => agent.default)?.id ?? list[0]?.id ?? 'main'
      const ids = app.agentIds().filter((id) => caller.agentId === undefined || caller.agentId === id)
      const agents = ids.map((id) => {
        const settings = list.find((agent) => agent.id === id)
        return {
          id,
          name: settings?.name,
          default: id === defaultId,
          configured: settings !== undefined,
          model: settings?.model ?? defaults.model,
          workspace: settings?.workspace ?? defaults.workspace ?? app.paths.workspace(id),
        }
      })
      return { defaultId, agents }
    },
  }),
]
