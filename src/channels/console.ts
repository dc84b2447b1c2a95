// A terminal as a channel: each line is a message, replies are printed. For trying things out, and for scripts.
import { createInterface } from 'node:readline'
import type { Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Address } from '../domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelHost,
  ChannelStatus,
  SendOptions,
  SendOutcome,
} from '../domain/channel.ts'
import { RockpoolError, errorText } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import { printableText } from '../domain/text.ts'
import type { Reply } from '../domain/reply.ts'
import { resentMark } from './message-parts.ts'
import { StatusBoard } from './channel-status.ts'

export interface ConsoleOptions {
  input: Readable
  output: Writable
  /** Who sits there: the name of the user on this machine. */
  user: string
}

export class ConsoleChannel implements Channel {
  readonly name = 'console'
  readonly accountId = 'default'
  readonly abilities: ChannelAbilities = {
    maxTextLength: 100_000,
    edits: false,
    buttons: false,
    threads: false,
    typing: false,
    media: true,
    idempotentSend: false,
    formatting: 'plain',
  }

  #options: ConsoleOptions
  #host: ChannelHost
  #status: StatusBoard
  #lines: Interface | undefined
  #accepting: Promise<void> = Promise.resolve()
  #sent = 0

  constructor(options: ConsoleOptions, host: ChannelHost) {
    this.#options = options
    this.#host = host
    this.#status = new StatusBoard(this.name, this.accountId, host.clock)
  }

  async start(accept: (message: Message) => Promise<void>): Promise<void> {
    // Ids of another run must never be taken for repeats of this one.
    const run = this.#host.clock.now().toString(36)
    let line = 0
    this.#lines = createInterface({ input: this.#options.input, terminal: false })
    this.#lines.on('line', (text) => {
      if (text.trim() === '') return
      const message = this.#messageOf(`${run}-${++line}`, text)
      this.#accepting = this.#accepting
        .then(() => accept(message))
        .catch((error: unknown) => this.#report(error))
    })
    this.#status.set('connected', { identity: { id: this.#options.user, name: this.#options.user } })
  }

  async stop(): Promise<void> {
    this.#lines?.close()
    await this.#accepting
    this.#status.set('stopped')
  }

  status(): ChannelStatus {
    return this.#status.current
  }

  onStatus(listener: (status: ChannelStatus) => void): () => void {
    return this.#status.on(listener)
  }

  async send(_address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const lines = reply.text ? [reply.text] : []
    try {
      for (const path of reply.media ?? [])
        lines.push(`[file: ${(await this.#host.media.outgoing(path)).path}]`)
    } catch (error) {
      if (error instanceof RockpoolError) return { kind: 'refused', reason: error.message }
      throw error
    }
    for (const row of reply.buttons ?? []) lines.push(row.map((button) => `[${button.label}]`).join(' '))
    if (options.resent) lines.unshift(resentMark)
    this.#options.output.write(`${printableText(lines.join('\n'))}\n`)
    return { kind: 'sent', messageIds: [`out-${++this.#sent}`] }
  }

  #messageOf(id: string, text: string): Message {
    const { user } = this.#options
    return {
      id,
      event: 'message',
      address: { channel: this.name, accountId: this.accountId, to: user },
      chatType: 'direct',
      sender: { id: user, name: user },
      text,
      sentAt: this.#host.clock.now(),
      mentioned: true,
      media: [],
    }
  }

  /** There is no platform that would offer the line again, so the person must know. */
  #report(error: unknown): void {
    const reason = errorText(error)
    this.#options.output.write(`That was not taken: ${printableText(reason)}\n`)
  }
}
