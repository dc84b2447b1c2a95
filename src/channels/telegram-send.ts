// Sends replies to Telegram: formatting, limits, files, buttons, and the outcome of each attempt.
import { GrammyError, HttpError, InputFile, type Api } from 'grammy'
import type { InlineKeyboardMarkup, ReplyParameters } from 'grammy/types'
import type { Address } from '../domain/address.ts'
import type { ChannelHost, OutgoingFile, SendOptions, SendOutcome } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Button, Reply } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'
import { toTelegramHtml, visibleText } from './formatting.ts'
import { networkCode, nothingWasSent } from './retry.ts'
import { marked, markLength, PartSender, type PartOutcome } from './message-parts.ts'
import { messageIdOf } from './telegram-messages.ts'

type Part = { text: string } | { file: OutgoingFile; asVoice: boolean }

interface Extras {
  message_thread_id?: number
  reply_parameters?: ReplyParameters
  reply_markup?: InlineKeyboardMarkup
}

/** What Telegram says about a message that it accepted; an edit keeps the time of its message. */
interface SentMessage {
  message_id: number
  date?: number
}

export class TelegramSender {
  #api: Api
  #host: ChannelHost
  #limit: number
  #parts = new PartSender()
  /** By chat: until when (monotonic) Telegram's rate limit holds. */
  #quietUntil = new Map<string, number>()

  constructor(api: Api, host: ChannelHost, limit: number) {
    this.#api = api
    this.#host = host
    this.#limit = limit
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const parts = () => this.#partsOf(reply)
    return this.#parts.send(address.to, options, parts, (part, place) => {
      const extras = extrasOf(address, reply, place.index === 0, place.isLast)
      return this.#sendPart(address.to, part, extras, options.resent && place.isFirstTried)
    })
  }

  async edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    const id = messageIdOf(messageId)
    const text = reply.text ?? ''
    if (id === undefined) return { kind: 'refused', reason: `${messageId} is not a message on Telegram` }
    if (visibleText(toTelegramHtml(text)).length > this.#limit)
      return { kind: 'refused', reason: `the text is over Telegram's limit of ${this.#limit} characters` }
    const markup = keyboardOf(reply.buttons)
    const outcome = await this.#try(address.to, async () => {
      await withPlainFallback(text, (body, mode) =>
        this.#api.editMessageText(address.to, id, body, { ...mode, reply_markup: markup }),
      )
      return { message_id: id }
    })
    return outcome.kind === 'sent' ? { kind: 'sent', messageIds: [messageId] } : outcome
  }

  async #partsOf(reply: Reply): Promise<Part[]> {
    const parts: Part[] = []
    if (reply.text?.trim()) parts.push(...this.#textParts(reply.text))
    for (const path of reply.media ?? []) {
      const file = await this.#host.media.outgoing(path)
      parts.push({ file, asVoice: reply.audioAsVoice === true && file.kind === 'audio' })
    }
    return parts
  }

  /** The limit applies to the visible text, and tables grow when they are drawn. */
  #textParts(text: string): Part[] {
    for (let limit = this.#limit; ; limit = Math.floor(limit / 2)) {
      const pieces = splitText(text, limit - markLength)
      const fits = pieces.every((piece) => visibleText(toTelegramHtml(piece)).length <= this.#limit)
      if (fits || limit < 256) return pieces.map((piece) => ({ text: piece }))
    }
  }

  #sendPart(chat: string, part: Part, extras: Extras, resent: boolean): Promise<PartOutcome> {
    return this.#try(chat, async () => {
      if ('file' in part)
        return this.#sendFile(chat, part.file, part.asVoice, {
          ...extras,
          caption: marked('', resent) || undefined,
        })
      return withPlainFallback(marked(part.text, resent), (body, mode) =>
        this.#api.sendMessage(chat, body, { ...mode, ...extras }),
      )
    })
  }

  #sendFile(
    chat: string,
    file: OutgoingFile,
    asVoice: boolean,
    extras: Extras & { caption?: string },
  ): Promise<SentMessage> {
    const input = new InputFile(file.path, file.name)
    // Telegram accepts photos up to 10 MB; larger ones are sent as files.
    if (file.kind === 'image' && file.bytes <= 10_000_000) return this.#api.sendPhoto(chat, input, extras)
    if (asVoice) return this.#api.sendVoice(chat, input, extras)
    if (file.kind === 'audio') return this.#api.sendAudio(chat, input, extras)
    if (file.kind === 'video') return this.#api.sendVideo(chat, input, extras)
    return this.#api.sendDocument(chat, input, extras)
  }

  async #try(chat: string, call: () => Promise<SentMessage>): Promise<PartOutcome> {
    const quietMs = (this.#quietUntil.get(chat) ?? 0) - this.#host.clock.monotonic()
    if (quietMs > 0) return { kind: 'retry', reason: 'Telegram asked us to wait', retryAfterMs: quietMs }
    this.#quietUntil.delete(chat)
    try {
      const { message_id: id, date } = await call()
      return { kind: 'sent', messageId: String(id), sentAt: date === undefined ? undefined : date * 1_000 }
    } catch (error) {
      const waitMs = retryAfterMs(error)
      if (waitMs !== undefined) this.#quietUntil.set(chat, this.#host.clock.monotonic() + waitMs)
      return outcomeOf(error)
    }
  }
}

