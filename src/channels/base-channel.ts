// The common parts of channels: `BaseChannel` has a status that others can follow; `PlatformChannel` adds a sender and
// the right to receive for an account.
import { createHash } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import type {
  Channel,
  ChannelAbilities,
  ChannelHost,
  ChannelState,
  ChannelStatus,
  SecretStore,
  SendOptions,
  SendOutcome,
} from '../domain/channel.ts'
import { errorText } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { Reply } from '../domain/reply.ts'

type StatusDetails = Partial<Pick<ChannelStatus, 'identity' | 'lastError' | 'needs'>>

export abstract class BaseChannel {
  readonly name: string
  readonly accountId: string
  protected readonly host: ChannelHost
  #status: ChannelStatus
  #listeners = new Set<(status: ChannelStatus) => void>()

  constructor(name: string, accountId: string, host: ChannelHost) {
    this.name = name
    this.accountId = accountId
    this.host = host
    this.#status = { channel: name, accountId, state: 'stopped', since: host.clock.now() }
  }

  status(): ChannelStatus {
    return this.#status
  }

  onStatus(listener: (status: ChannelStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** `needs` and `lastError` belong to one state; the identity stays known. */
  protected setStatus(state: ChannelState, details: StatusDetails = {}): void {
    const { channel, accountId, identity, since, state: before } = this.#status
    const changedAt = state === before ? since : this.host.clock.now()
    this.#status = { channel, accountId, state, since: changedAt, identity, ...details }
    for (const listener of this.#listeners) listener(this.#status)
  }
}

/** Takes over a message. Resolves when it is durable. */
export type Accept = (message: Message) => Promise<void>

/** The dependencies of the intake of every platform. */
export interface IntakeParts {
  accept: Accept
  host: ChannelHost
  /** Fires when the channel stops. */
  signal: AbortSignal
}

/** Turns a reply into messages of the platform. */
interface Sender {
  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome>
  edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome>
}

export abstract class PlatformChannel extends BaseChannel implements Channel {
  abstract readonly abilities: ChannelAbilities

  protected abstract readonly sender: Sender
  protected abstract begin(accept: Accept): Promise<void>
  protected abstract showTyping(address: Address): Promise<unknown>
  /** The error in words, without secrets. */
  protected abstract readonly describe: (error: unknown) => string
  abstract stop(): Promise<void>

  async start(accept: Accept): Promise<void> {
    this.setStatus('starting')
    try {
      await this.begin(accept)
    } catch (error) {
      this.setStatus('failed', { lastError: errorText(error) })
      throw error
    }
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    return this.sender.send(address, reply, options)
  }

  edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    return this.sender.edit(address, messageId, reply)
  }

  /** Sends "is typing…". */
  typing(address: Address): Promise<void> {
    return this.optional('Could not show the typing indicator.', () => this.showTyping(address))
  }

  /** Runs a step that may fail: a failure is logged at debug level and ignored. */
  protected async optional(failure: string, step: () => Promise<unknown>): Promise<void> {
    try {
      await step()
    } catch (error) {
      this.host.log.debug({ event: 'optional-step-failed', error: this.describe(error) }, failure)
    }
  }
}

/** The resources of a channel while it receives: the exclusive right to do so, and state that must survive a restart. */
export interface Receiving {
  store: SecretStore
  stopping: AbortController
  release: () => Promise<void>
}

/** Rejects with `locked` while another process receives from this account. */
export async function beginReceiving(
  host: ChannelHost,
  hold: { name: string; among: 'machine' | 'state' },
  account: string,
): Promise<Receiving> {
  const release = await host.hold(hold.name, hold.among)
  return { store: host.secrets(account), stopping: new AbortController(), release }
}

/** Call it when the connection is closed. */
export async function endReceiving(
  { store, release }: Receiving,
  finish: () => Promise<void>,
): Promise<void> {
  await finish()
  await store.close()
  await release()
}

/** Identifies a bot by its token: only one process of a machine may receive with it. */
export function holdOfBot(channel: string, token: string): { name: string; among: 'machine' } {
  const hash = createHash('sha256').update(token).digest('hex')
  return { name: `${channel}-${hash.slice(0, 16)}`, among: 'machine' }
}
