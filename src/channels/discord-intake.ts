// Passes on what Discord sends: in order for each channel, retried until it is durable, then marked as read. After a
// fresh session it reads the messages since the last mark, because the gateway does not replay them. Failed requests to
// Discord are repeated: no message is skipped.
import {
  DiscordAPIError,
  GatewayDispatchEvents,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  RateLimitError,
  Routes,
  type APIChannel,
  type APIGuildMember,
  type APIInteraction,
  type GatewayDispatchPayload,
  type GatewayGuildCreateDispatchData,
  type REST,
} from 'discord.js'
import { KeyedQueue } from '../domain/async.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Media, Message } from '../domain/message.ts'
import type { IntakeParts } from './base-channel.ts'
import { isThread, readEdit, readInteraction, readMessage, readReaction } from './discord-messages.ts'
import type { DiscordFile, DiscordMessage, DiscordPlace, Received, Self } from './discord-messages.ts'
import { isLater, type DiscordMarks } from './discord-progress.ts'
import { describeFailure } from './discord-send.ts'
import { addFile, download } from './received-files.ts'
import { backOffMs, pause, untilStored } from './retry.ts'

interface DiscordIntakeParts extends IntakeParts {
  rest: REST
  self: Self
  marks: DiscordMarks
  /** Remembers a channel of a server, or the private one with this person, so that a reply need not ask Discord for it. */
  onChannel: (channelId: string, userId?: string) => void
  /** Servers from which attachments may be fetched. */
  fileHosts: ReadonlySet<string>
}

const pageSize = 100

/** The members of a server, by the id of the person. */
type Members = Map<string, DiscordMessage['member']>

export class DiscordIntake {
  #parts: DiscordIntakeParts
  #lanes = new KeyedQueue()
  #places = new Map<string, DiscordPlace>()
  /** The marks at the start of the session. */
  #before: { channels: ReadonlySet<string>; newest: string }
  /** The servers of a fresh session that Discord has not described yet. */
  #awaited = { guildIds: new Set<string>(), done: (): void => {} }

  constructor(parts: DiscordIntakeParts) {
    this.#parts = parts
    this.#before = knownTo(parts.marks)
  }

