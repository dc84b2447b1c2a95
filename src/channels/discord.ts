// Discord, with the REST client and gateway connection of discord.js. An event is confirmed only after it is durable, also
// across restarts; after a gap that the gateway cannot replay, missed messages are read from the channels' history.
import {
  GatewayDispatchEvents,
  MessageFlags,
  REST,
  Routes,
  ApplicationCommandOptionType,
  ApplicationCommandType,
} from 'discord.js'
import type { Address } from '../domain/address.ts'
import type { ChannelAbilities, ChannelHost, CommandInfo } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { PlatformChannel, beginReceiving, endReceiving, holdOfBot } from './base-channel.ts'
import type { Accept, Receiving } from './base-channel.ts'
import { pressIdOf, type Self } from './discord-messages.ts'
import { BoundedMap } from './bounded-map.ts'
import { DiscordGateway, type GatewayListener } from './discord-connection.ts'
import { DiscordIntake } from './discord-intake.ts'
import { DiscordMarks, DiscordSession, type BotSelf } from './discord-progress.ts'
import { describeFailure, DiscordSender } from './discord-send.ts'
import { markLength } from './message-parts.ts'

interface DiscordOptions {
  accountId: string
  token: string
  /** Another API server, such as `http://127.0.0.1:1234/api`. */
  apiRoot?: string
}

/** Discord says "a few minutes"; this is certainly within them. */
const nonceMs = 120_000
const textLimit = 2_000
const discordApi = 'https://discord.com/api'
const fileServers = ['cdn.discordapp.com', 'media.discordapp.net']

export class DiscordChannel extends PlatformChannel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: textLimit - markLength,
    edits: true,
    typing: true,
    idempotentSend: true,
    idempotentForMs: nonceMs,
    sendsUnconnected: true,
    formatting: 'markdown',
  }

  #options: DiscordOptions
  #rest: REST
  protected readonly sender: DiscordSender
  protected readonly describe = describeFailure
  #running: Running | undefined
  #hasRegisteredCommands = false
  /** By interaction id: what a later answer to a button press needs. */
  #pressTokens = new BoundedMap<{ applicationId: string; token: string }>(1_000)

  constructor(options: DiscordOptions, host: ChannelHost) {
    super('discord', options.accountId, host)
    this.#options = options
    // The library must not wait or retry by itself: the outbox does, and keeps the order.
    this.#rest = new REST({
      api: options.apiRoot ?? discordApi,
      retries: 0,
      rejectOnRateLimit: ['/channels'],
    })
    this.#rest.setToken(options.token)
    this.sender = new DiscordSender(this.#rest, host, textLimit)
  }

  protected async begin(accept: Accept): Promise<void> {
    const hold = holdOfBot('discord', this.#options.token)
    const receiving = await beginReceiving(this.host, hold, `discord-${this.accountId}`)
    const session = new DiscordSession(receiving.store, this.host.clock, hold.name)
    const self: Self = { accountId: this.accountId, botId: session.self?.id ?? '' }
    const intake = new DiscordIntake({
      rest: this.#rest,
      host: this.host,
      self,
      marks: await DiscordMarks.open(receiving.store, this.host.clock),
      onChannel: (channelId, userId) => this.sender.addChannel(channelId, userId),
      fileHosts: this.#fileHosts(),
      accept,
      signal: receiving.stopping.signal,
    })
    const gateway = this.#gateway(intake, session, self)
    this.#running = { ...receiving, gateway, intake, session, opening: gateway.open() }
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (!running) return
    this.#running = undefined
    await running.gateway.close()
    running.stopping.abort()
    await running.opening
    await endReceiving(running, async () => {
      await running.intake.finish()
      await running.session.flush()
    })
    this.setStatus('stopped')
  }

  protected async showTyping(address: Address): Promise<unknown> {
    return this.#rest.post(Routes.channelTyping(await this.sender.channelIdOf(address)))
  }

  /** The press was acknowledged when it arrived; this adds a line that only the presser sees. */
  async acknowledgeButton(message: Message, text?: string): Promise<void> {
    const press = this.#pressTokens.get(pressIdOf(message.id) ?? '')
    if (!press || !text) return
    const body = { content: text.slice(0, 200), flags: MessageFlags.Ephemeral }
    // Discord drops an interaction after a while; then it can no longer be acknowledged.
    await this.optional('Could not acknowledge a button press.', () =>
      this.#rest.post(Routes.webhook(press.applicationId, press.token), { body, auth: false }),
    )
  }

  #gateway(intake: DiscordIntake, session: DiscordSession, self: Self): DiscordGateway {
    const listener: GatewayListener = {
      ready: (bot, guildIds) => {
        self.botId = bot.id
        this.#connectedAs(bot)
        return intake.catchUp(guildIds)
      },
      resumed: (bot) => this.#connectedAs(bot),
      dispatch: (payload) => {
        if (payload.t === GatewayDispatchEvents.InteractionCreate) this.#rememberPress(payload.d)
        return intake.take(payload)
      },
      lost: (reason) => this.setStatus('reconnecting', { lastError: reason }),
      failed: (reason, detail) =>
        this.setStatus('failed', { lastError: reason, needs: { kind: 'token', detail } }),
    }
    const { token } = this.#options
    return new DiscordGateway({ token, rest: this.#rest, clock: this.host.clock, session, listener })
  }

  #connectedAs({ id, name, applicationId }: BotSelf): void {
    void this.#registerCommands(applicationId)
    this.setStatus('connected', { identity: { id, name } })
  }

  /** Once in a process; typed commands work without it. */
  async #registerCommands(applicationId: string): Promise<void> {
    if (this.#hasRegisteredCommands || this.host.commands.length === 0) return
    this.#hasRegisteredCommands = true
    try {
      await registerCommands(this.#rest, applicationId, this.host.commands)
    } catch (error) {
      this.host.log.warn(
        { event: 'discord-commands-failed', error: describeFailure(error) },
        'Could not register the chat commands with Discord; typing them still works.',
      )
    }
  }

  #rememberPress(interaction: { id: string; application_id: string; token: string }): void {
    const { id, application_id: applicationId, token } = interaction
    this.#pressTokens.set(id, { applicationId, token })
  }

  #fileHosts(): ReadonlySet<string> {
    const { apiRoot } = this.#options
    return new Set(apiRoot ? [...fileServers, new URL(apiRoot).host] : fileServers)
  }
}

interface Running extends Receiving {
  gateway: DiscordGateway
  intake: DiscordIntake
  session: DiscordSession
  opening: Promise<void>
}

/** Discord's limits. */
const maxCommands = 100
const maxDescription = 100

/** Replaces the registered commands, so that Discord lists ours when a person types a slash. */
async function registerCommands(rest: REST, applicationId: string, commands: readonly CommandInfo[]) {
  const body = commands.slice(0, maxCommands).map(({ name, description, usage }) => ({
    type: ApplicationCommandType.ChatInput,
    name,
    description: description.slice(0, maxDescription),
    options: usage === undefined ? [] : [optionFor(usage)],
  }))
  await rest.put(Routes.applicationCommands(applicationId), { body })
}

/** Everything after a command is one text, as when the command is typed. */
function optionFor(usage: string): object {
  const description = usage.slice(0, maxDescription)
  return { type: ApplicationCommandOptionType.String, name: 'text', description, required: false }
}
