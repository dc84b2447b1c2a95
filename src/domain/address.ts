// Where a reply goes.

export interface Address {
  /** The platform: telegram, discord, whatsapp, web, console. */
  channel: string
  /** The chat on that platform: a person, a group, a channel. */
  to: string
  /** Which of our accounts on the platform; `default` when there is one. */
  accountId: string
  /** A thread or topic inside the chat. */
  threadId?: string
}

/** The channel into the chats of OpenClaw; `to` is then a target as domain/openclaw-contract.ts describes it. */
export const openclawChannel = 'openclaw'

/** The terminal in which a person talks to a session (`rockpool chat`). */
export function terminalAddress(sessionKey: string): Address {
  return { channel: 'console', accountId: 'default', to: sessionKey }
}

export function isTerminal({ channel, to }: Address): boolean {
  return channel === 'console' && to.startsWith('agent:')
}

/** Are both in one chat? Threads are ignored. */
export function isSameChat(one: Address, other: Address): boolean {
  return one.channel === other.channel && one.accountId === other.accountId && one.to === other.to
}

/** Are both the chat with one person, however the address spells the person? Threads are ignored. */
export function isSamePersonsChat(one: Address, other: Address): boolean {
  const person = (address: Address): Address => ({ ...address, to: plainPerson(address) })
  return isSameChat(person(one), person(other))
}

/** The part of a private chat's address that each of its spellings has: `491555` of `+491555` and `491555@s.whatsapp.net`. */
export function plainPerson(address: Pick<Address, 'to'>): string {
  return personAt(address).replace(/^\+/, '')
}

/** One text for one place, threads apart. */
export function chatKey({ channel, accountId, to, threadId }: Address): string {
  return JSON.stringify([channel, accountId, to, threadId])
}

/** The person of a private chat. On Discord such a chat is addressed as `user:<id>`; WhatsApp also takes `<number>@s.whatsapp.net`. */
export function personAt(address: Pick<Address, 'to'>): string {
  return address.to.replace(/^user:/, '').replace(/^(\d+)@s\.whatsapp\.net$/i, '+$1')
}

/** A private chat with a person, whether or not they have written to us. */
export function privateChatWith(person: { channel: string; accountId: string; senderId: string }): Address {
  const { channel, accountId, senderId } = person
  return { channel, accountId, to: channel === 'discord' ? `user:${senderId}` : senderId }
}

/** Is this a chat with one person? Only for platforms on which people and groups share one channel; by the form of their ids. */
export function isPrivateChat({ channel, to }: Pick<Address, 'channel' | 'to'>): boolean {
  if (channel === 'telegram') return /^\d+$/.test(to)
  if (channel === 'discord') return to.startsWith('user:')
  return channel === 'whatsapp' && !/@(g\.us|newsletter|broadcast)$/i.test(to)
}

/** `channel|target` or `channel|account|target`; the target may contain `|`. Thread ids travel separately. */
export function parseOriginChannel(text: string): Address | undefined {
  const [channel, second, ...rest] = text.split('|')
  if (!channel || !second || text.length > 1024) return undefined
  const address =
    rest.length === 0
      ? { channel, accountId: 'default', to: second }
      : { channel, accountId: second, to: rest.join('|') }
  // A target must never look like an option; groups on Telegram are negative numbers, and those do not.
  return address.to === '' || /^-(?!\d+$)/.test(address.to) ? undefined : address
}

export function formatOriginChannel(address: Address): string {
  return address.accountId === 'default' && !address.to.includes('|')
    ? `${address.channel}|${address.to}`
    : `${address.channel}|${address.accountId}|${address.to}`
}
