// Agents: those in the configuration, and those that have sessions here.
import { z } from 'zod'
import { defaultAgentId } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { addAgentFolder, isAgent, setAgentFolderAside, workspaceOf } from '../../store/agents.ts'
import { editConfigFile } from '../../store/config-edit.ts'
import { checkAgentId } from '../../store/paths.ts'
import type { App } from '../app.ts'
import { operation } from '../operation.ts'
import { stoppedParts, stopAgent } from './remove-agent.ts'

const agentRow = z.object({
  id: z.string(),
  name: z.string().optional(),
  default: z.boolean(),
  configured: z.boolean(),
  model: z.string().optional(),
  workspace: z.string(),
})

const listAgents = operation({
  name: 'agents.list',
  description: 'List the agents.',
  input: z.strictObject({}),
  output: z.object({ defaultId: z.string(), agents: z.array(agentRow) }),
  scope: 'read',
  forAgents: true,
  command: { examples: ['rockpool agents', 'rockpool agents list --json'] },
  async run(app, _input, caller) {
    const ids = app.agentIds().filter((id) => caller.agentId === undefined || caller.agentId === id)
    return {
      defaultId: caller.agentId ?? defaultAgentId(app.config),
      agents: ids.map((id) => rowOf(app, id)),
    }
  },
})

function rowOf(app: App, id: string): z.input<typeof agentRow> {
  const { list, defaults } = app.config.agents
  const settings = list.find((agent) => agent.id === id)
  return {
    id,
    name: settings?.name,
    default: id === defaultAgentId(app.config),
    configured: settings !== undefined,
    model: settings?.model ?? defaults.model,
    workspace: workspaceOf(app, id),
  }
}

const addAgent = operation({
  name: 'agents.add',
  description: 'Add an agent with its own workspace and sessions.',
  input: z.strictObject({
    id: z.string().describe('Its id: a-z, 0-9, - and _.'),
    name: z.string().trim().min(1).max(100).optional().describe('A name for people.'),
    model: z.string().trim().min(1).optional().describe('The model that it uses.'),
    workspace: z.string().optional().describe('Its working directory.'),
    default: z.boolean().optional().describe('Make it the default agent.'),
  }),
  output: z.object({ ok: z.boolean(), id: z.string(), folder: z.string() }),
  scope: 'admin',
  changesState: true,
  command: {
    positional: ['id'],
    paths: ['workspace'],
    examples: ['rockpool agents add work --name Work --workspace ~/work'],
  },
  async run(app, input) {
    const id = checkAgentId(input.id)
    const { id: _id, ...settings } = input
    const hasSettings = Object.keys(settings).length > 0
    // An agent that only has its folder, as the first one, may still get settings.
    const isComplete = !hasSettings || app.config.agents.list.some((agent) => agent.id === id)
    if (app.agentIds().includes(id) && isComplete)
      throw new RockpoolError('conflict', `There is an agent ${id} already.`)
    if (hasSettings) {
      await editConfigFile(app.environment.configFile, (config) =>
        withAgents(config, (list) => withNew(list, { id, ...settings }, defaultAgentId(app.config))),
      )
    }
    const folder = addAgentFolder(app.paths, id)
    announce(app)
    return { ok: true, id, folder }
  },
})

const removeAgent = operation({
  name: 'agents.remove',
  description:
    'Remove an agent: end all that works for it and remove its tokens; its folder is set aside, not deleted.',
  input: z.strictObject({ id: z.string().describe('The agent.') }),
  output: z.object({
    ok: z.boolean(),
    id: z.string(),
    setAside: z.string().optional().describe('Where its folder is now.'),
    stopped: stoppedParts,
  }),
  scope: 'admin',
  changesState: true,
  destructive: true,
  command: {
    positional: ['id'],
    confirmIfFound: ({ id }) => ({
      name: 'agents.list',
      isFound: ({ agents, defaultId }) =>
        id !== defaultId && (agents as Array<{ id: string }>).some((agent) => agent.id === id),
    }),
    examples: ['rockpool agents remove work'],
  },
  async run(app, input) {
    const id = checkAgentId(input.id)
    if (!isAgent(app, id))
      throw new RockpoolError('not-found', `There is no agent ${id}.`, {
        hint: '`rockpool agents list` shows them.',
      })
    if (id === defaultAgentId(app.config))
      throw new RockpoolError('refused', `${id} is the default agent.`, {
        hint: 'Make another one the default first.',
      })
    refuseBound(app, id)
    // First, because it may be refused.
    if (app.config.agents.list.some((agent) => agent.id === id)) {
      await editConfigFile(app.environment.configFile, (config) =>
        withAgents(config, (list) => list.filter((agent) => agent['id'] !== id)),
      )
    }
    const stopped = await stopAgent(app, id)
    await app.storage.sessions(id).close()
    const setAside = setAgentFolderAside(app.paths, id, app.clock.now())
    announce(app)
    return { ok: true, id, setAside, stopped }
  },
})

/** Only a person knows which agent answers these chats from now on. */
function refuseBound({ config, environment }: App, id: string): void {
  const bound = config.bindings.flatMap(({ agentId, match: { channel, accountId, peer } }, index) =>
    agentId === id ? `bindings.${index} (${[channel, accountId, peer?.id].filter(Boolean).join(' ')})` : [],
  )
  if (bound.length === 0) return
  throw new RockpoolError('refused', `Chats are bound to the agent ${id}: ${bound.join(', ')}.`, {
    hint: `Remove these bindings in ${environment.configFile}, or name another agent in them; then remove the agent.`,
  })
}

/** An agent without settings is only a folder, so the configuration file says nothing about it. */
function announce({ events }: App): void {
  events.emit({ type: 'config-changed', reloaded: ['agents'], needsRestart: [] })
}

type Settings = Array<Record<string, unknown>>

/** The default agent stays the default, unless the new one replaces it. */
function withNew(list: Settings, added: Settings[number], before: string): Settings {
  const others = list.length > 0 || added['id'] === before ? list : [{ id: before }]
  if (!added['default']) return [...others, added]
  return [...others.map(({ default: _default, ...agent }) => agent), added]
}

function withAgents(
  config: Record<string, unknown>,
  change: (list: Settings) => Settings,
): Record<string, unknown> {
  const agents = (config['agents'] ?? {}) as { list?: Settings }
  return { ...config, agents: { ...agents, list: change(agents.list ?? []) } }
}

export const operations = [listAgents, addAgent, removeAgent]
