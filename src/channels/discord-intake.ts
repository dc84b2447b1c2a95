// Takes in what Discord sends: in order for each of its channels, offered until it is durable, and marked as seen.
// After a fresh session it reads what came since the last mark, because the gateway will not tell. What Discord cannot
// answer just now is asked again until it can: nothing is passed over.
import {
  DiscordAPIError,
  GatewayDispatchEvents,
  InteractionResponseType,
  InteractionType,
  MessageFlags,
  RateLimitError,
  Routes,
} from 'discord.js'
import type {
  APIChannel,
  APIInteraction,
  GatewayDispatchPayload,
  GatewayGuildCreateDispatchData,
  REST,
} from 'discord.js'
import type { Message } from '../domain/message.ts'
import { backOffMs, pause } from './back-off.ts'
import { isThread, readEdit, readInteraction, readMessage, readReaction } from './discord-events.ts'
import type { DiscordMessage, DiscordPlace, Received, Self } from './discord-events.ts'
import { isLater } from './discord-marks.ts'
import type { DiscordMarks } from './discord-marks.ts'
import { fetchDiscordFiles } from './discord-files.ts'
import { describeFailure } from './discord-send.ts'
import { KeyedQueue } from '../domain/async.ts'
import { offerUntilTaken, untilStored } from './offer-until-stored.ts'
import type { OfferParts } from './offer-until-stored.ts'

export interface IntakeParts extends OfferParts {
  rest: REST
  self: Self
  marks: DiscordMarks
  /** Remembers the channel of a direct chat, so that a reply need not ask Discord for it. */
  met: (userId: string, channelId: string) => void
  /** Servers from which attachments may be fetched. */
  fileHosts: ReadonlySet<string>
}

const pageSize = 100

export class DiscordIntake {
  #parts: IntakeParts
  #lanes = new KeyedQueue()
  #places = new Map<string, DiscordPlace>()
  /** What we knew when the session began. */
  #before: { channels: ReadonlySet<string>; newest: string }
  /** The servers of a fresh session that Discord has not told us about yet. */
  #awaited = { guildIds: new Set<string>(), done: (): void => {} }

  constructor(parts: IntakeParts) {
    this.#parts = parts
    this.#before = knownTo(parts.marks)
  }

  /** Resolves when it is durable, or nothing for us; rejects when we stop before. */
  take(payload: GatewayDispatchPayload): Promise<void> {
    const now = this.#parts.host.clock.now()
    switch (payload.t) {
      case GatewayDispatchEvents.MessageCreate: {
        const source = payload.d as DiscordMessage
        return this.#inLane(source.channel_id, async (place, self) => {
          await untilStored(() => this.#parts.marks.meet(source.channel_id, source.id), this.#parts)
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
          this.#offerPlain(readReaction(source, place, self, now)),
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

  /** Reads what came while the gateway could not tell us, in what we know and in these servers. */
  async catchUp(guildIds: string[]): Promise<void> {
    const { marks } = this.#parts
    this.#before = knownTo(marks)
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#awaited = { guildIds: new Set(guildIds), done: resolve }
    if (guildIds.length === 0) resolve()
    const reads = marks.channels().map((channelId) => this.#readSince(channelId, marks.get(channelId)!))
    await Promise.all([promise, ...reads])
  }

  /** Resolves when everything that was begun is done. */
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
      for (let after = mark; ;) {
        const page = await this.#newerThan(channelId, after)
        for (const source of page) await this.#takeMessage(source, place, self)
        if (page.length < pageSize) return
        after = page.at(-1)!.id
      }
    })
  }

  async #takeMessage(source: DiscordMessage, place: DiscordPlace, self: Self): Promise<void> {
    await this.#offer(readMessage(source, place, self))
    this.#parts.marks.mark(source.channel_id, source.id)
  }

  #takeInteraction(source: APIInteraction, now: number): Promise<void> {
    if (!source.channel) return Promise.resolve()
    return this.#inLane(source.channel.id, async (place, self) => {
      await this.#offerPlain(readInteraction(source, place, self, now))
      // The press is taken; that Discord shows a failure beside it changes nothing.
      await this.#answerInteraction(source).catch((error: unknown) =>
        this.#parts.host.log.debug(
          { event: 'button-ack-failed', error: describeFailure(error) },
          'Could not acknowledge a button press.',
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
          data: { content: 'Taken.', flags: MessageFlags.Ephemeral },
        }
    await this.#parts.rest.post(Routes.interactionCallback(source.id, source.token), { body, auth: false })
  }

  /** Rejects only when we stop: what Discord does not let us see is passed over. */
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
    const { host, fileHosts } = this.#parts
    if (files.length > 0 && host.takesMedia(message)) await fetchDiscordFiles(files, message, fileHosts, host)
    await this.#offerPlain(message)
  }

  async #offerPlain(message: Message | undefined): Promise<void> {
    if (message) await offerUntilTaken(message, this.#parts)
  }

  /** Oldest first. */
  async #newerThan(channelId: string, after: string): Promise<DiscordMessage[]> {
    const query = new URLSearchParams({ after, limit: String(pageSize) })
    const page = await this.#ask<DiscordMessage[]>(Routes.channelMessages(channelId), query)
    return page.sort((a, b) => (isLater(a.id, b.id) ? -1 : 1))
  }

  /** Until Discord answers, or says no for good, or we stop. */
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

function knownTo(marks: DiscordMarks): { channels: ReadonlySet<string>; newest: string } {
  return { channels: new Set(marks.channels()), newest: marks.newest() }
}
