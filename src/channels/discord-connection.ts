// The connection to Discord's gateway. discord.js reconnects and resumes by itself; this file makes it wait between
// attempts, lets it resume the session of an earlier process, and reports what it does.
import { WebSocketManager, WebSocketShardEvents, type SessionInfo } from '@discordjs/ws'
import { DiscordAPIError, GatewayCloseCodes, GatewayIntentBits } from 'discord.js'
import type { GatewayDispatchPayload, REST } from 'discord.js'
import type { Clock } from '../domain/clock.ts'
import type { BotSelf, DiscordSession } from './discord-progress.ts'
import { describeFailure } from './discord-send.ts'
import { backOffMs, pause } from './retry.ts'

export interface GatewayListener {
  /** A fresh session: Discord replays no earlier events. Resolves when earlier messages have been read and stored. */
  ready(self: BotSelf, guildIds: string[]): Promise<void>
  /** The old session was resumed; Discord has already replayed the missed events. */
  resumed(self: BotSelf): void
  /** Resolves when the event is durable or needs no action; rejects when we stop before that. */
  dispatch(payload: GatewayDispatchPayload): Promise<void>
  lost(reason: string): void
  /** Retrying would not help. */
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

/** Attempts to reach the server that has our session, before we start a new session elsewhere. */
const maxResumeAttempts = 5

/** Any code except 1000 and 1001, with which Discord ends the session at once. */
const closeToResume = 4_200

interface GatewayParts {
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
  /** The connection was lost, and the next one has not been started. */
  #isPauseDue = false
  /** Discord has not answered since the connection was lost. */
  #isUnreachable = false

  constructor(parts: GatewayParts) {
    this.#parts = parts
  }

  /** Retries until the first connection is open or cannot be opened; the library makes later ones. */
  async open(): Promise<void> {
    const { signal } = this.#stopping
    while (!signal.aborted) {
      const manager = this.#makeManager()
      this.#manager = manager
      try {
        // `connect` does not settle when the library is stopped meanwhile.
        await Promise.race([manager.connect(), this.#stopped.promise])
        return
      } catch (error) {
        await this.#discard(manager)
        if (signal.aborted || this.#hasFailed) return
        if (error instanceof DiscordAPIError && error.status === 401)
          return this.#parts.listener.failed(describeFailure(error), badToken)
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

  #makeManager(): WebSocketManager {
    const { token, rest, session, listener } = this.#parts
    const manager = new WebSocketManager({
      token,
      // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- typed as one bit, used as a bit set
      intents,
      rest,
      retrieveSessionInfo: () => this.#sessionAfterPause(),
      updateSessionInfo: (_shard, info) => this.#update(info),
    })
    manager.on(WebSocketShardEvents.Hello, () => (this.#isUnreachable = false))
    manager.on(WebSocketShardEvents.Ready, ({ data: { user, application, guilds } }) => {
      this.#failures = 0
      const self = { id: user.id, name: user.username, applicationId: application.id }
      const guildIds = guilds.map(({ id }) => id)
      session.started(self, listener.ready(self, guildIds))
    })
    manager.on(WebSocketShardEvents.Resumed, () => {
      this.#failures = 0
      if (session.self) listener.resumed(session.self)
    })
    manager.on(WebSocketShardEvents.Dispatch, ({ data }) => session.track(data.s, listener.dispatch(data)))
    manager.on(WebSocketShardEvents.Closed, ({ code }) => this.#closed(code))
    // After any error the connection closes; `#closed` handles that.
    manager.on(WebSocketShardEvents.Error, () => {})
    return manager
  }

  /**
   * The library awaits this before each new connection, so the pause between attempts happens here. It also asks with
   * each event, where a pause would change the order of events.
   */
  async #sessionAfterPause(): Promise<SessionInfo | null> {
    const { clock, session } = this.#parts
    if (this.#isPauseDue) {
      this.#isPauseDue = false
      await pause(clock, backOffMs(this.#failures), this.#stopping.signal)
    }
    return session.info
  }

  /** The library drops a session that it cannot reach. We keep it for some attempts, and while we stop. */
  #update(info: SessionInfo | null): void {
    const isKept = this.#isUnreachable && this.#failures < maxResumeAttempts
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
    this.#isUnreachable = true
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
