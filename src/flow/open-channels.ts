// The channels of this process. Accounts can be added and removed while it runs. If another process receives from an account,
// this one stands by and takes over when that process ends.
import type { Channel } from '../domain/channel.ts'
import { asRockpoolError } from '../domain/errors.ts'
import { StoreUnavailable } from '../store/store-unavailable.ts'
import type { Converse } from './converse.ts'
import type { FlowParts } from './flow-parts.ts'

/** How often a process that stands by tries to take over a channel. */
const standByMs = 2_000

export class OpenChannels {
  #channels: Channel[]
  #converse: Pick<Converse, 'accept' | 'deliverer'>
  #parts: FlowParts
  /** Channels that another process receives from, each with the function that cancels the next try. */
  #waiting = new Map<Channel, () => void>()

  constructor(channels: Channel[], converse: Pick<Converse, 'accept' | 'deliverer'>, parts: FlowParts) {
    this.#channels = channels
    this.#converse = converse
    this.#parts = parts
  }

  async openAll(): Promise<void> {
    for (const channel of this.#channels) await this.#open(channel)
  }

  async closeAll(): Promise<void> {
    await Promise.all(this.#channels.map((channel) => this.#close(channel)))
  }

  /** Closes the account and opens it with the current configuration. False if there is no such account. */
  async reopen(name: string, accountId: string): Promise<boolean> {
    await this.remove(name, accountId)
    const channel = await this.#parts.makeChannel?.(name, accountId)
    if (!channel) return false
    await this.add(channel)
    return true
  }

  async add(channel: Channel): Promise<void> {
    this.#channels.push(channel)
    await this.#open(channel)
    await this.announceReach()
  }

  async remove(name: string, accountId: string): Promise<void> {
    const at = this.#channels.findIndex((one) => one.name === name && one.accountId === accountId)
    const [channel] = at < 0 ? [] : this.#channels.splice(at, 1)
    if (channel) await this.#close(channel)
    await this.announceReach()
  }

  /** Announces which accounts this process can send through: not those that only another process is connected to. */
  async announceReach(): Promise<void> {
    const sending = this.#channels.filter(
      (channel) => channel.abilities.sendsUnconnected || !this.#waiting.has(channel),
    )
    await this.#parts.work.share?.setReach(sending.map(({ name, accountId }) => `${name}|${accountId}`))
  }

  standByAll(): void {
    for (const channel of this.#channels) this.#standBy(channel)
  }

  stopStandingBy(): void {
    for (const giveUp of this.#waiting.values()) giveUp()
  }

  /** Another process receives; this one takes over when that one ends. */
  #standBy(channel: Channel): void {
    this.#waiting.get(channel)?.()
    const giveUp = this.#parts.clock.after(standByMs, () => {
      this.#waiting.delete(channel)
      if (this.#channels.includes(channel)) void this.#takeOver(channel)
    })
    this.#waiting.set(channel, giveUp)
  }

  async #takeOver(channel: Channel): Promise<void> {
    await this.#open(channel)
    await this.announceReach().catch((error: unknown) =>
      this.#parts.log.warn(
        { event: 'reach-not-announced', error: String(error) },
        'Could not announce to other machines which accounts this one can send through; retrying in a moment.',
      ),
    )
  }

  async #open(channel: Channel): Promise<void> {
    channel.onStatus((status) => {
      this.#parts.events.emit({ type: 'channel-status', status })
      if (status.state === 'connected') this.#converse.deliverer.retryNow()
    })
    try {
      await channel.start((message) => this.#converse.accept(message))
    } catch (error) {
      const mayTakeOverLater = error instanceof StoreUnavailable || asRockpoolError(error).code === 'locked'
      if (this.#parts.work.share && mayTakeOverLater) return this.#standBy(channel)
      // A channel that cannot start must not stop the others; its status tells why.
      this.#parts.log.error(
        {
          event: 'channel-start-failed',
          channel: channel.name,
          account: channel.accountId,
          error: String(error),
        },
        'Could not start a channel; it stays off until the next start or a change of its settings.',
      )
    }
  }

  async #close(channel: Channel): Promise<void> {
    await channel
      .stop()
      .catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'channel-stop-failed', channel: channel.name, error: String(error) },
          'A channel did not stop cleanly; continuing without it.',
        ),
      )
  }
}
