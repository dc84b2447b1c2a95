// Agents as the configuration and the state directory describe them: their settings, workspaces and folders.
import { existsSync, mkdirSync, readdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { openclawPrefix, type Agent } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import { attempt, RockpoolError } from '../domain/errors.ts'
import { agentIdRule, defaultAgentId } from '../domain/session-key.ts'
import { openclawAgentOf } from './openclaw/openclaw-report.ts'
import type { StatePaths } from './paths.ts'

export function configuredAgent(config: Config, paths: StatePaths, agentId: string): Agent {
  const { defaults, list } = config.agents
  const own = list.find((agent) => agent.id === agentId)
  return {
    id: agentId,
    name: own?.name ?? agentId,
    workspace: workspaceOf({ config, paths }, agentId),
    model: own?.model ?? defaults.model,
    systemPrompt: own?.systemPrompt ?? defaults.systemPrompt,
    settingSources: own?.settingSources ?? defaults.settingSources ?? [],
  }
}

type Parts = { config: Pick<Config, 'agents'>; paths: StatePaths }

/** In the configuration, the default agent, or an agent with a folder. */
export function isAgent({ config, paths }: Parts, agentId: string): boolean {
  const isConfigured = config.agents.list.some(({ id }) => id === agentId)
  return isConfigured || agentId === defaultAgentId(config) || existsSync(paths.agent(agentId))
}

/** Throws `not-found` if there is no such agent. OpenClaw alone decides which agents it has. */
export function requireAgent(parts: Parts, agentId: string): void {
  if (agentId.startsWith(openclawPrefix) || isAgent(parts, agentId)) return
  throw new RockpoolError('not-found', `There is no agent ${JSON.stringify(agentId)}.`, {
    hint: `The operator adds it with \`rockpool agents add ${agentId}\`.`,
  })
}

/** Where an agent keeps its notes, and works unless another folder is named. */
export function workspaceOf({ config, paths }: Parts, agentId: string): string {
  const { list, defaults } = config.agents
  const own =
    list.find((each) => each.id === agentId)?.workspace ?? openclawAgentOf(paths, agentId)?.workspace
  return own ?? defaults.workspace ?? paths.workspace(agentId)
}

/** Every request asks for the agents, and the answer reads a folder. Short enough that the next command knows a new agent. */
const cacheMs = 20

export function knownAgentIds(
  config: Pick<Config, 'agents'>,
  paths: StatePaths,
  clock: Clock,
): () => string[] {
  const folder = dirname(paths.agent('main'))
  let cached: { ids: string[]; until: number } | undefined
  return () => {
    if (!cached || clock.monotonic() >= cached.until)
      cached = { ids: agentIds(config, folder), until: clock.monotonic() + cacheMs }
    return cached.ids
  }
}

function agentIds(config: Pick<Config, 'agents'>, folder: string): string[] {
  const found = new Set(config.agents.list.map((agent) => agent.id))
  for (const name of agentFoldersIn(folder)) found.add(name)
  // The default agent is listed even if it has no settings and no session yet.
  found.add(defaultAgentId(config))
  return [...found].sort()
}

function agentFoldersIn(path: string): string[] {
  // A fresh state directory has no such folder yet.
  const entries = attempt(() => readdirSync(path, { withFileTypes: true }), [])
  const folders = entries.filter((entry) => entry.isDirectory()).map((entry) => entry.name)
  return folders.filter((name) => agentIdRule.test(name))
}

export function addAgentFolder(paths: StatePaths, agentId: string): string {
  mkdirSync(paths.sessions(agentId), { recursive: true, mode: 0o700 })
  return paths.agent(agentId)
}

/** Returns where the folder is now; undefined if the agent had none. */
export function setAgentFolderAside(paths: StatePaths, agentId: string, now: number): string | undefined {
  const folder = paths.agent(agentId)
  if (!existsSync(folder)) return undefined
  const aside = join(paths.root, 'removed-agents')
  mkdirSync(aside, { recursive: true, mode: 0o700 })
  const target = join(aside, `${agentId}-${new Date(now).toISOString().replaceAll(':', '-')}`)
  renameSync(folder, target)
  return target
}
