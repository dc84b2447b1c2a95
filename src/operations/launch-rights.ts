// What an agent may give to a session that it launches: what it may do unasked itself, and no more. Its own call is not
// asked about, so whatever it could add here nobody would ever have been asked about.
import { formatOriginChannel } from '../domain/address.ts'
import type { PermissionMode } from '../domain/agent.ts'
import { allowedToolsOf } from '../domain/config/agents.ts'
import { RockpoolError } from '../domain/errors.ts'
import { isSameOrigin } from '../coding/origin.ts'
import type { App } from './app.ts'
import type { Caller } from './operation.ts'

interface Rights {
  permissionMode?: PermissionMode
  allowedTools?: string[]
  originChannel?: string
}

/** Modes in which a session asks for everything that was not allowed beforehand, or does without it. */
const askingModes: readonly PermissionMode[] = ['default', 'plan', 'dontAsk']

/** Refuses an agent; whoever is none may give what he likes. */
export function refuseWider({ config }: App, asked: Rights, caller: Caller): void {
  if (caller.agentId === undefined) return
  const { permissionMode = 'default', allowedTools = [], originChannel } = asked
  if (![...askingModes, config.coding.permissionMode].includes(permissionMode))
    throw tooWide(`permission mode ${permissionMode}`, 'coding.permissionMode')
  const own = allowedToolsOf(config.agents, caller.agentId)
  const more = allowedTools.find((tool) => !own.includes(tool))
  if (more !== undefined) throw tooWide(`use of ${more} without asking`, 'agents.defaults.allowedTools')
  if (originChannel !== undefined && !isOwnChat(originChannel, caller))
    throw new RockpoolError(
      'refused',
      'An agent has news of its sessions told in the chat that it talks in.',
      {
        hint: 'Leave origin_channel out.',
      },
    )
}

/** A program that is bound to an agent sits in no chat, and says which one it means. */
function isOwnChat(originChannel: string, { address, sessionKey }: Caller): boolean {
  if (address) return isSameOrigin(originChannel, formatOriginChannel(address))
  return sessionKey === undefined
}

function tooWide(right: string, setting: string): RockpoolError {
  return new RockpoolError('refused', `An agent cannot give its session the ${right}.`, {
    hint: `Leave it out: the session asks for what it needs. A person can allow it in ${setting}.`,
  })
}
