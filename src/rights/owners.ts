// Who the owners are, and who may write in private: the configuration and the pairings decide. Every part that must know asks
// here, so that a changed pairing or configuration takes effect for all parts at once.
import { personAt, privateChatWith } from '../domain/address.ts'
import type { Address } from '../domain/address.ts'
import type { ChannelsConfig } from '../domain/config/channel-settings.ts'
import { accountSettingsOf } from '../domain/config/read-settings.ts'

/** A sender on a platform, through one of our accounts. */
interface Person {
  channel: string
  accountId: string
  senderId: string
}

/** The people who were paired. */
interface Pairings {
  find(person: Person): { owner: boolean } | undefined
  known(): Array<Person & { owner: boolean }>
}

/** The standing of a person who writes in private. A stranger may ask for a pairing. */
export const standings = ['owner', 'guest', 'stranger', 'not-allowed', 'closed'] as const
export type Standing = (typeof standings)[number]

/** Channels that only the owner can use: the machine or the gateway has authenticated them. */
const ownChannels = new Set(['web', 'console', 'internal'])

/** A pairing counts only while `dmPolicy` is `pairing`, for owners as for guests. */
export function standingOf(
  person: Person,
  config: ChannelsConfig,
  pairings: Pick<Pairings, 'find'>,
): Standing {
  const { allowFrom = [], ...settings } = accountSettingsOf(config, person.channel, person.accountId)
  const policy = settings.dmPolicy ?? 'pairing'
  if (policy === 'disabled') return 'closed'
  if (isOwner(person, config, pairings)) return 'owner'
  const isPaired = policy === 'pairing' && pairings.find(person) !== undefined
  const isOpen = policy === 'open' && allowFrom.includes('*')
  if (isPaired || isOpen || allowFrom.includes(person.senderId)) return 'guest'
  return policy === 'pairing' ? 'stranger' : 'not-allowed'
}

export function isOwner(person: Person, config: ChannelsConfig, pairings: Pick<Pairings, 'find'>): boolean {
  const { channel, accountId, senderId } = person
  if (config.ownerAllowFrom.includes(`${channel}:${senderId}`)) return true
  const { dmPolicy = 'pairing' } = accountSettingsOf(config, channel, accountId)
  return dmPolicy === 'pairing' && pairings.find(person)?.owner === true
}

/** A private chat with an owner, or one that only the owner can open. */
export function isOwnersChat(
  address: Address,
  config: ChannelsConfig,
  pairings: Pick<Pairings, 'find'>,
): boolean {
  const { channel, accountId } = address
  return (
    ownChannels.has(channel) || isOwner({ channel, accountId, senderId: personAt(address) }, config, pairings)
  )
}

/** May the person of this private chat write, as an owner or as a guest? */
export function mayWriteIn(
  address: Address,
  config: ChannelsConfig,
  pairings: Pick<Pairings, 'find'>,
): boolean {
  const { channel, accountId } = address
  return isAllowed(standingOf({ channel, accountId, senderId: personAt(address) }, config, pairings))
}

export function isAllowed(standing: Standing): boolean {
  return standing === 'owner' || standing === 'guest'
}

/** Which chats may get messages, according to the current configuration and pairings. */
export interface Readers {
  isOwners: (address: Address) => boolean
  /** Has the person of this private chat any access? An owner in the configuration has it even while all messages are refused. */
  hasAccess: (address: Address) => boolean
}

export function readersOf(config: () => ChannelsConfig, pairings: Pick<Pairings, 'find'>): Readers {
  const isOwners = (address: Address): boolean => isOwnersChat(address, config(), pairings)
  return {
    isOwners,
    hasAccess: (address) => isOwners(address) || mayWriteIn(address, config(), pairings),
  }
}

/** The private chats with the owners. */
export function ownerChats(config: ChannelsConfig, pairings: Pairings): Address[] {
  const listed = config.ownerAllowFrom.map((owner) => {
    const [channel = '', ...id] = owner.split(':')
    return { channel, accountId: 'default', senderId: id.join(':') }
  })
  const paired = pairings.known().filter((person) => isOwner(person, config, pairings))
  return [...listed, ...paired].map((person) => privateChatWith(person))
}
