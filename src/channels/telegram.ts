// Telegram, on grammY's client. We poll ourselves: an update is confirmed to Telegram only after it is durable here,
// and one process on the machine polls for a bot.
import { Api, GrammyError } from 'grammy'
import type { Update, UserFromGetMe } from 'grammy/types'
import type { Address } from '../domain/address.ts'
import type { ChannelAbilities, ChannelHost } from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import { backOffMs, pause } from './back-off.ts'
import { markLength } from './message-parts.ts'
import { PlatformChannel } from './platform-channel.ts'
import type { Accept } from './platform-channel.ts'
import { holdOfBot } from './receiving.ts'
import { fetchFiles } from './telegram-files.ts'
import { describeFailure, retryAfterMs, TelegramSender } from './telegram-send.ts'
import { pressIdOf, readUpdate, wantedUpdates } from './telegram-updates.ts'
import type { TelegramWebhook } from './telegram-webhook.ts'
import { listenForUpdates, refuseBlankSecret } from './telegram-webhook.ts'

export interface TelegramOptions {
  accountId: string
  token: string
  apiRoot?: string
  /** How long Telegram may hold a poll open. */
  pollSeconds?: number
  webhook?: TelegramWebhook
}

const textLimit = 4_096
const defaultApiRoot = 'https://api.telegram.org'

