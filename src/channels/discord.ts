// Discord, on discord.js's own REST client and gateway connection. An event counts as seen when it is durable here, also
// for the next process; after a gap that the gateway cannot replay, what was said since is read from the channels themselves.
import { GatewayDispatchEvents, MessageFlags, REST, Routes } from 'discord.js'
import type { Address } from '../domain/address.ts'
import type { ChannelAbilities, ChannelHost } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { registerCommands } from './discord-commands.ts'
import { pressIdOf } from './discord-events.ts'
import type { Self } from './discord-events.ts'
import { DiscordGateway } from './discord-gateway.ts'
import type { GatewayListener } from './discord-gateway.ts'
import { DiscordIntake } from './discord-intake.ts'
import { DiscordMarks } from './discord-marks.ts'
import { describeFailure, DiscordSender } from './discord-send.ts'
import { DiscordSession } from './discord-session.ts'
import type { BotSelf } from './discord-session.ts'
import { markLength } from './message-parts.ts'
import { PlatformChannel } from './platform-channel.ts'
import type { Accept } from './platform-channel.ts'
import { beginReceiving, endReceiving, holdOfBot } from './receiving.ts'
import type { Receiving } from './receiving.ts'

export interface DiscordOptions {
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
    buttons: true,
    threads: true,
    typing: true,
    media: true,
    idempotentSend: true,
    idempotentForMs: nonceMs,
    sendsUnconnected: true,
    formatting: 'markdown',
  }

  #options: DiscordOptions
  #rest: REST
  #sender: DiscordSender
  #running: Running | undefined
  #hasOffered = false
  /** What Discord gives with a press, to say something about it later. */
  #pressTokens = new Map<string, { applicationId: string; token: string }>()

  constructor(options: DiscordOptions, host: ChannelHost) {
    super('discord', options.accountId, host)
    this.#options = options
    // A limit comes back to us at once: the outbox waits, and keeps the order. We repeat nothing behind its back.
    this.#rest = new REST({
      api: options.apiRoot ?? discordApi,
      retries: 0,
      rejectOnRateLimit: ['/channels'],
    })
    this.#rest.setToken(options.token)
    this.#sender = new DiscordSender(this.#rest, host, textLimit)
  }

  protected async begin(accept: Accept): Promise<void> {
    const hold = holdOfBot('discord', this.#options.token)
    const receiving = await beginReceiving(this.host, hold, `discord-${this.accountId}`)
    const session = new DiscordSession(receiving.store, this.host.clock, hold.name)
    const self: Self = { accountId: this.accountId, botId: session.self?.id ?? '' }
    const { rest, host } = { rest: this.#rest, host: this.host }
    const intake = new DiscordIntake({
      rest,
      host,
      self,
      marks: await DiscordMarks.open(receiving.store, host.clock),
      met: (userId, channelId) => this.#sender.meet(userId, channelId),
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
    this.board.set('stopped')
  }

  protected sender(): DiscordSender {
    return this.#sender
  }

  protected describe(error: unknown): string {
    return describeFailure(error)
  }

  protected async showTyping(address: Address): Promise<unknown> {
    return this.#rest.post(Routes.channelTyping(await this.#sender.channelIdOf(address)))
  }

  /** The press itself was answered when it arrived; this adds a line that only the presser sees. */
  async acknowledgeButton(message: Message, text?: string): Promise<void> {
    const press = this.#pressTokens.get(pressIdOf(message.id) ?? '')
    if (!press || !text) return
    const body = { content: text.slice(0, 200), flags: MessageFlags.Ephemeral }
    // Discord drops an interaction after a while; then it can no longer be acknowledged.
    await this.unimportant('a button press could not be acknowledged', () =>
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
      lost: (reason) => this.board.set('reconnecting', { lastError: reason }),
      failed: (reason, detail) =>
        this.board.set('failed', { lastError: reason, needs: { kind: 'token', detail } }),
    }
    const { token } = this.#options
    return new DiscordGateway({ token, rest: this.#rest, clock: this.host.clock, session, listener })
  }

  #connectedAs({ id, name, applicationId }: BotSelf): void {
    void this.#offerCommands(applicationId)
    this.board.set('connected', { identity: { id, name } })
  }

  /** Once in a process; typed commands work without it. */
  async #offerCommands(applicationId: string): Promise<void> {
    if (this.#hasOffered || this.host.commands.length === 0) return
    this.#hasOffered = true
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
    this.#pressTokens.set(interaction.id, {
      applicationId: interaction.application_id,
      token: interaction.token,
    })
    const [oldest] = this.#pressTokens.keys()
    if (this.#pressTokens.size > 1_000 && oldest !== undefined) this.#pressTokens.delete(oldest)
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
