// The author of a turn, from what the flow knows about it: its session, its first input, and whose chats are the owner's.
import type { Address } from '../domain/address.ts'
import type { Agent } from '../domain/agent.ts'
import { grantsOf } from '../domain/config/agent-settings.ts'
import type { Message } from '../domain/message.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import { authorOf, internalChannel } from '../rights/author.ts'
import type { Author } from '../rights/author.ts'
import { rightsOf } from '../rights/rights.ts'
import type { Rights } from '../rights/rights.ts'
import { attachmentFolder } from '../store/media/media-files.ts'
import type { Input } from '../store/work-store.ts'
import type { FlowParts } from './flow-parts.ts'
import { routeOf } from './session-route.ts'

type Parts = Pick<FlowParts, 'isOwners' | 'config' | 'agentOf'>

/** Where the words of a turn came from, and who asked for it if no chat did. */
export interface TurnSource {
  address: Address
  askedBy?: Author
}

export function rightsOfTurn(session: Session, { address, askedBy }: TurnSource, parts: Parts): Rights {
  const route = routeOf(session.entry)
  const author = authorOf(
    {
      sessionKey: session.key,
      address,
      ...(session.entry.chatType === undefined ? {} : { chatType: session.entry.chatType }),
      ...(route === undefined ? {} : { route }),
      ...(askedBy === undefined ? {} : { askedBy }),
    },
    parts.isOwners,
  )
  return rightsFor(author, session.agentId, parts)
}

/** Before the session is looked up: what an input would be allowed by its chat. */
export function rightsOfInput(input: Input, parts: Parts): Rights {
  return rightsFor(authorOfInput(input, parts), input.agentId, parts)
}

function rightsFor(author: Author, agentId: string, parts: Parts): Rights {
  const { workspace } = parts.agentOf(agentId)
  return rightsOf(author, { ...grantsOf(parts.config.agents, agentId), workspace })
}

export function sourceOf({ message, wish }: Input): TurnSource {
  return { address: message.address, ...(wish?.askedBy === undefined ? {} : { askedBy: wish.askedBy }) }
}

/** The author of an input, before its session is looked up. */
export function authorOfInput({ lane, message, wish }: Input, parts: Pick<FlowParts, 'isOwners'>): Author {
  return authorOf({ ...originOf(lane, message), askedBy: wish?.askedBy ?? 'owner' }, parts.isOwners)
}

/** Who talks in this session: whoever its replies go to. */
export function authorOfSession(
  key: string,
  entry: SessionEntry | undefined,
  parts: Pick<FlowParts, 'isOwners'>,
): Author {
  const nowhere = { channel: internalChannel, accountId: 'default', to: key }
  const address = routeOf(entry) ?? nowhere
  const chatType = entry?.chatType ?? 'direct'
  return authorOf({ sessionKey: key, chatType, address }, parts.isOwners)
}

function originOf(sessionKey: string, { chatType, address }: Message) {
  return { sessionKey, chatType, address }
}

/** Where the turn works. A guest or a group has a folder for itself, so that nothing of the owner's lies beside it. */
export function directoryOf(session: { agentId: string; key: string }, agent: Agent, rights: Rights): string {
  return rights.files === 'workspace' ? agent.workspace : attachmentFolder(agent.workspace, session)
}