  /** Resolves when the event is durable or needs no action; rejects when we stop before that. */
  take(payload: GatewayDispatchPayload): Promise<void> {
    const now = this.#parts.host.clock.now()
    switch (payload.t) {
      case GatewayDispatchEvents.MessageCreate: {
        const source = payload.d as DiscordMessage
        return this.#inLane(source.channel_id, async (place, self) => {
          await untilStored(() => this.#parts.marks.addChannel(source.channel_id, source.id), this.#parts)
          await this.#takeMessage(source, place, self)
        })
      }
      case GatewayDispatchEvents.MessageUpdate: {
        const source = payload.d as DiscordMessage
        return this.#inLane(source.channel_id, (place, self) => this.#offer(readEdit(source, place, self)))
      }
      case GatewayDispatchEvents.MessageReactionAdd: {
        const source = payload.d
        return this.#inLane(source.channel_id, (place, self) =>
          this.#accept(readReaction(source, place, self, now)),
        )
      }
      case GatewayDispatchEvents.InteractionCreate:
        return this.#takeInteraction(payload.d, now)
      case GatewayDispatchEvents.GuildCreate:
        return this.#takeGuild(payload.d)
      default:
        return Promise.resolve()
    }
  }

  /** Reads the messages that arrived while we were disconnected, in known channels and in these servers. */
  async catchUp(guildIds: string[]): Promise<void> {
    const { marks } = this.#parts
    this.#before = knownTo(marks)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { guildIds: new Set(guildIds), done: resolve }
    if (guildIds.length === 0) resolve()
    const reads = marks.channels().map(([channelId, mark]) => this.#readSince(channelId, mark))
    await Promise.all([promise, ...reads])
  }

  /** Resolves when all events received so far are processed. */
  async finish(): Promise<void> {
    await this.#lanes.idle()
    await this.#parts.marks.flush()
  }

  /** Discord lists a server's channels: a channel may have got its first message while we were offline. */
  async #takeGuild({ id: guildId, channels, threads }: GatewayGuildCreateDispatchData): Promise<void> {
    const { channels: known, newest } = this.#before
    const listed = [...channels, ...threads] as Array<{ id: string; last_message_id?: string | null }>
    const unread = listed.filter(
      ({ id, last_message_id: last }) => last && isLater(newest, last) && !known.has(id),
    )
    await Promise.all(unread.map(({ id }) => this.#readSince(id, newest)))
    const { guildIds, done } = this.#awaited
    guildIds.delete(guildId)
    if (guildIds.size === 0) done()
  }

  #readSince(channelId: string, mark: string): Promise<void> {
    return this.#inLane(channelId, async (place, self) => {
      const members: Members = new Map()
      for (let after = mark; ;) {
        const page = await this.#newerThan(channelId, after)
        for (const source of page)
          await this.#takeMessage(await this.#withMember(source, place, members), place, self)
        if (page.length < pageSize) return
        after = page.at(-1)!.id
      }
    })
  }

  async #takeMessage(source: DiscordMessage, place: DiscordPlace, self: Self): Promise<void> {
    await this.#offer(readMessage(source, place, self))
    this.#parts.marks.advance(source.channel_id, source.id)
  }

  #takeInteraction(source: APIInteraction, now: number): Promise<void> {
    if (!source.channel) return Promise.resolve()
    return this.#inLane(source.channel.id, async (place, self) => {
      await this.#accept(readInteraction(source, place, self, now))
      // The press is stored. If this fails, Discord only shows an error beside the button.
      await this.#answerInteraction(source).catch((error: unknown) =>
        this.#parts.host.log.debug(
          { event: 'button-ack-failed', error: describeFailure(error) },
          'Could not acknowledge a button press; Discord shows an error beside the button.',
        ),
      )
    })
  }

  /** Discord shows a failure unless the interaction is answered within three seconds. */
  async #answerInteraction(source: APIInteraction): Promise<void> {
    const isPress = source.type === InteractionType.MessageComponent
    const body = isPress
      ? { type: InteractionResponseType.DeferredMessageUpdate }
      : {
          type: InteractionResponseType.ChannelMessageWithSource,
          data: { content: 'Received.', flags: MessageFlags.Ephemeral },
        }
    await this.#parts.rest.post(Routes.interactionCallback(source.id, source.token), { body, auth: false })
  }

  /** Rejects only when we stop. An event in a channel that Discord does not let us see is dropped. */
  #inLane(channelId: string, work: (place: DiscordPlace, self: Self) => Promise<void>): Promise<void> {
    const { host, self, signal } = this.#parts
    return this.#lanes
      .run(channelId, async () => work(await this.#placeOf(channelId), self))
      .catch((error: unknown) => {
        if (signal.aborted) throw error
        host.log.error(
          { event: 'discord-event-failed', error: describeFailure(error) },
          'Could not process a Discord event; it is dropped.',
        )
      })
  }

  async #offer(received: Received | undefined): Promise<void> {
    if (!received) return
    const { message, files } = received
    const { host } = this.#parts
    if (files.length > 0 && (await host.takesMedia(message))) {
      for (const file of files) await addFile(message, host, () => this.#fetch(file))
    }
    await this.#accept(message)
  }

  async #accept(message: Message | undefined): Promise<void> {
    if (message) await untilStored(() => this.#parts.accept(message), this.#parts)
  }

  /** From Discord's own servers only. */
  async #fetch(file: DiscordFile): Promise<Media> {
    const { fileHosts, host } = this.#parts
    if (!fileHosts.has(new URL(file.url).host))
      throw new RockpoolError('refused', 'it is not on a server of Discord.')
    return download(file.url, file, 'Discord', host)
  }

  /** A channel's history does not say which roles a person has; they decide which agent the message is for. */
  async #withMember(source: DiscordMessage, place: DiscordPlace, known: Members): Promise<DiscordMessage> {
    const { author, webhook_id: webhookId } = source
    if (place.guildId === undefined || author.bot || webhookId !== undefined) return source
    if (!known.has(author.id)) known.set(author.id, await this.#memberOf(place.guildId, author.id))
    return { ...source, member: known.get(author.id) }
  }

  /** Undefined for a person who has left the server, or Discord. */
  async #memberOf(guildId: string, userId: string): Promise<DiscordMessage['member']> {
    try {
      return await this.#ask<APIGuildMember>(Routes.guildMember(guildId, userId))
    } catch (error) {
      if (error instanceof DiscordAPIError && error.status === 404) return undefined
      throw error
    }
  }

  /** Oldest first. */
  async #newerThan(channelId: string, after: string): Promise<DiscordMessage[]> {
    const query = new URLSearchParams({ after, limit: String(pageSize) })
    const page = await this.#ask<DiscordMessage[]>(Routes.channelMessages(channelId), query)
    return page.sort((a, b) => (isLater(a.id, b.id) ? -1 : 1))
  }

  /** Retries until Discord answers or refuses, or we stop. */
  async #ask<T>(route: `/${string}`, query = new URLSearchParams()): Promise<T> {
    const { rest, host, signal } = this.#parts
    for (let failures = 1; ; failures++) {
      try {
        return (await rest.get(route, { query })) as T
      } catch (error) {
        if (signal.aborted || error instanceof DiscordAPIError) throw error
        host.log.warn(
          { event: 'discord-retry', error: describeFailure(error), failures },
          'A request to Discord failed; retrying.',
        )
        const waitMs = error instanceof RateLimitError ? error.retryAfter : backOffMs(failures)
        await pause(host.clock, waitMs, signal)
      }
    }
  }

  async #placeOf(channelId: string): Promise<DiscordPlace> {
    const known = this.#places.get(channelId)
    if (known) return known
    const channel = await this.#ask<APIChannel>(Routes.channel(channelId))
    const place: DiscordPlace = {
      channelId,
      guildId: ('guild_id' in channel && channel.guild_id) || undefined,
      name: ('name' in channel && channel.name) || undefined,
      parentId: (isThread(channel.type) && 'parent_id' in channel && channel.parent_id) || undefined,
    }
    this.#places.set(channelId, place)
    if (place.guildId !== undefined) this.#parts.onChannel(channelId)
    else if ('recipients' in channel && channel.recipients?.length === 1)
      this.#parts.onChannel(channelId, channel.recipients[0]!.id)
    return place
  }
}

function knownTo(marks: DiscordMarks): { channels: ReadonlySet<string>; newest: string } {
  return { channels: new Set(marks.channels().map(([channelId]) => channelId)), newest: marks.newest() }
}
