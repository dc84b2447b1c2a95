// A channel whose platform is an array: for tests and benches of everything between the platform and Claude. It can
// lose answers, refuse, be slow, and write what it "sent" into a file that survives its process.
import { appendFileSync, existsSync, readFileSync } from 'node:fs'
import type { Address } from '../../src/domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelStatus,
  NotAccepted,
  SendOptions,
  SendOutcome,
} from '../../src/domain/channel.ts'
import type { Message } from '../../src/domain/message.ts'
import type { Reply } from '../../src/domain/reply.ts'

export interface SentReply extends SendOptions {
  address: Address
  reply: Reply
  id: string
}

export interface MemoryChannelOptions {
  name?: string
  accountId?: string
  abilities?: Partial<ChannelAbilities>
  /** What the platform answers; `undefined` means that it took the message. With `taken` the message was sent. */
  answer?: (
    address: Address,
    reply: Reply,
    options: SendOptions,
  ) => Promise<{ outcome: SendOutcome; taken: boolean } | undefined>
  /** Everything that was sent, one JSON line each. */
  file?: string
}

export class MemoryChannel implements Channel {
  readonly name: string
  readonly accountId: string
  readonly abilities: ChannelAbilities
  readonly sent: SentReply[] = []
  readonly edits: Array<{ messageId: string; text: string }> = []
  readonly typed: Address[] = []
  #options: MemoryChannelOptions
  #accept: ((message: Message) => Promise<NotAccepted | void>) | undefined
  #waiting: Array<{ count: number; resolve: () => void }> = []
  #nextId = 1

  constructor(options: MemoryChannelOptions = {}) {
    this.#options = options
    if (options.file) endHalfLine(options.file)
    this.name = options.name ?? 'memory'
    this.accountId = options.accountId ?? 'default'
    this.abilities = {
      maxTextLength: 4_096,
      typing: true,
      formatting: 'plain',
      ...options.abilities,
    }
  }

  async start(accept: (message: Message) => Promise<NotAccepted | void>): Promise<void> {
    this.#accept = accept
  }

  async stop(): Promise<void> {
    this.#accept = undefined
  }

  status(): ChannelStatus {
    return {
      channel: this.name,
      accountId: this.accountId,
      state: this.#accept ? 'connected' : 'stopped',
      since: 0,
    }
  }

  onStatus(): () => void {
    return () => {}
  }

  /** A person says something. Resolves when the message was accepted. */
  async say(text: string, over: Partial<Message> & { from?: string } = {}): Promise<Message> {
    const { from = '7', ...fields } = over
    const message: Message = {
      id: String(this.#nextId++),
      event: 'message',
      address: { channel: this.name, accountId: this.accountId, to: from },
      chatType: 'direct',
      sender: { id: from, name: `Person ${from}` },
      text,
      sentAt: Date.now(),
      mentioned: true,
      media: [],
      ...fields,
    }
    if (!this.#accept) throw new Error('the channel was not started')
    await this.#accept(message)
    return message
  }

  async send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const answer = await this.#options.answer?.(address, reply, options)
    if (!answer || answer.taken) this.#took(address, reply, options)
    return answer?.outcome ?? { kind: 'sent', messageIds: [this.sent.at(-1)!.id] }
  }

  async edit(_address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    this.edits.push({ messageId, text: reply.text ?? '' })
    return { kind: 'sent', messageIds: [messageId] }
  }

  async typing(address: Address): Promise<void> {
    this.typed.push(address)
  }

  get texts(): string[] {
    return this.sent.map((sent) => sent.reply.text ?? '')
  }

  /** Resolves when this many replies were sent. */
  async untilSent(count: number): Promise<void> {
    if (this.sent.length >= count) return
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#waiting.push({ count, resolve })
    await promise
  }

  #took(address: Address, reply: Reply, options: SendOptions): void {
    const sent = { address, reply, id: `out-${this.sent.length + 1}`, ...options }
    this.sent.push(sent)
    if (this.#options.file) appendFileSync(this.#options.file, `${JSON.stringify(sent)}\n`)
    for (const waiting of this.#waiting) if (this.sent.length >= waiting.count) waiting.resolve()
  }
}

/** A process that was killed while it wrote leaves half a line, which must not become one with the next. */
function endHalfLine(file: string): void {
  const last = existsSync(file) ? readFileSync(file, 'utf8').at(-1) : undefined
  if (last !== undefined && last !== '\n') appendFileSync(file, '\n')
}
