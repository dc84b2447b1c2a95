// Which session a question is meant for, and where its answer goes: by id, by key, or by the person and the channel.
import type { Address } from '../../domain/address.ts'
import { defaultAgentId, buildAgentMainSessionKey, sessionKeyOf } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { checkChannel, checkSame } from './turn-target.ts'
import { findSession, spellKey, visibleAgents } from '../sessions/which-session.ts'
import { addressOfSession } from '../../domain/session.ts'

export interface Whose {
  to?: string
  sessionId?: string
  sessionKey?: string
  agent?: string
  channel?: string
  deliver?: boolean
}

interface AskedSession {
  agentId: string
  sessionKey: string
  address?: Address
}

/** Which session is meant, and where its answers go. */
export async function askedSession(app: App, caller: Caller, input: Whose): Promise<AskedSession> {
  const [agentId = defaultAgentId(app.config)] =
    input.agent === undefined ? [caller.agentId] : visibleAgents(app, caller, input.agent)
  const asked = await sessionOf(app, caller, input, agentId)
  if (!input.deliver) return asked
  if (input.to !== undefined) checkChannel(input)
  const address =
    deliveryAddress(input) ??
    addressOfSession(await app.storage.sessions(asked.agentId).get(asked.sessionKey))
  if (address) return { ...asked, address }
  throw new RockpoolError(
    'usage',
    `Session ${asked.sessionKey} has no chat to which an answer could be sent.`,
    {
      hint: 'Give --channel and --to.',
    },
  )
}

async function sessionOf(app: App, caller: Caller, input: Whose, agentId: string): Promise<AskedSession> {
  if (input.sessionId !== undefined) {
    const session = await findSession(app, caller, input.sessionId)
    if (input.sessionKey !== undefined)
      checkSame(session, await keyOf(app, caller, input.sessionKey, input.agent))
    return { agentId: session.agentId, sessionKey: session.key }
  }
  if (input.sessionKey !== undefined) return keyOf(app, caller, input.sessionKey, input.agent)
  checkChannel(input)
  const address = addressOf(input)
  if (!address)
    return { agentId, sessionKey: buildAgentMainSessionKey({ agentId, mainKey: app.config.session.mainKey }) }
  const message = { address, chatType: 'direct' as const, sender: { id: address.to } }
  return { agentId, sessionKey: sessionKeyOf(message, agentId, app.config.session) }
}

/** A key may name a session that is not there yet; then it begins. */
async function keyOf(
  app: App,
  caller: Caller,
  ref: string,
  agent: string | undefined,
): Promise<AskedSession> {
  if (!ref.includes(':') && ref !== 'global' && ref !== app.config.session.mainKey) {
    const session = await findSession(app, caller, ref, agent)
    return { agentId: session.agentId, sessionKey: session.key }
  }
  const { key, agentId } = spellKey(app, ref)
  visibleAgents(app, caller, agentId)
  // A row that is under the key as it was given is what was meant, however that key is written today.
  const isThere = ref.startsWith(`agent:${agentId}:`) && (await app.storage.sessions(agentId).peek(ref))
  return { agentId, sessionKey: isThere ? ref : key }
}

/** For a person without a channel the terminal stands in: the same name is always the same session. */
function addressOf({ to, channel = 'console' }: Whose): Address | undefined {
  return to === undefined ? undefined : { channel, accountId: 'default', to }
}

function deliveryAddress({ to, channel }: Whose): Address | undefined {
  return to === undefined || channel === undefined ? undefined : { channel, accountId: 'default', to }
}
