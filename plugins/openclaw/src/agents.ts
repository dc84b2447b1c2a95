// OpenClaw's agents as Rockpool learns them: the workspace of each, and what the configuration says about its coding sessions.
import { homedir } from 'node:os'
import { join } from 'node:path'
import { currentConfig } from './openclaw-api.ts'
import type { AgentConfig, OpenClawApi } from './openclaw-api.ts'
import { defaultAgent } from './origin.ts'

interface AgentInfo {
  id: string
  workspace: string
  claudeCode?: Record<string, unknown>
}

export function agentsOf(api: OpenClawApi): AgentInfo[] {
  const config = currentConfig(api)
  const list: AgentConfig[] = config.agents?.list ?? []
  const agents = list.length > 0 ? list : [{ id: defaultAgent(config) }]
  return agents.map((agent) => ({
    id: agent.id,
    workspace: workspaceOf(api, agent.id),
    claudeCode: claudeCodeOf(api, agent),
  }))
}

/** The seed draws it at the agent. OpenClaw's schema refuses keys that it does not know, so the plugin's own configuration can
 *  have it, too; that wins. */
function claudeCodeOf(api: OpenClawApi, agent: AgentConfig): Record<string, unknown> | undefined {
  const defaults = currentConfig(api).agents?.defaults?.subagents?.claudeCode
  const own = agent.claudeCode ?? agent.subagents?.claudeCode
  const ofPlugin = api.pluginConfig?.agents?.[agent.id]
  if (!defaults && !own && !ofPlugin) return undefined
  return withWholePaths({ ...defaults, ...own, ...ofPlugin }) as Record<string, unknown>
}

export function workspaceOf(api: OpenClawApi, agentId: string): string {
  const config = currentConfig(api)
  const resolved = api.runtime.agent?.resolveAgentWorkspaceDir?.(config, agentId)
  if (resolved !== undefined) return resolved
  const own = config.agents?.list?.find(({ id }) => id === agentId)?.workspace
  const isDefault = agentId === defaultAgent(config)
  const configured = own ?? (isDefault ? config.agents?.defaults?.workspace : undefined)
  const folder = isDefault ? 'workspace' : `workspace-${agentId}`
  return withWholePaths(configured ?? join(api.runtime.state.resolveStateDir(), folder)) as string
}

/** Rockpool takes only absolute paths, because it may run as another person. */
function withWholePaths(value: unknown): unknown {
  if (typeof value === 'string') return value.replace(/^~(?=\/|$)/, homedir())
  if (Array.isArray(value)) return value.map(withWholePaths)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withWholePaths(inner)]))
}