function extrasOf(address: Address, reply: Reply, first: boolean, last: boolean): Extras {
  const answered = first && reply.replyToId ? messageIdOf(reply.replyToId) : undefined
  return {
    message_thread_id: address.threadId ? Number(address.threadId) : undefined,
    // If the message was deleted meanwhile, the answer is still sent.
    reply_parameters:
      answered === undefined ? undefined : { message_id: answered, allow_sending_without_reply: true },
    reply_markup: last ? keyboardOf(reply.buttons) : undefined,
  }
}

function keyboardOf(buttons: Button[][] | undefined): InlineKeyboardMarkup | undefined {
  if (!buttons || buttons.length === 0) return undefined
  const inline_keyboard = buttons.map((row) =>
    row.map((button) => ({ text: button.label, callback_data: button.data })),
  )
  return { inline_keyboard }
}

/** If Telegram cannot parse our formatting, the text is sent without it. */
async function withPlainFallback<T>(
  text: string,
  call: (body: string, mode: { parse_mode?: 'HTML' }) => Promise<T>,
): Promise<T> {
  try {
    return await call(toTelegramHtml(text), { parse_mode: 'HTML' })
  } catch (error) {
    if (error instanceof GrammyError && /can't parse entities/i.test(error.description)) return call(text, {})
    throw error
  }
}

function outcomeOf(error: unknown): PartOutcome {
  const reason = describeFailure(error)
  if (error instanceof GrammyError) {
    if (/message is not modified/i.test(error.description)) return { kind: 'sent', messageId: '' }
    if (error.error_code === 429) return { kind: 'retry', reason, retryAfterMs: retryAfterMs(error) }
    // Telegram failed after it read the message, so the message may have been sent.
    return error.error_code >= 500 ? { kind: 'unknown', reason } : { kind: 'refused', reason }
  }
  if (error instanceof HttpError)
    return nothingWasSent(error.error) ? { kind: 'retry', reason } : { kind: 'unknown', reason }
  return { kind: 'refused', reason }
}

export function retryAfterMs(error: unknown): number | undefined {
  const seconds = error instanceof GrammyError ? error.parameters.retry_after : undefined
  return seconds === undefined ? undefined : seconds * 1_000
}

/** What went wrong. Never contains the text of a network error: it may quote the request's URL, which has the token. */
export function describeFailure(error: unknown): string {
  if (error instanceof GrammyError) return `Telegram said ${error.error_code}: ${error.description}`
  if (error instanceof HttpError) {
    const code = networkCode(error.error)
    return `Telegram could not be reached${code && ` (${code})`}`
  }
  if (error instanceof RockpoolError) return error.message
  return error instanceof Error ? error.name : 'unknown failure'
}
