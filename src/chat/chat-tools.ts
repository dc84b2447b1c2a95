// Rockpool's own operations as tools of a chat turn: the agent launches and watches coding sessions, starts sub-agents and
// reads its other sessions. It acts for the person it talks to, so it gets these tools only in a private chat with the owner:
// guests and groups must not see what the owner said elsewhere.
import { makeBridge, type Bridge } from '../discovery/bridge.ts'
import type { Address } from '../domain/address.ts'
import type { ToolServer } from '../domain/agent.ts'
import type { BridgeWorld } from '../domain/bridge.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Session } from '../domain/session.ts'
import { operationTools } from '../operations/agent-tools.ts'
import type { App } from '../operations/app.ts'
import { bridgeWorld } from '../operations/cc/bridge-world.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import { performOperation } from '../operations/perform-operation.ts'
import { isShared, type Rights } from '../rights/rights.ts'
import { workspaceOf } from '../store/agents.ts'

export const chatToolServer = 'rockpool'

/** The tools that are offered. Each one takes room in every prompt. */
const offered = new Set([
  'claude_launch',
  'claude_respond',
  'claude_fg',
  'claude_bg',
  'claude_kill',
  'claude_output',
  'claude_sessions',
  'claude_stats',
  'sessions_spawn',
  'sessions_list',
  'sessions_history',
  'sessions_send',
  'session_status',
  'schedules_list',
  'schedules_add',
  'schedules_remove',
])

/** The only one of Rockpool's tools that guests and groups have. For them it always reports the current session. */
const ofThisSession = 'session_status'

type ToolsOf<T> = (session: Session, address: Address, rights: Rights) => T

/** The tools of a chat's turn: the bridge, and Rockpool's operations if the author of the turn may use them. They are loaded for the
 *  first turn: an idle gateway does without them. */
export function chatTools(app: App): ToolsOf<Promise<ToolServer[]>> {
  const bridge = makeBridge()
  let loading: Promise<ToolsOf<ToolServer>> | undefined
  return async (session, address, rights) => {
    const tools = bridgeTools(app, bridge, session, rights)
    if (rights.ownTools === 'none') return tools
    loading ??= operationToolsOf(app)
    return [...tools, (await loading)(session, address, rights)]
  }
}

async function operationToolsOf(app: App): Promise<ToolsOf<ToolServer>> {
  // The list is the same for all; who calls is known only in a turn.
  const names = await operationTools(['read', 'write'], async () => undefined, offered)
  return (session, address, rights) => {
    const isOwners = rights.ownTools === 'all'
    const caller: Caller = {
      via: 'mcp',
      scopes: rights.scopes,
      author: rights.author,
      agentId: session.agentId,
      sessionKey: session.key,
      name: `agent:${session.agentId}`,
      ...(address.channel === 'internal' ? {} : { address }),
    }
    const ask = (operation: Operation, input: Record<string, unknown>): Promise<unknown> => {
      if (operation.needsGateway && !app.gateway) throw needsGateway(operation.name)
      return performOperation(app, operation, isOwners ? input : { sessionKey: session.key }, caller)
    }
    const tools = names
      .filter(({ name }) => isOwners || (rights.ownTools === 'this-session' && name === ofThisSession))
      .map((tool) => ({
        name: tool.name,
        description: tool.description,
        inputSchema: tool.inputSchema,
        readOnly: tool.operation.changesState !== true,
        call: tool.callAs(ask),
      }))
    return { name: chatToolServer, tools }
  }
}

function bridgeTools(app: App, bridge: Bridge, { agentId, key }: Session, rights: Rights): ToolServer[] {
  const repoPath = workspaceOf(app, agentId)
  const world = bridgeWorld(app, { agentId, repoPath, sessionKey: key })
  const isWhole = rights.files === 'workspace'
  const server = bridge(isWhole ? world : sharedWorld(world, rights), app.config.mcpBridge)
  const tools = server?.tools.filter(({ name }) => rights.bridgeTools.some((open) => open === name)) ?? []
  return server && tools.length > 0 ? [{ ...server, tools }] : []
}

/** The notes of all people are in one folder. Others than the owner find only what the owner shares. */
function sharedWorld(world: BridgeWorld, { sharedFiles }: Rights): BridgeWorld {
  return {
    ...world,
    searchMemory: async (query) =>
      sharedFiles.length === 0
        ? []
        : (await world.searchMemory(query, moreHits)).filter(({ source }) => isShared(source, sharedFiles)),
  }
}

/** How many hits to search for, because hits that are not shared are then removed. */
const moreHits = 200

function needsGateway(name: string): RockpoolError {
  return new RockpoolError('unavailable', `${name} needs the gateway.`, { hint: '`rockpool up` starts it.' })
}
