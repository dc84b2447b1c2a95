// Discord, on discord.js's own REST client and gateway connection. A message counts as seen when it is durable here;
// after a gap that the gateway cannot replay, what came since is read from the channels themselves.
import { createHash } from 'node:crypto'
import { GatewayDispatchEvents, MessageFlags, REST, Routes } from 'discord.js'
import type { Address } from '../domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelHost,
  ChannelStatus,
  SecretStore,
  SendOptions,
  SendOutcome,
} from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { StatusBoard } from './channel-status.ts'
import { registerCommands } from './discord-commands.ts'
import { pressIdOf } from './discord-events.ts'
import type { Self } from './discord-events.ts'
import { DiscordGateway } from './discord-gateway.ts'
import { DiscordIntake } from './discord-intake.ts'
import { describeFailure, DiscordSender } from './discord-send.ts'
import { SeenMarks } from './seen-marks.ts'

export interface DiscordOptions {
  accountId: string
  token: string
  /** Another API server, such as `http://127.0.0.1:1234/api`. */
  apiRoot?: string
}

const discordApi = 'https://discord.com/api'
const fileServers = ['cdn.discordapp.com', 'media.discordapp.net']

export class DiscordChannel implements Channel {
  readonly name = 'discord'
  readonly accountId: string
  readonly abilities: ChannelAbilities = {
    maxTextLength: 2_000,
    edits: true,
    buttons: true,
    threads: true,
    typing: true,
    media: true,
    idempotentSend: true,
    sendsUnconnected: true,
    formatting: 'markdown',
  }

  #options: DiscordOptions
  #host: ChannelHost
  #rest: REST
  #sender: DiscordSender
  #status: StatusBoard
  #running: Running | undefined
  #hasOffered = false
  /** What Discord gives with a press, to say something about it later. */
  #pressTokens = new Map<string, { applicationId: string; token: string }>()

  constructor(options: DiscordOptions, host: ChannelHost) {
    this.accountId = options.accountId
    this.#options = options
    this.#host = host
    // A limit comes back to us at once: the outbox waits, and keeps the order. We repeat nothing behind its back.
    this.#rest = new REST({
      api: options.apiRoot ?? discordApi,
      retries: 0,
      rejectOnRateLimit: ['/channels'],
    })
    this.#rest.setToken(options.token)
    this.#sender = new DiscordSender(this.#rest, host, this.abilities.maxTextLength)
    this.#status = new StatusBoard(this.name, this.accountId, host.clock)
  }

  start(accept: (message: Message) => Promise<void>): Promise<void> {
    return this.#status.starting(() => this.#begin(accept))
  }

  async #begin(accept: (message: Message) => Promise<void>): Promise<void> {
    const release = await this.#host.hold(`discord-${fingerprint(this.#options.token)}`)
    const store = this.#host.secrets(`discord-${this.accountId}`)
    const stopping = new AbortController()
    const marks = new SeenMarks(store, this.#host.clock)
    const self: Self = { accountId: this.accountId, botId: '' }
    const { rest, host } = { rest: this.#rest, host: this.#host }
    const intake = new DiscordIntake({
      rest,
      host,
      self,
      marks,
      met: (userId, channelId) => this.#sender.meet(userId, channelId),
      fileHosts: this.#fileHosts(),
      accept,
      signal: stopping.signal,
    })
    const gateway = this.#gateway(intake, self)
    this.#running = { gateway, intake, marks, store, stopping, release, opening: gateway.open() }
  }

  async stop(): Promise<void> {
    const running = this.#running
    if (!running) return
    this.#running = undefined
    await running.gateway.close()
    running.stopping.abort()
    await running.opening
    await running.intake.finish()
    await running.marks.flush()
    await running.store.close()
    await running.release()
    this.#status.set('stopped')
  }

  status(): ChannelStatus {
    return this.#status.current
  }

  onStatus(listener: (status: ChannelStatus) => void): () => void {
    return this.#status.on(listener)
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    return this.#sender.send(address, reply, options)
  }

  edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    return this.#sender.edit(address, messageId, reply)
  }

  async typing(address: Address): Promise<void> {
    try {
      await this.#rest.post(Routes.channelTyping(await this.#sender.channelIdOf(address)))
    } catch (error) {
      // A lost "is typing…" is not worth anybody's time.
      this.#host.log.debug({ error: describeFailure(error) }, 'typing was not shown')
    }
  }

  /** The press itself was answered when it arrived; this adds a line that only the presser sees. */
  async acknowledgeButton(message: Message, text?: string): Promise<void> {
    const press = this.#pressTokens.get(pressIdOf(message.id) ?? '')
    if (!press || !text) return
    try {
      const body = { content: text.slice(0, 200), flags: MessageFlags.Ephemeral }
      await this.#rest.post(Routes.webhook(press.applicationId, press.token), { body, auth: false })
    } catch (error) {
      // Discord forgets a press after a while; then there is nobody left to tell.
      this.#host.log.debug({ error: describeFailure(error) }, 'a button press could not be acknowledged')
    }
  }

  #gateway(intake: DiscordIntake, self: Self): DiscordGateway {
    return new DiscordGateway(this.#options.token, this.#rest, this.#host.clock, {
      ready: (user, applicationId) => {
        self.botId = user.id
        void this.#offerCommands(applicationId)
        this.#status.set('connected', { identity: { id: user.id, name: user.username } })
        intake.catchUp()
      },
      resumed: () => this.#status.set('connected'),
      dispatch: (payload) => {
        if (payload.t === GatewayDispatchEvents.InteractionCreate) this.#rememberPress(payload.d)
        intake.take(payload)
      },
      lost: (reason) => this.#status.set('reconnecting', { lastError: reason }),
      failed: (reason, detail) =>
        this.#status.set('failed', { lastError: reason, needs: { kind: 'token', detail } }),
    })
  }

  /** Once in a process; typed commands work without it. */
  async #offerCommands(applicationId: string): Promise<void> {
    if (this.#hasOffered || this.#host.commands.length === 0) return
    this.#hasOffered = true
    try {
      await registerCommands(this.#rest, applicationId, this.#host.commands)
    } catch (error) {
      this.#host.log.warn({ error: describeFailure(error) }, 'Discord did not take our list of commands')
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

interface Running {
  gateway: DiscordGateway
  intake: DiscordIntake
  marks: SeenMarks
  store: SecretStore
  stopping: AbortController
  release: () => Promise<void>
  opening: Promise<void>
}

function fingerprint(token: string): string {
  return createHash('sha256').update(token).digest('hex').slice(0, 16)
}