export class TelegramChannel extends PlatformChannel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: textLimit - markLength,
    edits: true,
    buttons: true,
    threads: true,
    typing: true,
    media: true,
    idempotentSend: false,
    sendsUnconnected: true,
    formatting: 'html',
  }

  #options: TelegramOptions
  #api: Api
  #fileUrl: (filePath: string) => string
  #sender: TelegramSender
  #stopping = new AbortController()
  #running: Promise<void> = Promise.resolve()
  #release: () => Promise<void> = async () => {}
  #bot: UserFromGetMe | undefined

  constructor(options: TelegramOptions, host: ChannelHost) {
    super('telegram', options.accountId, host)
    this.#options = options
    const apiRoot = (options.apiRoot ?? defaultApiRoot).replace(/\/+$/, '')
    this.#api = new Api(options.token, { apiRoot, timeoutSeconds: 60 })
    this.#fileUrl = (path) => `${apiRoot}/file/bot${options.token}/${path}`
    this.#sender = new TelegramSender(this.#api, host, textLimit)
  }

  protected async begin(accept: Accept): Promise<void> {
    const { webhook } = this.#options
    if (webhook) refuseBlankSecret(webhook)
    const { name, among } = holdOfBot('telegram', this.#options.token)
    this.#release = await this.host.hold(name, among)
    this.#stopping = new AbortController()
    const run = webhook ? await this.#listen(webhook, accept) : () => this.#poll(accept)
    this.#running = run().catch((error: unknown) => {
      this.host.log.error(
        { event: 'telegram-stopped', error: describeFailure(error) },
        'Telegram polling stopped.',
      )
      this.board.set('failed', { lastError: describeFailure(error) })
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#release()
    this.#release = async () => {}
    this.board.set('stopped')
  }

  protected sender(): TelegramSender {
    return this.#sender
  }

  protected describe(error: unknown): string {
    return describeFailure(error)
  }

  protected showTyping(address: Address): Promise<unknown> {
    const thread = address.threadId ? { message_thread_id: Number(address.threadId) } : {}
    return this.#api.sendChatAction(address.to, 'typing', thread)
  }

  async acknowledgeButton(message: Message, text?: string): Promise<void> {
    const pressId = pressIdOf(message.id)
    if (!pressId) return
    // Telegram forgets a press after a while; then there is nothing left to acknowledge.
    await this.unimportant('a button press could not be acknowledged', () =>
      this.#api.answerCallbackQuery(pressId, text ? { text: text.slice(0, 200) } : {}),
    )
  }

  async #poll(accept: Accept): Promise<void> {
    const signal = this.#stopping.signal
    let offset: number | undefined
    let ready = false
    for (let failures = 0; !signal.aborted;) {
      try {
        if (!ready) await this.#introduce(() => this.#api.deleteWebhook({}, grammySignal(signal)))
        ready = true
        const updates = await this.#api.getUpdates(
          {
            ...(offset === undefined ? {} : { offset }),
            // The first poll answers at once, so that we know soon whether it works.
            timeout: this.board.current.state === 'connected' ? (this.#options.pollSeconds ?? 25) : 0,
            allowed_updates: wantedUpdates,
          },
          grammySignal(signal),
        )
        if (this.board.current.state !== 'connected') this.board.set('connected')
        const next = await this.#takeAll(updates, accept)
        if (next.offset !== undefined) offset = next.offset
        if (next.failed) throw next.failed
        failures = 0
      } catch (error) {
        if (signal.aborted) break
        if (this.#isFatal(error)) return
        failures += 1
        await this.#waitAfter(error, failures, signal)
      }
    }
    await this.#confirm(offset)
  }

  async #introduce(prepare: () => Promise<unknown>): Promise<void> {
    this.#bot = await this.#api.getMe(grammySignal(this.#stopping.signal))
    await prepare()
    await this.#offerCommands()
    const identity = { id: String(this.#bot.id), name: `@${this.#bot.username}` }
    this.board.set(this.board.current.state, { identity })
  }

  /** For the menu beside the text field; typed commands work without it. */
  async #offerCommands(): Promise<void> {
    const commands = this.host.commands.map(({ name, says }) => ({ command: name, description: says }))
    if (commands.length === 0) return
    try {
      await this.#api.setMyCommands(commands.slice(0, 100), {}, grammySignal(this.#stopping.signal))
    } catch (error) {
      this.host.log.warn(
        { event: 'telegram-commands-failed', error: describeFailure(error) },
        'Could not register the chat commands with Telegram; typing them still works.',
      )
    }
  }

  /** Chats go in parallel, each in its own order. The offset never passes an update that is not durable. */
  async #takeAll(updates: Update[], accept: Accept): Promise<{ offset?: number; failed?: unknown }> {
    const chats = Map.groupBy(updates, (update) => chatOf(update))
    const failures = await Promise.all(
      [...chats.values()].map(async (ofOneChat) => {
        for (const update of ofOneChat) {
          try {
            await this.#take(update, accept)
          } catch (error) {
            return { at: update.update_id, error }
          }
        }
        return undefined
      }),
    )
    const failed = failures.filter((one) => one !== undefined).sort((a, b) => a.at - b.at)[0]
    if (failed) return { offset: failed.at, failed: failed.error }
    const last = updates.at(-1)
    return last ? { offset: last.update_id + 1 } : {}
  }

  async #take(update: Update, accept: Accept): Promise<void> {
    const received = readUpdate(update, this.#bot!, this.accountId, this.host.clock.now())
    if (!received) return
    const { message, files } = received
    if (files.length > 0 && this.host.takesMedia(message)) {
      await fetchFiles(this.#api, this.#fileUrl, files, message, this.host)
    }
    await accept(message)
  }

  /** Tells Telegram what we have, so that nothing is sent again after a clean stop. */
  async #confirm(offset: number | undefined): Promise<void> {
    if (offset === undefined) return
    try {
      await this.#api.getUpdates({ offset, timeout: 0, limit: 1 }, grammySignal(AbortSignal.timeout(2_000)))
    } catch (error) {
      // Then they come again, and the inbox knows them.
      this.host.log.debug(
        { event: 'telegram-confirm-failed', error: describeFailure(error) },
        'Could not confirm the last updates; Telegram will send them again.',
      )
    }
  }

  async #listen(webhook: TelegramWebhook, accept: Accept): Promise<() => Promise<void>> {
    const signal = this.#stopping.signal
    const server = await listenForUpdates(webhook, this.host.log, async (update) => {
      if (!this.#bot) throw new Error('not ready')
      await this.#take(update, accept)
    })
    return async () => {
      await this.#register(webhook, signal)
      if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve))
      await server.close()
    }
  }

  async #register(webhook: TelegramWebhook, signal: AbortSignal): Promise<void> {
    for (let failures = 0; !signal.aborted;) {
      try {
        await this.#introduce(() =>
          this.#api.setWebhook(webhook.url, {
            secret_token: webhook.secret,
            allowed_updates: wantedUpdates,
            // One at a time, or a chat's messages overtake each other.
            max_connections: 1,
          }),
        )
        this.board.set('connected')
        return
      } catch (error) {
        if (signal.aborted || this.#isFatal(error)) return
        await this.#waitAfter(error, ++failures, signal)
      }
    }
  }

  #isFatal(error: unknown): boolean {
    if (!(error instanceof GrammyError) || (error.error_code !== 401 && error.error_code !== 404))
      return false
    const detail =
      'Telegram does not know this token. Get a new one from @BotFather and run `rockpool channels add telegram`.'
    this.board.set('failed', { lastError: describeFailure(error), needs: { kind: 'token', detail } })
    return true
  }

  async #waitAfter(error: unknown, failures: number, signal: AbortSignal): Promise<void> {
    const reason =
      error instanceof GrammyError && error.error_code === 409
        ? 'Another program receives the messages of this bot. Stop it, or give it a bot of its own.'
        : describeFailure(error)
    this.host.log.warn(
      { event: 'telegram-unreachable', error: reason, failures },
      'Telegram is not reachable; retrying.',
    )
    this.board.set('reconnecting', { lastError: reason })
    await pause(this.host.clock, retryAfterMs(error) ?? backOffMs(failures), signal)
  }
}

/** grammY asks for the signal type of an older polyfill; Node's own does what it needs. */
type GrammySignal = Parameters<Api['getMe']>[0]
function grammySignal(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal
}

function chatOf(update: Update): number {
  const from = update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post
  return (from ?? update.callback_query?.message ?? update.message_reaction)?.chat.id ?? 0
}
