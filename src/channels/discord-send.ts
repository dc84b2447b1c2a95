// Sends replies to Discord. Each message carries a nonce made from the idempotency key. Within some minutes Discord
// recognizes a repeated nonce and sends nothing; a later repeat is marked as such.
import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { ChannelType, DiscordAPIError, HTTPError, RateLimitError, Routes } from 'discord.js'
import type { APIChannel, APIMessage, RawFile, REST } from 'discord.js'
import type { Address } from '../domain/address.ts'
import type { ChannelHost, OutgoingFile, SendOptions, SendOutcome } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Button, Reply } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'
import { messageIdOf } from './discord-messages.ts'
import { toDiscord } from './formatting.ts'
import { networkCode, nothingWasSent } from './retry.ts'
import { marked, markLength, PartSender, type PartOutcome } from './message-parts.ts'

type Part = { text: string } | { file: OutgoingFile }

export class DiscordSender {
  #rest: REST
  #host: ChannelHost
  #limit: number
  #parts = new PartSender()
  /** The private channel with each person. */
  #directChannels = new Map<string, string>()
  /** Channels of servers. */
  #serverChannels = new Set<string>()

  constructor(rest: REST, host: ChannelHost, limit: number) {
    this.#rest = rest
    this.#host = host
    this.#limit = limit
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const parts = () => this.#partsOf(reply)
    return this.#parts.send(channelOf(address), options, parts, (part, { index, isLast, isFirstTried }) => {
      const text = marked('text' in part ? part.text : '', options.resent && isFirstTried)
      const hash = createHash('sha256').update(`${index}\0${options.idempotencyKey}`).digest('hex')
      const body = {
        nonce: hash.slice(0, 25),
        enforce_nonce: true,
        content: text || undefined,
        ...withoutMentions,
        message_reference: index === 0 ? referenceOf(reply) : undefined,
        components: isLast && reply.buttons ? componentsOf(reply.buttons) : undefined,
      }
      return this.#post(address, body, 'file' in part ? part.file : undefined)
    })
  }

  async edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    const content = toDiscord(reply.text ?? '')
    if (content.length > this.#limit)
      return { kind: 'refused', reason: `the text is over Discord's limit of ${this.#limit} characters` }
    const body = { content, components: componentsOf(reply.buttons ?? []), ...withoutMentions }
    const find = (): Promise<string> => this.channelIdOf(address)
    const outcome = await outcomeOf(find, async (channelId) => {
      await this.#rest.patch(Routes.channelMessage(channelId, messageId), { body })
      return { id: messageId }
    })
    return outcome.kind === 'sent' ? { kind: 'sent', messageIds: [messageId] } : outcome
  }

  /** `userId`: it is the private channel with this person; otherwise one of a server. */
  addChannel(channelId: string, userId?: string): void {
    if (userId === undefined) this.#serverChannels.add(channelId)
    else this.#directChannels.set(userId, channelId)
  }

  /** `user:<id>` is a private chat; Discord has a channel for each and returns its id. */
  async channelIdOf(address: Address): Promise<string> {
    const user = /^user:(\d+)$/.exec(address.to)?.[1]
    if (!user) return this.#serverChannel(channelOf(address))
    const known = this.#directChannels.get(user)
    if (known) return known
    const channel = (await this.#rest.post(Routes.userChannels(), { body: { recipient_id: user } })) as {
      id: string
    }
    this.#directChannels.set(user, channel.id)
    return channel.id
  }

  /** Refuses the id of a private channel. Rights follow from the address, and such an id does not tell who reads along. */
  async #serverChannel(channelId: string): Promise<string> {
    if (this.#serverChannels.has(channelId)) return channelId
    const channel = (await this.#rest.get(Routes.channel(channelId))) as APIChannel
    if (channel.type === ChannelType.DM || channel.type === ChannelType.GroupDM) {
      const person = channel.recipients?.[0]?.id ?? '<id>'
      throw new RockpoolError('refused', `${channelId} is a private channel. Write to user:${person}`)
    }
    this.#serverChannels.add(channelId)
    return channelId
  }

  #post(address: Address, body: object, file: OutgoingFile | undefined): Promise<PartOutcome> {
    const find = (): Promise<string> => this.channelIdOf(address)
    return outcomeOf(find, async (channelId) => {
      const files: RawFile[] = file ? [await rawFile(file)] : []
      return (await this.#rest.post(Routes.channelMessages(channelId), { body, files })) as APIMessage
    })
  }

  async #partsOf(reply: Reply): Promise<Part[]> {
    const parts: Part[] = []
    if (reply.text?.trim()) {
      parts.push(...splitText(toDiscord(reply.text), this.#limit - markLength).map((text) => ({ text })))
    }
    for (const path of reply.media ?? []) parts.push({ file: await this.#host.media.outgoing(path) })
    return parts
  }
}

/** Text by Claude must not notify a whole server. */
const withoutMentions = { allowed_mentions: { parse: [], replied_user: true } }

function channelOf(address: Address): string {
  return address.threadId ?? address.to
}

function referenceOf({ replyToId }: Reply): object | undefined {
  // If the message was deleted meanwhile, the answer is still sent.
  return replyToId === undefined
    ? undefined
    : { message_id: messageIdOf(replyToId), fail_if_not_exists: false }
}

function componentsOf(buttons: Button[][]): object[] {
  return buttons.map((row) => ({
    type: 1,
    components: row.map((button) => ({ type: 2, style: 2, label: button.label, custom_id: button.data })),
  }))
}

async function rawFile(file: OutgoingFile): Promise<RawFile> {
  const data = Buffer.from(await (await openAsBlob(file.path)).arrayBuffer())
  return { name: file.name, data, contentType: file.mimeType }
}

/** `find`: the channel. Nothing is sent before it is found. `timestamp`: of a new message. */
async function outcomeOf(
  find: () => Promise<string>,
  send: (channelId: string) => Promise<{ id: string; timestamp?: string }>,
): Promise<PartOutcome> {
  let isFound = false
  try {
    const channelId = await find()
    isFound = true
    const { id, timestamp } = await send(channelId)
    const sentAt = timestamp === undefined ? undefined : Date.parse(timestamp)
    return { kind: 'sent', messageId: id, sentAt }
  } catch (error) {
    const reason = describeFailure(error)
    if (error instanceof RateLimitError) return { kind: 'retry', reason, retryAfterMs: error.retryAfter }
    if (error instanceof DiscordAPIError || error instanceof RockpoolError) return { kind: 'refused', reason }
    return !isFound || nothingWasSent(error) ? { kind: 'retry', reason } : { kind: 'unknown', reason }
  }
}

/** What went wrong, in words that never contain the token. */
export function describeFailure(error: unknown): string {
  if (error instanceof RateLimitError) return 'Discord asked us to wait'
  if (error instanceof DiscordAPIError) return `Discord said ${error.status}: ${error.message}`
  if (error instanceof HTTPError) return `Discord answered ${error.status}`
  if (error instanceof RockpoolError) return error.message
  const code = networkCode(error)
  return code ? `Discord could not be reached (${code})` : 'Discord could not be reached'
}
