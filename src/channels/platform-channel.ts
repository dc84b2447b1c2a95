// What the channels of all platforms do alike: they have a status that people can follow, and a sender of their own.
import type { Address } from '../domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelHost,
  ChannelStatus,
  SendOptions,
  SendOutcome,
} from '../domain/channel.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'
import { StatusBoard } from './channel-status.ts'

export type Accept = (message: Message) => Promise<void>

/** Turns a reply into messages of the platform. */
export interface Sender {
  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome>
  edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome>
}

export abstract class PlatformChannel implements Channel {
  readonly name: string
  readonly accountId: string
  abstract readonly abilities: ChannelAbilities
  protected readonly host: ChannelHost
  protected readonly board: StatusBoard

  constructor(name: string, accountId: string, host: ChannelHost) {
    this.name = name
    this.accountId = accountId
    this.host = host
    this.board = new StatusBoard(name, accountId, host.clock)
  }

  protected abstract sender(): Sender
  protected abstract begin(accept: Accept): Promise<void>
  protected abstract showTyping(address: Address): Promise<unknown>
  /** What went wrong, in words that hold no secret. */
  protected abstract describe(error: unknown): string
  abstract stop(): Promise<void>

  start(accept: Accept): Promise<void> {
    return this.board.starting(() => this.begin(accept))
  }

  status(): ChannelStatus {
    return this.board.current
  }

  onStatus(listener: (status: ChannelStatus) => void): () => void {
    return this.board.on(listener)
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    return this.sender().send(address, reply, options)
  }

  edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    return this.sender().edit(address, messageId, reply)
  }

  /** Sends "is typing…". A failure is only logged. */
  typing(address: Address): Promise<void> {
    return this.unimportant('typing was not shown', () => this.showTyping(address))
  }

  /** Runs an optional step; a failure is logged at debug level and ignored. */
  protected async unimportant(complaint: string, work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.host.log.debug({ event: 'optional-step-failed', error: this.describe(error) }, complaint)
    }
  }
}
