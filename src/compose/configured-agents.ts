// Agents as the configuration describes them: an own setting wins over the default.
import type { Agent } from '../domain/agent.ts'
import type { Config } from '../domain/config.ts'
import { allowedToolsOf } from '../domain/config/agent-settings.ts'
import type { StatePaths } from '../store/paths.ts'

export function agentFrom(config: Config, paths: StatePaths, agentId: string): Agent {
  const { defaults, list } = config.agents
  const own = list.find((agent) => agent.id === agentId)
  return {
    id: agentId,
    name: own?.name ?? agentId,
    workspace: own?.workspace ?? defaults.workspace ?? paths.workspace(agentId),
    model: own?.model ?? defaults.model,
    systemPrompt: own?.systemPrompt ?? defaults.systemPrompt,
    settingSources: own?.settingSources ?? defaults.settingSources ?? [],
    allowedTools: allowedToolsOf(config.agents, agentId),
  }
}
