// The status of a channel and its subscribers. Every channel holds one.
import type { ChannelState, ChannelStatus } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { errorText } from '../domain/errors.ts'

type Details = Partial<Pick<ChannelStatus, 'identity' | 'lastError' | 'needs'>>

export class StatusBoard {
  #status: ChannelStatus
  #clock: Clock
  #listeners = new Set<(status: ChannelStatus) => void>()

  constructor(channel: string, accountId: string, clock: Clock) {
    this.#clock = clock
    this.#status = { channel, accountId, state: 'stopped', since: clock.now() }
  }

  get current(): ChannelStatus {
    return this.#status
  }

  /** `needs` and `lastError` last as long as the state that they explain; the identity stays known. */
  set(state: ChannelState, details: Details = {}): void {
    const { channel, accountId, identity, since } = this.#status
    const changed = state !== this.#status.state
    this.#status = {
      channel,
      accountId,
      state,
      since: changed ? this.#clock.now() : since,
      ...(identity ? { identity } : {}),
      ...details,
    }
    for (const listener of this.#listeners) listener(this.#status)
  }

  /** What keeps a channel from starting is its status, too. */
  async starting(begin: () => Promise<void>): Promise<void> {
    this.set('starting')
    try {
      await begin()
    } catch (error) {
      this.set('failed', { lastError: errorText(error) })
      throw error
    }
  }

  on(listener: (status: ChannelStatus) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }
}
