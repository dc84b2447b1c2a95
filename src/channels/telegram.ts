// Telegram, with grammY's client. We poll ourselves: an update is confirmed to Telegram only after it is durable, and only
// one process on the machine polls for a bot.
import { Api, GrammyError } from 'grammy'
import type { UserFromGetMe } from 'grammy/types'
import type { Address } from '../domain/address.ts'
import type { ChannelAbilities, ChannelHost } from '../domain/channel.ts'
import type { TelegramWebhook } from '../domain/config/channel-settings.ts'
import type { Message } from '../domain/message.ts'
import { backOffMs, pause } from './retry.ts'
import { markLength } from './message-parts.ts'
import { PlatformChannel, holdOfBot, type Accept } from './base-channel.ts'
import { TelegramIntake } from './telegram-intake.ts'
import { describeFailure, retryAfterMs, TelegramSender } from './telegram-send.ts'
import { pressIdOf, wantedUpdates } from './telegram-messages.ts'
import { listenForUpdates, refuseBlankSecret } from './telegram-webhook.ts'

interface TelegramOptions {
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
    typing: true,
    sendsUnconnected: true,
    formatting: 'html',
  }

  #options: TelegramOptions
  #api: Api
  #fileUrl: (filePath: string) => string
  protected readonly sender: TelegramSender
  protected readonly describe = describeFailure
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
    this.sender = new TelegramSender(this.#api, host, textLimit)
  }

  protected async begin(accept: Accept): Promise<void> {
    const { webhook } = this.#options
    if (webhook) refuseBlankSecret(webhook)
    const { name, among } = holdOfBot('telegram', this.#options.token)
    this.#release = await this.host.hold(name, among)
    this.#stopping = new AbortController()
    const intake = new TelegramIntake({
      api: this.#api,
      accountId: this.accountId,
      fileUrl: this.#fileUrl,
      host: this.host,
      accept,
      signal: this.#stopping.signal,
    })
    const run = webhook ? await this.#listen(webhook, intake) : () => this.#poll(intake)
    this.#running = run().catch((error: unknown) => {
      this.host.log.error(
        { event: 'telegram-stopped', error: describeFailure(error) },
        'Telegram stopped after an error; no messages arrive until the channel is started again.',
      )
      this.setStatus('failed', { lastError: describeFailure(error) })
    })
  }

  async stop(): Promise<void> {
    this.#stopping.abort()
    await this.#running
    await this.#release()
    this.#release = async () => {}
    this.setStatus('stopped')
  }

  protected showTyping(address: Address): Promise<unknown> {
    const thread = address.threadId ? { message_thread_id: Number(address.threadId) } : {}
    return this.#api.sendChatAction(address.to, 'typing', thread)
  }

  async acknowledgeButton(message: Message, text?: string): Promise<void> {
    const pressId = pressIdOf(message.id)
    if (!pressId) return
    // Telegram drops a press after a while; then there is nothing left to acknowledge.
    await this.optional('Could not acknowledge a button press.', () =>
      this.#api.answerCallbackQuery(pressId, text ? { text: text.slice(0, 200) } : {}),
    )
  }

  async #poll(intake: TelegramIntake): Promise<void> {
    const signal = this.#stopping.signal
    let offset: number | undefined
    let ready = false
    for (let failures = 0; !signal.aborted;) {
      try {
        if (!ready) await this.#introduce(() => this.#api.deleteWebhook({}, grammySignal(signal)))
        ready = true
        const updates = await this.#api.getUpdates(
          {
            offset,
            // The first poll returns at once, so that we know soon whether polling works.
            timeout: this.status().state === 'connected' ? (this.#options.pollSeconds ?? 25) : 0,
            allowed_updates: wantedUpdates,
          },
          grammySignal(signal),
        )
        if (this.status().state !== 'connected') this.setStatus('connected')
        const next = await intake.takeAll(updates, this.#bot!)
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
    await this.#registerCommands()
    const identity = { id: String(this.#bot.id), name: `@${this.#bot.username}` }
    this.setStatus(this.status().state, { identity })
  }

  /** For the menu beside the text field; typed commands work without it. */
  async #registerCommands(): Promise<void> {
    const commands = this.host.commands.map(({ name, description }) => ({ command: name, description }))
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

  /** Confirms the last updates, so that Telegram does not send them again after a clean stop. */
  async #confirm(offset: number | undefined): Promise<void> {
    if (offset === undefined) return
    try {
      await this.#api.getUpdates({ offset, timeout: 0, limit: 1 }, grammySignal(AbortSignal.timeout(2_000)))
    } catch (error) {
      // The inbox ignores what it already has.
      this.host.log.debug(
        { event: 'telegram-confirm-failed', error: describeFailure(error) },
        'Could not confirm the last updates; Telegram will send them again.',
      )
    }
  }

  async #listen(webhook: TelegramWebhook, intake: TelegramIntake): Promise<() => Promise<void>> {
    const signal = this.#stopping.signal
    const server = await listenForUpdates(webhook, this.host.log, async (update) => {
      if (!this.#bot) throw new Error('not ready')
      await intake.take(update, this.#bot)
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
            // One at a time, or the messages of a chat would overtake each other.
            max_connections: 1,
          }),
        )
        this.setStatus('connected')
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
    this.setStatus('failed', { lastError: describeFailure(error), needs: { kind: 'token', detail } })
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
    this.setStatus('reconnecting', { lastError: reason })
    await pause(this.host.clock, retryAfterMs(error) ?? backOffMs(failures), signal)
  }
}

/** grammY declares the signal type of an older polyfill; Node's own works. */
type GrammySignal = Parameters<Api['getMe']>[0]
function grammySignal(signal: AbortSignal): GrammySignal {
  return signal as unknown as GrammySignal
}
