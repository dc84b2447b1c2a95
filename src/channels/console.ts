// A terminal as a channel: each line is a message, replies are printed. For trying things out, and for scripts.
import { createInterface, type Interface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import type { Address } from '../domain/address.ts'
import type { Channel, ChannelAbilities, ChannelHost, SendOptions, SendOutcome } from '../domain/channel.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { printableText } from '../domain/text.ts'
import { BaseChannel, type Accept } from './base-channel.ts'
import { resentMark } from './message-parts.ts'

interface ConsoleOptions {
  input: Readable
  output: Writable
  /** The name of the user on this machine. */
  user: string
}

export class ConsoleChannel extends BaseChannel implements Channel {
  readonly abilities: ChannelAbilities = {
    maxTextLength: 100_000,
    formatting: 'plain',
  }

  #options: ConsoleOptions
  #lines: Interface | undefined
  #accepting: Promise<unknown> = Promise.resolve()
  #sent = 0

  constructor(options: ConsoleOptions, host: ChannelHost) {
    super('console', 'default', host)
    this.#options = options
  }

  async start(accept: Accept): Promise<void> {
    // Ids of another run must never look like repeats of this one.
    const run = this.host.clock.now().toString(36)
    let line = 0
    this.#lines = createInterface({ input: this.#options.input, terminal: false })
    this.#lines.on('line', (text) => {
      if (text.trim() === '') return
      const message = this.#messageOf(`${run}-${++line}`, text)
      this.#accepting = this.#accepting
        .then(() => accept(message))
        // No platform would send the line again, so the person must know.
        .catch((error: unknown) =>
          this.#options.output.write(`The message was not accepted: ${printableText(errorText(error))}\n`),
        )
    })
    const { user } = this.#options
    this.setStatus('connected', { identity: { id: user, name: user } })
  }

  async stop(): Promise<void> {
    this.#lines?.close()
    await this.#accepting
    this.setStatus('stopped')
  }

  async send(_address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const lines = reply.text ? [reply.text] : []
    try {
      for (const path of reply.media ?? [])
        lines.push(`[file: ${(await this.host.media.outgoing(path)).path}]`)
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
      sentAt: this.host.clock.now(),
      mentioned: true,
      media: [],
    }
  }
}
