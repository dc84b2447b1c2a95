// Rockpool's own operations as tools of a chat's turn: the agent launches and watches coding sessions, begins
// sub-agents and looks at its other sessions. It acts for the person it talks to, so only an owner's chat lets it act, and
// look beyond itself: what the owner said elsewhere is not for guests, nor for a group.
import { personAt } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { ToolServer } from '../domain/agent.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Session } from '../domain/session.ts'
import { operationTools } from '../operations/agent-tools.ts'
import type { App } from '../operations/app.ts'
import type { Caller, Operation } from '../operations/operation.ts'
import { performOperation } from '../operations/perform.ts'
import type { People } from '../store/sqlite/people.ts'
import type { Rights } from '../rights/rights.ts'

export const chatToolServer = 'rockpool'

/** What is offered: more names would only take room in every prompt. */
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
])

/** What is offered where others talk or read along; it tells of this very session, whatever is asked. */
const ofThisSession = 'session_status'

/** Channels whose people are the owner: the machine or the gateway has let them in. */
const ownChannels = new Set(['web', 'console', 'internal'])

export async function chatTools(
  app: App,
): Promise<(session: Session, address: Address, rights: Rights) => ToolServer> {
  // The list is the same for all; who calls is known only in a turn.
  const names = (await operationTools(['read', 'write'], async () => undefined)).filter(({ name }) =>
    offered.has(name),
  )
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

/** A private chat with the owner, or one that only the owner can open. */
export function isOwnersChat(app: App, pairing: Pick<People, 'find'>, address: Address): boolean {
  const { channel, accountId } = address
  const senderId = personAt(address)
  if (ownChannels.has(channel)) return true
  const isListed = app.config.channels.ownerAllowFrom.includes(`${channel}:${senderId}`)
  return isListed || pairing.find({ channel, accountId, senderId })?.owner === true
}

function needsGateway(name: string): RockpoolError {
  return new RockpoolError('unavailable', `${name} needs the gateway.`, { hint: '`rockpool up` starts it.' })
}
