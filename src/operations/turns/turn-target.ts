// The target of a question: which session it is for, and where the answer goes. An input that contradicts itself is refused,
// because a message to the wrong session cannot be taken back.
import { isTerminal, type Address } from '../../domain/address.ts'
import { defaultAgentId, buildAgentMainSessionKey, sessionKeyOf } from '../../domain/session-key.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'
import { refuseChat } from './agent-chats.ts'
import { findSession, spellKey, visibleAgents } from '../sessions/which-session.ts'
import { addressOfSession, type Session } from '../../domain/session.ts'
import type { Channel } from '../../domain/channel.ts'
import { openConfiguredChannel } from '../../flow/channel-host.ts'

export interface TargetInput {
  to?: string
  sessionId?: string
  sessionKey?: string
  agent?: string
  channel?: string
  deliver?: boolean
}

interface TargetSession {
  agentId: string
  sessionKey: string
  address?: Address
}

/** The session that the input names, and the address for its answers. */
export async function targetSession(app: App, caller: Caller, input: TargetInput): Promise<TargetSession> {
  const [agentId = defaultAgentId(app.config)] =
    input.agent === undefined ? [caller.agentId] : visibleAgents(app, caller, input.agent)
  const asked = await sessionOf(app, caller, input, agentId)
  if (!input.deliver) return asked
  if (input.to !== undefined) checkChannel(input)
  const address =
    (input.channel === undefined ? undefined : addressOf(input)) ??
    addressOfSession(await app.storage.sessions(asked.agentId).get(asked.sessionKey))
  if (address) {
    await refuseChat(app, address, caller)
    return { ...asked, address }
  }
  throw new RockpoolError('usage', `Session ${asked.sessionKey} has no chat for an answer.`, {
    hint: 'Give --channel and --to.',
  })
}

async function sessionOf(
  app: App,
  caller: Caller,
  input: TargetInput,
  agentId: string,
): Promise<TargetSession> {
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

/** A key may name a new session. */
async function keyOf(app: App, caller: Caller, ref: string, agent?: string): Promise<TargetSession> {
  if (!ref.includes(':') && ref !== 'global' && ref !== app.config.session.mainKey) {
    const session = await findSession(app, caller, ref, agent)
    return { agentId: session.agentId, sessionKey: session.key }
  }
  const { key, agentId } = spellKey(app, ref)
  visibleAgents(app, caller, agentId)
  // A row under the key in the given spelling wins over the canonical spelling.
  const exists = ref.startsWith(`agent:${agentId}:`) && (await app.storage.sessions(agentId).peek(ref))
  return { agentId, sessionKey: exists ? ref : key }
}

/** A person without a channel is at the terminal: the same name is always the same session. */
function addressOf({ to, channel = 'console' }: TargetInput): Address | undefined {
  return to === undefined ? undefined : { channel, accountId: 'default', to }
}

/** Throws when the id and the key name different sessions. */
function checkSame({ key, entry }: Session, named: { sessionKey: string }): void {
  if (named.sessionKey === key) return
  throw new RockpoolError('usage', `The session ${entry.sessionId} is ${key}, not ${named.sessionKey}.`, {
    hint: 'Give --session-id or --session-key.',
  })
}

/** Throws when a channel is unknown or has no person. */
function checkChannel({ to, channel }: { to?: string; channel?: string }): void {
  if (channel === undefined) return
  if (to === undefined)
    throw new RockpoolError('usage', `${JSON.stringify(channel)} is given without a person.`, {
      hint: 'Say who with --to, or name the session with --session-key.',
    })
  if (channels.includes(channel)) return
  throw new RockpoolError('input-invalid', `There is no channel ${JSON.stringify(channel)}.`, {
    hint: `Known: ${channels.join(', ')}.`,
  })
}

const channels = ['telegram', 'discord', 'whatsapp', 'web', 'console']

/** Throws when a message to the address cannot be delivered, so that nothing waits for a channel that is not set up. Where
 *  several machines share the work, another one may have the account. */
export async function checkReachable(app: App, address: Address): Promise<void> {
  if (app.storage.cluster || (app.gateway && isTerminal(address))) return
  const channel = app.gateway ? await openChannel(app, address) : await configuredChannel(app, address)
  if (!channel) throw notSetUp(address)
  checkSetUp(channel)
}

/** Throws when the channel has no token: waiting would not help. */
export function checkSetUp(channel: Channel): void {
  const { needs } = channel.status()
  if (needs?.kind === 'token') throw new RockpoolError('not-found', `It was not sent: ${needs.detail}`)
}

export function notSetUp(address: Address): RockpoolError {
  checkChannel(address)
  return new RockpoolError('not-found', `${address.channel} (${address.accountId}) is not set up.`, {
    hint: `Run \`rockpool channels add ${address.channel}\`. \`rockpool channels list\` shows what there is.`,
  })
}

async function openChannel(app: App, address: Address): Promise<Channel | undefined> {
  const { channels } = await app.conversations()
  return channels.find(({ name, accountId }) => name === address.channel && accountId === address.accountId)
}

/** Not started: for a check, or to send without a gateway. */
export function configuredChannel(app: App, { channel, accountId }: Address): Promise<Channel | undefined> {
  return openConfiguredChannel({ ...app, takesMedia: async () => false }, channel, accountId)
}
