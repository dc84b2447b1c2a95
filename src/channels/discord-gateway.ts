// The connection to Discord's gateway. discord.js reconnects and resumes by itself; here it learns to wait between
// tries, and we learn what it is doing.
import { WebSocketManager, WebSocketShardEvents } from '@discordjs/ws'
import type { SessionInfo } from '@discordjs/ws'
import { DiscordAPIError, GatewayCloseCodes, GatewayIntentBits } from 'discord.js'
import type { GatewayDispatchPayload, REST } from 'discord.js'
import type { Clock } from '../domain/clock.ts'
import { backOffMs, pause } from './back-off.ts'
import { describeFailure } from './discord-send.ts'

export interface GatewayListener {
  /** A fresh connection: Discord replays nothing of what came before. */
  ready(user: { id: string; username: string }, applicationId: string): void
  /** The old connection goes on; what was missed follows by itself. */
  resumed(): void
  dispatch(payload: GatewayDispatchPayload): void
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

export class DiscordGateway {
  #token: string
  #rest: REST
  #clock: Clock
  #listener: GatewayListener
  #stopping = new AbortController()
  #manager: WebSocketManager | undefined
  #session: SessionInfo | null = null
  #failures = 0
  #hasFailed = false

  constructor(token: string, rest: REST, clock: Clock, listener: GatewayListener) {
    this.#token = token
    this.#rest = rest
    this.#clock = clock
    this.#listener = listener
  }

  /** Goes on until the first connection stands or never will; later ones are made by the library. */
  async open(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const manager = this.#newManager()
      this.#manager = manager
      try {
        await manager.connect()
        return
      } catch (error) {
        await this.#discard(manager)
        if (signal.aborted || this.#hasFailed) return
        if (error instanceof DiscordAPIError && error.status === 401) {
          return this.#listener.failed(describeFailure(error), badToken)
        }
        this.#failures += 1
        this.#listener.lost(describeFailure(error))
        await pause(this.#clock, backOffMs(this.#failures), signal)
      }
    }
  }

  async close(): Promise<void> {
    this.#stopping.abort()
    if (this.#manager) await this.#discard(this.#manager)
  }

  #newManager(): WebSocketManager {
    const manager = new WebSocketManager({
      token: this.#token,
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- typed as one bit, meant as all of them together
      intents,
      rest: this.#rest,
      retrieveSessionInfo: () => this.#sessionWhenDue(),
      updateSessionInfo: (_shard, session) => {
        this.#session = session
      },
    })
    manager.on(WebSocketShardEvents.Ready, ({ data }) => {
      this.#failures = 0
      this.#listener.ready(data.user, data.application.id)
    })
    manager.on(WebSocketShardEvents.Resumed, () => {
      this.#failures = 0
      this.#listener.resumed()
    })
    manager.on(WebSocketShardEvents.Dispatch, ({ data }) => this.#listener.dispatch(data))
    manager.on(WebSocketShardEvents.Closed, ({ code }) => this.#closed(code))
    // Whatever it is, the connection then closes, and that is what we act on.
    manager.on(WebSocketShardEvents.Error, () => {})
    return manager
  }

  /** The library asks for the session before each new connection, and waits for the answer: our place to slow down. */
  async #sessionWhenDue(): Promise<SessionInfo | null> {
    if (this.#failures > 0) await pause(this.#clock, backOffMs(this.#failures), this.#stopping.signal)
    return this.#session
  }

  #closed(code: number): void {
    if (this.#stopping.signal.aborted) return
    const toDo = fatalCodes.get(code)
    if (toDo) {
      this.#hasFailed = true
      return this.#listener.failed(`Discord closed the connection (${code})`, toDo)
    }
    this.#failures += 1
    this.#listener.lost(`the connection to Discord was closed (${code})`)
  }

  async #discard(manager: WebSocketManager): Promise<void> {
    manager.removeAllListeners()
    // It may still have errors to tell; nobody needs them any more, and an unheard one would end the process.
    manager.on(WebSocketShardEvents.Error, () => {})
    try {
      await manager.destroy({ code: 1_000, reason: 'stopping' })
    } catch {
      // It was not connected.
    }
  }
}
