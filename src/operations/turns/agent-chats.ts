// The chats into which a caller that is bound to an agent may write: those of the agent's sessions, while their people have access.
import type { Address } from '../../domain/address.ts'
import { RockpoolError } from '../../domain/errors.ts'
import { deliveryContextOf } from '../../domain/session.ts'
import { mayReach } from '../../rights/chat-rights.ts'
import { readersOf } from '../../rights/owners.ts'
import type { App } from '../app.ts'
import type { Caller } from '../operation.ts'

/** Refuses a chat into which this caller may not write; the operator may write to every chat. */
export async function refuseChat(app: App, address: Address, { agentId }: Caller): Promise<void> {
  if (agentId === undefined) return
  if (!(await isChatOfAgent(app, agentId, address)))
    throw new RockpoolError('forbidden', `The agent ${agentId} does not talk in the chat ${address.to}.`, {
      hint: 'Name a chat of this agent, or use a token that is not bound to an agent.',
    })
  const { people } = app.storage
  await people.ready()
  if (
    mayReach(
      address,
      readersOf(() => app.config.channels, people),
    )
  )
    return
  throw new RockpoolError('forbidden', `The person of the chat ${address.to} no longer has access.`, {
    hint: 'The operator can send the message, or let the person in again: `rockpool pairing list` shows who has access.',
  })
}

/** Whether one of the agent's sessions talks in this chat. */
export async function isChatOfAgent(
  app: App,
  agentId: string,
  { channel, accountId, to }: Address,
): Promise<boolean> {
  for await (const { entry } of app.storage.sessions(agentId).entries()) {
    const known = deliveryContextOf(entry)
    if (known?.channel === channel && known.to === to && (known.accountId ?? 'default') === accountId)
      return true
  }
  return false
}
