// Takes in what Discord sends: in order for each of its channels, offered until it is durable, and marked as seen.
// After a fresh connection it reads what came since the last mark, because the gateway will not tell.
import {
  GatewayDispatchEvents,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  Routes,
} from 'discord.js'
import type { APIChannel, APIInteraction, GatewayDispatchPayload, REST } from 'discord.js'
import type { Message } from '../domain/message.ts'
import { isThread, readEdit, readInteraction, readMessage, readReaction } from './discord-events.ts'
import type { DiscordMessage, DiscordPlace, Received, Self } from './discord-events.ts'
import { fetchDiscordFiles } from './discord-files.ts'
import { describeFailure } from './discord-send.ts'
import { Lanes } from './lanes.ts'
import { offerUntilTaken } from './offer.ts'
import type { OfferParts } from './offer.ts'
import type { SeenMarks } from './seen-marks.ts'

export interface IntakeParts extends OfferParts {
  rest: REST
  self: Self
  marks: SeenMarks
  /** A private chat has this channel: whoever answers there need not ask Discord for it. */
  met: (userId: string, channelId: string) => void
  /** Servers from which attachments may be fetched. */
  fileHosts: ReadonlySet<string>
}

const pageSize = 100

export class DiscordIntake {
  #parts: IntakeParts
  #lanes = new Lanes()
  #places = new Map<string, DiscordPlace>()

  constructor(parts: IntakeParts) {
    this.#parts = parts
  }

  take(payload: GatewayDispatchPayload): void {
    const now = this.#parts.host.clock.now()
    switch (payload.t) {
      case GatewayDispatchEvents.MessageCreate: {
        const source = payload.d as DiscordMessage
        return this.#inLane(source.channel_id, async (place, self) => {
          await this.#offer(readMessage(source, place, self))
          this.#seen(source)
        })
      }
      case GatewayDispatchEvents.MessageUpdate: {
        const source = payload.d as DiscordMessage
        return this.#inLane(source.channel_id, (place, self) => this.#offer(readEdit(source, place, self)))
      }
      case GatewayDispatchEvents.MessageReactionAdd: {
        const source = payload.d
        return this.#inLane(source.channel_id, (place, self) =>
          this.#offerPlain(readReaction(source, place, self, now)),
        )
      }
      case GatewayDispatchEvents.InteractionCreate:
        return this.#takeInteraction(payload.d, now)
      default:
        return undefined
    }
  }

  /** Reads what came while the gateway could not tell us. */
  catchUp(): void {
    for (const [channelId] of this.#parts.marks.all()) {
      this.#inLane(channelId, async (place, self) => {
        for (;;) {
          const page = await this.#newerThan(channelId, this.#parts.marks.get(channelId)!)
          for (const source of page) {
            await this.#offer(readMessage(source, place, self))
            this.#seen(source)
          }
          if (page.length < pageSize) return
        }
      })
    }
  }

  /** Resolves when everything that was begun is done. */
  finish(): Promise<void> {
    return this.#lanes.idle()
  }

  #takeInteraction(source: APIInteraction, now: number): void {
    if (!source.channel) return
    this.#inLane(source.channel.id, async (place, self) => {
      await this.#offerPlain(readInteraction(source, place, self, now))
      await this.#answerInteraction(source)
    })
  }

  /** Discord shows a failure after three seconds unless somebody answers. */
  async #answerInteraction(source: APIInteraction): Promise<void> {
    const isPress = source.type === InteractionType.MessageComponent
    const body = isPress
      ? { type: InteractionResponseType.DeferredMessageUpdate }
      : {
          type: InteractionResponseType.ChannelMessageWithSource,
          data: { content: 'Taken.', flags: MessageFlags.Ephemeral },
        }
    await this.#parts.rest.post(Routes.interactionCallback(source.id, source.token), { body, auth: false })
  }

  #inLane(channelId: string, work: (place: DiscordPlace, self: Self) => Promise<void>): void {
    const { host, self } = this.#parts
    this.#lanes
      .run(channelId, async () => work(await this.#placeOf(channelId), self))
      .catch((error: unknown) => {
        if (!this.#parts.signal.aborted)
          host.log.error({ error: describeFailure(error) }, 'a Discord event was not taken')
      })
  }

  async #offer(received: Received | undefined): Promise<void> {
    if (!received) return
    const { message, files } = received
    const { host, fileHosts } = this.#parts
    if (files.length > 0 && host.takesMedia(message)) await fetchDiscordFiles(files, message, fileHosts, host)
    await this.#offerPlain(message)
  }

  async #offerPlain(message: Message | undefined): Promise<void> {
    if (message) await offerUntilTaken(message, this.#parts)
  }

  #seen(source: DiscordMessage): void {
    this.#parts.marks.mark(source.channel_id, source.id, (before, id) => BigInt(id) > BigInt(before))
  }

  /** Oldest first. */
  async #newerThan(channelId: string, after: string): Promise<DiscordMessage[]> {
    const query = new URLSearchParams({ after, limit: String(pageSize) })
    const page = (await this.#parts.rest.get(Routes.channelMessages(channelId), {
      query,
    })) as DiscordMessage[]
    return page.sort((a, b) => (BigInt(a.id) < BigInt(b.id) ? -1 : 1))
  }

  async #placeOf(channelId: string): Promise<DiscordPlace> {
    const known = this.#places.get(channelId)
    if (known) return known
    const channel = (await this.#parts.rest.get(Routes.channel(channelId))) as APIChannel
    const place: DiscordPlace = {
      channelId,
      ...('guild_id' in channel && channel.guild_id ? { guildId: channel.guild_id } : {}),
      ...('name' in channel && channel.name ? { name: channel.name } : {}),
      ...(isThread(channel.type) && 'parent_id' in channel && channel.parent_id
        ? { parentId: channel.parent_id }
        : {}),
    }
    this.#places.set(channelId, place)
    if ('recipients' in channel && channel.recipients?.length === 1)
      this.#parts.met(channel.recipients[0]!.id, channelId)
    return place
  }
}
