// Who answers where nobody says which agent. Apart from the schema of the configuration, which small commands do not load.
import type { AgentsConfig } from './config/agent-settings.ts'
import { DEFAULT_AGENT_ID } from './session-key.ts'

/** The one marked so, else the first. */
export function defaultAgentId({ agents }: { agents: AgentsConfig }): string {
  const { list } = agents
  return (list.find((agent) => agent.default) ?? list[0])?.id ?? DEFAULT_AGENT_ID
}
