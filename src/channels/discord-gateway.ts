// The connection to Discord's gateway. discord.js reconnects and resumes by itself; here it learns to wait between
// tries and to go on where an earlier process was, and we learn what it is doing.
import { WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import type { SessionInfo } from '@discordjs/ws'
import { DiscordAPIError, GatewayCloseCodes, GatewayIntentBits } from 'discord.js'
import type { GatewayDispatchPayload, REST } from 'discord.js'
import type { Clock } from '../domain/clock.ts'
import { backOffMs, pause } from './back-off.ts'
import { describeFailure } from './discord-send.ts'
import type { BotSelf, DiscordSession } from './discord-session.ts'

export interface GatewayListener {
  /** A fresh session: Discord replays nothing of what came before. Resolves when that has been read. */
  ready(self: BotSelf, guildIds: string[]): Promise<void>
  /** The old session was resumed; Discord has already replayed the missed events. */
  resumed(self: BotSelf): void
  /** Resolves when it is durable, or nothing for us; rejects when we stop before. */
  dispatch(payload: GatewayDispatchPayload): Promise<void>
  lost(reason: string): void
  /** No waiting will mend it. */
  failed(reason: string, toDo: string): void
}

const intents =
  GatewayIntentBits.Guilds |
  GatewayIntentBits.GuildMessages |
  GatewayIntentBits.DirectMessages |
  GatewayIntentBits.MessageContent |
  GatewayIntentBits.GuildMessageReactions |
  GatewayIntentBits.DirectMessageReactions

const badToken =
  'Discord does not know this token. Make a new one on the Bot page of your application, then run `rockpool channels add discord`.'
const fatalCodes: ReadonlyMap<number, string> = new Map([
  [GatewayCloseCodes.AuthenticationFailed, badToken],
  [
    GatewayCloseCodes.DisallowedIntents,
    'Switch on "Message Content Intent" on the Bot page of your application on Discord, then start again.',
  ],
])

/** So often we try to reach the server that has our session, before we begin a new one elsewhere. */
const mostUnreached = 5

/** Any code but 1000 and 1001: with those Discord would forget the session at once. */
const closeToResume = 4_200

export interface GatewayParts {
  token: string
  rest: REST
  clock: Clock
  session: DiscordSession
  listener: GatewayListener
}

export class DiscordGateway {
  #parts: GatewayParts
  #stopping = new AbortController()
  #stopped = Promise.withResolvers<void>()
  #manager: WebSocketManager | undefined
  #failures = 0
  #hasFailed = false
  /** The connection was lost, and the next one has not been begun. */
  #isPauseDue = false
  /** No answer from Discord since the connection was lost. */
  #isUnreached = false

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  /** Goes on until the first connection stands or never will; later ones are made by the library. */
  async open(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const manager = this.#newManager()
      this.#manager = manager
      try {
        // The library does not say that it was stopped in the middle.
        await Promise.race([manager.connect(), this.#stopped.promise])
        return
      } catch (error) {
        await this.#discard(manager)
        if (signal.aborted || this.#hasFailed) return
        if (error instanceof DiscordAPIError && error.status === 401) {
          return this.#parts.listener.failed(describeFailure(error), badToken)
        }
        this.#failures += 1
        this.#parts.listener.lost(describeFailure(error))
        await pause(this.#parts.clock, backOffMs(this.#failures), signal)
      }
    }
  }

  /** Closes without ending the Discord session, so that a process that starts soon can resume it. */
  async close(): Promise<void> {
    this.#stopping.abort()
    this.#stopped.resolve()
    if (this.#manager) await this.#discard(this.#manager)
  }

  #newManager(): WebSocketManager {
    const { token, rest, session, listener } = this.#parts
    const manager = new WebSocketManager({
      token,
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- typed as one bit, meant as all of them together
      intents,
      rest,
      retrieveSessionInfo: () => this.#sessionWhenDue(),
      updateSessionInfo: (_shard, info) => this.#update(info),
    })
    manager.on(WebSocketShardEvents.Hello, () => (this.#isUnreached = false))
    manager.on(WebSocketShardEvents.Ready, ({ data: { user, application, guilds } }) => {
      this.#failures = 0
      const self = { id: user.id, name: user.username, applicationId: application.id }
      const guildIds = guilds.map(({ id }) => id)
      session.begun(self, listener.ready(self, guildIds))
    })
    manager.on(WebSocketShardEvents.Resumed, () => {
      this.#failures = 0
      if (session.self) listener.resumed(session.self)
    })
    manager.on(WebSocketShardEvents.Dispatch, ({ data }) => session.follow(data.s, listener.dispatch(data)))
    manager.on(WebSocketShardEvents.Closed, ({ code }) => this.#closed(code))
    // Whatever it is, the connection then closes, and that is what we act on.
    manager.on(WebSocketShardEvents.Error, () => {})
    return manager
  }

  /**
   * The library asks for the session before each new connection, and waits for the answer: our place to slow down. It
   * also asks with each event; a pause there would mix up their order.
   */
  async #sessionWhenDue(): Promise<SessionInfo | null> {
    const { clock, session } = this.#parts
    if (this.#isPauseDue) {
      this.#isPauseDue = false
      await pause(clock, backOffMs(this.#failures), this.#stopping.signal)
    }
    return session.info
  }

  /** The library gives a session up also when it only could not be reached: not before we have tried for a while. */
  #update(info: SessionInfo | null): void {
    const isKept = this.#isUnreached && this.#failures < mostUnreached
    if (info || (!isKept && !this.#stopping.signal.aborted)) this.#parts.session.update(info)
  }

  #closed(code: number): void {
    if (this.#stopping.signal.aborted) return
    const toDo = fatalCodes.get(code)
    if (toDo) {
      this.#hasFailed = true
      return this.#parts.listener.failed(`Discord closed the connection (${code})`, toDo)
    }
    this.#failures += 1
    this.#isPauseDue = true
    this.#isUnreached = true
    this.#parts.listener.lost(`the connection to Discord was closed (${code})`)
  }

  async #discard(manager: WebSocketManager): Promise<void> {
    manager.removeAllListeners()
    // The closed client may still emit errors. An 'error' event without a listener would end the process.
    manager.on(WebSocketShardEvents.Error, () => {})
    try {
      await manager.destroy({ code: closeToResume, reason: 'stopping' })
    } catch {
      // It was not connected.
    }
  }
}
