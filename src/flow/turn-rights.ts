// The author of a turn, from what the flow knows about it: its session, its first input, and whose chats are the owner's.
import type { Address } from '../domain/address.ts'
import type { Agent } from '../domain/agent.ts'
import { grantsOf } from '../domain/config/read-settings.ts'
import { addressOfSession } from '../domain/session.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import { authorOf, hasFewerRights, internalChannel } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import { rightsOf } from '../rights/rights.ts'
import type { Rights } from '../rights/rights.ts'
import { attachmentFolder } from '../store/media/media-files.ts'
import type { Input } from '../store/work-store.ts'
import type { FlowParts } from './flow-parts.ts'

type Parts = Pick<FlowParts, 'isOwners' | 'config' | 'agentOf'>

/** Where the text of a turn came from, and the requester if it did not come from a chat. */
export interface TurnSource {
  address: Address
  askedBy?: Author
}

export function rightsOfTurn(session: Session, source: TurnSource, parts: Parts): Rights {
  return rightsFor(authorOfTurn(session, source, parts), session.agentId, parts)
}

function authorOfTurn(
  { key: sessionKey, entry }: Session,
  { address, askedBy }: TurnSource,
  { isOwners }: Pick<FlowParts, 'isOwners'>,
): Author {
  const origin = { sessionKey, address, chatType: entry.chatType, route: addressOfSession(entry), askedBy }
  return authorOf(origin, isOwners)
}

/** The rights of an input by its chat alone, before its session is looked up. */
export function rightsOfInput(input: Input, parts: Parts): Rights {
  return rightsFor(authorOfInput(input, parts), input.agentId, parts)
}

function rightsFor(author: Author, agentId: string, parts: Parts): Rights {
  const { workspace } = parts.agentOf(agentId)
  return rightsOf(author, { ...grantsOf(parts.config.agents, agentId), workspace })
}

export function sourceOf({ message, turnOptions }: Input): TurnSource {
  return { address: message.address, askedBy: turnOptions?.askedBy }
}

/** The author of an input, before its session is looked up. */
export function authorOfInput(
  { lane, message, turnOptions }: Input,
  parts: Pick<FlowParts, 'isOwners'>,
): Author {
  const { chatType, address } = message
  const askedBy = turnOptions?.askedBy ?? 'owner'
  return authorOf({ sessionKey: lane, chatType, address, askedBy }, parts.isOwners)
}

/** The input with the rights that its writer has now, or undefined if the writer may no longer write. Inputs that came from no chat
 *  are limited by their author alone. */
export function withPresentRights<T extends Input>(
  input: T,
  { access }: Pick<FlowParts, 'access'>,
): T | undefined {
  if (input.turnOptions !== undefined) return input
  const decision = access.decide(input.message)
  if (decision.kind === 'refused') return undefined
  const { owner, byOwner, byMember = byOwner } = decision
  return { ...input, owner, byOwner, byMember }
}

/** May the writer of this chat message still write to the agent? */
export function mayStillWrite(input: Input, parts: Pick<FlowParts, 'access'>): boolean {
  return withPresentRights(input, parts) !== undefined
}

/** Has the author of a turn lost rights, or access, since the turn began? */
export function hasLostRights(
  session: Session,
  inputs: readonly Input[],
  began: Author,
  parts: Pick<FlowParts, 'isOwners' | 'access'>,
): boolean {
  const author = authorOfTurn(session, sourceOf(inputs[0]!), parts)
  return hasFewerRights(author, began) || !inputs.every((input) => mayStillWrite(input, parts))
}

/** The author of a session: the person that its replies go to. */
export function authorOfSession(
  key: string,
  entry: SessionEntry | undefined,
  parts: Pick<FlowParts, 'isOwners'>,
): Author {
  const nowhere = { channel: internalChannel, accountId: 'default', to: key }
  const address = addressOfSession(entry) ?? nowhere
  const chatType = entry?.chatType ?? 'direct'
  return authorOf({ sessionKey: key, chatType, address }, parts.isOwners)
}

/** The working directory of a turn. Guests and groups have a folder of their own, without files of the owner. */
export function directoryOf(session: { agentId: string; key: string }, agent: Agent, rights: Rights): string {
  return rights.files === 'workspace' ? agent.workspace : attachmentFolder(agent.workspace, session)
}
