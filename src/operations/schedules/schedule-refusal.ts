// When a schedule may no longer run: the person who added it is no longer the owner, or the person of the private chat that it uses may
// no longer write. Asked before each run, so that a changed configuration has the same effect as `pairing remove`.
import {
  formatOriginChannel,
  isPrivateChat,
  parseOriginChannel,
  privateChatWith,
} from '../../domain/address.ts'
import type { Address } from '../../domain/address.ts'
import type { Schedule, ScheduledAction } from '../../domain/schedule.ts'
import { addressOfSession } from '../../domain/session.ts'
import { buildAgentMainSessionKey } from '../../domain/session-key.ts'
import { personOfKey } from '../../domain/session-key-forms.ts'
import { isOwnersChat, mayWriteIn } from '../../rights/owners.ts'
import type { App } from '../app.ts'

export interface ChatRights {
  mainSessionOf: (agentId: string) => string
  /** The chat that gets the replies of a session. */
  addressOf: (agentId: string, sessionKey: string) => Promise<Address | undefined>
  /** Is this private chat the owner's? */
  isOwners: (address: Address) => boolean
  /** May the person of this private chat write? */
  mayWrite: (address: Address) => boolean
}

export function chatRightsOf(app: App): ChatRights {
  const { storage } = app
  return {
    mainSessionOf: (agentId) => buildAgentMainSessionKey({ agentId, mainKey: app.config.session.mainKey }),
    addressOf: async (agentId, key) => addressOfSession(await storage.sessions(agentId).get(key)),
    isOwners: (address) => isOwnersChat(address, app.config.channels, storage.people),
    mayWrite: (address) => mayWriteIn(address, app.config.channels, storage.people),
  }
}

/** The reasons name the owner, so that only the owner resumes the schedule (`onlyOwnerResumes`). */
export async function refusalOf(rights: ChatRights, schedule: Schedule): Promise<string | undefined> {
  const { addedIn, author, strangers: accepted = [] } = schedule
  const added = addedIn === undefined || author !== 'owner' ? undefined : parseOriginChannel(addedIn)
  if (added && !rights.isOwners(added))
    return `The chat in which it was added, ${addedIn}, is no longer the owner's.`
  const refused = (await strangersOf(rights, schedule)).find((chat) => !accepted.includes(chat))
  return refused && `It uses ${refused}, whose person may not write. Only the owner can resume it.`
}

/** What changes when a person resumes the schedule and so takes it over, with the chats that it uses. */
export async function takeOver(rights: ChatRights, schedule: Schedule): Promise<Partial<Schedule>> {
  if ((await refusalOf(rights, schedule)) === undefined) return { addedWith: undefined }
  const strangers = await strangersOf(rights, schedule)
  return { addedWith: undefined, addedIn: undefined, strangers: strangers.length > 0 ? strangers : undefined }
}

/** The private chats that the action names and whose people may not write: the operator who names one wants it so. */
export function namedStrangers(rights: ChatRights, action: ScheduledAction): string[] | undefined {
  const strangers = privateStrangers(rights, namedChats(action))
  return strangers.length > 0 ? strangers : undefined
}

/** The private chats that a run would write to and whose people may not write. */
async function strangersOf(rights: ChatRights, { action, agentId }: Schedule): Promise<string[]> {
  if (action.kind === 'message' || action.kind === 'coding')
    return privateStrangers(rights, namedChats(action))
  const route = await rights.addressOf(agentId, action.sessionKey ?? rights.mainSessionOf(agentId))
  return privateStrangers(rights, route ? [route] : namedChats(action))
}

function namedChats(action: ScheduledAction): Address[] {
  const to = 'to' in action && action.to !== undefined ? parseOriginChannel(action.to) : undefined
  const person =
    'sessionKey' in action && action.sessionKey !== undefined ? personOfKey(action.sessionKey) : undefined
  const { channel } = person ?? {}
  return [to, person && channel !== undefined ? privateChatWith({ ...person, channel }) : undefined].filter(
    (chat) => chat !== undefined,
  )
}

function privateStrangers({ mayWrite }: ChatRights, chats: Address[]): string[] {
  const strangers = chats.filter((chat) => isPrivateChat(chat) && !mayWrite(chat))
  return [...new Set(strangers.map(formatOriginChannel))]
}
