// The agent used when no agent is named. Not in the configuration schema, so that small commands need not load that.
import type { AgentsConfig } from './config/agent-settings.ts'
import { DEFAULT_AGENT_ID } from './session-key.ts'

/** The one marked so, else the first. */
export function defaultAgentId({ agents }: { agents: AgentsConfig }): string {
  const { list } = agents
  return (list.find((agent) => agent.default) ?? list[0])?.id ?? DEFAULT_AGENT_ID
}
