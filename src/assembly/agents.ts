// Agents as the configuration describes them: an own setting wins over the default.
import type { Agent } from '../domain/agent.ts'
import type { Config } from '../domain/config.ts'
import type { StatePaths } from '../store/paths.ts'

/** Tools that only look. Everything else is asked for, but what only looks in a shell (`ls`, `grep`), which Claude Code
 *  knows by itself; it has no tools of their own for that. */
const readOnlyTools = ['Read']

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
    allowedTools: own?.allowedTools ?? defaults.allowedTools ?? readOnlyTools,
  }
}
