// Sends replies to Discord. Each message carries a nonce made from the idempotency key. Within some minutes Discord
// recognizes a repeated nonce and sends nothing; a later repeat is marked as such.
import { createHash } from 'node:crypto'
import { openAsBlob } from 'node:fs'
import { DiscordAPIError, HTTPError, RateLimitError, Routes } from 'discord.js'
import type { APIMessage, RawFile, REST } from 'discord.js'
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
  #directChannels = new Map<string, string>()

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
    const outcome = await outcomeOf(async () => {
      await this.#rest.patch(Routes.channelMessage(await this.channelIdOf(address), messageId), { body })
      return { id: messageId }
    })
    return outcome.kind === 'sent' ? { kind: 'sent', messageIds: [messageId] } : outcome
  }

  addDirectChannel(userId: string, channelId: string): void {
    this.#directChannels.set(userId, channelId)
  }

  /** `user:<id>` is a private chat; Discord has a channel for each and returns its id. */
  async channelIdOf(address: Address): Promise<string> {
    const user = /^user:(\d+)$/.exec(address.to)?.[1]
    if (!user) return channelOf(address)
    const known = this.#directChannels.get(user)
    if (known) return known
    const channel = (await this.#rest.post(Routes.userChannels(), { body: { recipient_id: user } })) as {
      id: string
    }
    this.#directChannels.set(user, channel.id)
    return channel.id
  }

  #post(address: Address, body: object, file: OutgoingFile | undefined): Promise<PartOutcome> {
    return outcomeOf(async () => {
      const files: RawFile[] = file ? [await rawFile(file)] : []
      const route = Routes.channelMessages(await this.channelIdOf(address))
      return (await this.#rest.post(route, { body, files })) as APIMessage
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

/** `timestamp`: of a new message. */
async function outcomeOf(call: () => Promise<{ id: string; timestamp?: string }>): Promise<PartOutcome> {
  try {
    const { id, timestamp } = await call()
    return {
      kind: 'sent',
      messageId: id,
      sentAt: timestamp === undefined ? undefined : Date.parse(timestamp),
    }
  } catch (error) {
    const reason = describeFailure(error)
    if (error instanceof RateLimitError) return { kind: 'retry', reason, retryAfterMs: error.retryAfter }
    if (error instanceof DiscordAPIError) return { kind: 'refused', reason }
    return nothingWasSent(error) ? { kind: 'retry', reason } : { kind: 'unknown', reason }
  }
}

/** What went wrong, in words that never contain the token. */
export function describeFailure(error: unknown): string {
  if (error instanceof RateLimitError) return 'Discord asked us to wait'
  if (error instanceof DiscordAPIError) return `Discord said ${error.status}: ${error.message}`
  if (error instanceof HTTPError) return `Discord answered ${error.status}`
  const code = networkCode(error)
  if (code) return `Discord could not be reached (${code})`
  return error instanceof RockpoolError ? error.message : 'Discord could not be reached'
}
