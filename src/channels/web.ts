// The chat page of the gateway as a channel. Text typed in a browser arrives here; replies go out to every open page.
// Replies are not lost while no page is open: the page reads the transcript when it opens.
import { createHash, randomUUID } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelHost,
  NotAccepted,
  SendOptions,
  SendOutcome,
  WebMessage,
  WebOutput,
} from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Message, Sender } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { BaseChannel } from './base-channel.ts'

/** An action of a person on the page. The gateway has authenticated the person. */
interface WebInput {
  /** The chat on the page; one for each person unless they open more. */
  chatId: string
  sender: Sender
  /** Made by the page, so that a repeated request is the same message. */
  messageId?: string
  text: string
  replyTo?: string
  /** The text of that message, as the page shows it. */
  replyText?: string
  media?: Message['media']
  button?: { data: string; messageId: string }
}

export class WebChannel extends BaseChannel implements Channel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: 100_000,
    edits: true,
    typing: true,
    idempotentSend: true,
    formatting: 'markdown',
  }

  #accept: ((message: Message) => Promise<NotAccepted | void>) | undefined
  #accepting = new Set<Promise<NotAccepted | void>>()
  #listeners = new Set<(output: WebOutput) => void>()

  constructor(host: ChannelHost, name = 'web') {
    super(name, 'default', host)
  }

  async start(accept: (message: Message) => Promise<NotAccepted | void>): Promise<void> {
    this.#accept = accept
    this.setStatus('connected')
  }

  async stop(): Promise<void> {
    this.#accept = undefined
    await Promise.allSettled(this.#accepting)
    this.setStatus('stopped')
  }

  /** Resolves when the message is durable. Rejects when it is refused, so that the page does not wait for an answer. */
  async receive(input: WebInput): Promise<Message> {
    if (!this.#accept) throw new RockpoolError('unavailable', 'The web chat is not running.')
    const message = messageOf(input, this.accountId, this.host.clock.now())
    const accepting = this.#accept(message)
    this.#accepting.add(accepting)
    try {
      const refused = await accepting
      if (refused) throw notAccepted(refused)
    } finally {
      this.#accepting.delete(accepting)
    }
    return message
  }

  onOutput(listener: (output: WebOutput) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  async send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    // The id is made from the key, so a page that gets the reply twice shows it once.
    const id = createHash('sha256').update(options.idempotencyKey).digest('hex').slice(0, 24)
    return this.#show('message', address, id, reply)
  }

  async edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    return this.#show('edit', address, messageId, reply)
  }

  async typing(address: Address): Promise<void> {
    this.#emit({ type: 'typing', address })
  }

  async acknowledgeButton(): Promise<void> {
    // The page does not wait for an acknowledgement.
  }

  async #show(type: 'message' | 'edit', address: Address, id: string, reply: Reply): Promise<SendOutcome> {
    const files: WebMessage['files'] = []
    try {
      for (const path of reply.media ?? []) files.push(await this.host.media.outgoing(path))
    } catch (error) {
      if (error instanceof RockpoolError) return { kind: 'refused', reason: error.message }
      throw error
    }
    const message: WebMessage = {
      id,
      text: reply.text ?? '',
      buttons: reply.buttons ?? [],
      files,
      isError: reply.isError === true,
      // A reply to a button press refers to the message with the button.
      replyTo: reply.replyToId?.replace(/#press-.*$/, ''),
    }
    this.#emit({ type, address, message })
    return { kind: 'sent', messageIds: [id] }
  }

  #emit(output: WebOutput): void {
    for (const listener of this.#listeners) listener(output)
  }
}

function notAccepted({ reason, waitMs }: NotAccepted): RockpoolError {
  if (waitMs === undefined) return new RockpoolError('forbidden', `The message was refused: ${reason}.`)
  const seconds = Math.max(1, Math.ceil(waitMs / 1_000))
  return new RockpoolError('rate-limited', 'Too many messages in a minute: this one was not accepted.', {
    hint: `Send it again in ${seconds} s. \`channels.ownerMessagesPerMinute\` sets the limit.`,
  })
}

function messageOf(input: WebInput, accountId: string, now: number): Message {
  const { chatId, sender, text, button, replyTo, replyText } = input
  const id = input.messageId ?? randomUUID()
  return {
    id: button ? `${button.messageId}#press-${id}` : id,
    event: button ? 'button' : 'message',
    address: { channel: 'web', accountId, to: chatId },
    chatType: 'direct',
    sender,
    text,
    sentAt: now,
    mentioned: true,
    media: input.media ?? [],
    button,
    replyTo: replyTo === undefined ? undefined : { id: replyTo, text: replyText || undefined },
  }
}

/** The terminals in which people talk to a session. They get output like pages, but cannot change a printed line. */
export class TerminalChannel extends WebChannel {
  override readonly abilities: ChannelAbilities = {
    maxTextLength: 100_000,
    idempotentSend: true,
    formatting: 'plain',
  }

  constructor(host: ChannelHost) {
    super(host, 'console')
  }
}
