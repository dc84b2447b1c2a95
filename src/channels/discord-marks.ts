// The last message of each of Discord's channels that is durable here: Discord does not keep it for us. That a channel
// exists is written before its first message is taken; how far we are in it a moment later, because what a crash forgets
// is read again, and the inbox knows it.
import type { SecretStore } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'

const key = 'seen-marks'
const writeAfterMs = 1_000
const maxChannels = 500
/** Where Discord's ids begin to count milliseconds. */
const epochMs = 1_420_070_400_000

interface Kept {
  /** When we were first there: nothing older is ours. */
  since: string
  channels: Array<[channelId: string, messageId: string]>
}

export class DiscordMarks {
  #store: SecretStore
  #clock: Clock
  #since: string
  #marks: Map<string, string>
  #cancel: (() => void) | undefined

  /** The first time it is now that we begin to see. */
  static async open(store: SecretStore, clock: Clock): Promise<DiscordMarks> {
    const text = store.get(key)
    const now = String(BigInt(clock.now() - epochMs) << 22n)
    const kept = text === undefined ? { since: now, channels: [] } : (JSON.parse(text) as Kept)
    const marks = new DiscordMarks(store, clock, kept)
    if (text === undefined) await marks.flush()
    return marks
  }

  private constructor(store: SecretStore, clock: Clock, kept: Kept) {
    this.#store = store
    this.#clock = clock
    this.#since = kept.since
    this.#marks = new Map(kept.channels)
  }

  channels(): string[] {
    return [...this.#marks.keys()]
  }

  get(channelId: string): string | undefined {
    return this.#marks.get(channelId)
  }

  /** The last of all: in a channel that we do not know, what came before it was not for us to see. */
  newest(): string {
    return [...this.#marks.values()].reduce((last, id) => (isLater(last, id) ? id : last), this.#since)
  }

  /** From now on this channel is read after every gap, beginning before this message. Durable when it resolves. */
  async meet(channelId: string, messageId: string): Promise<void> {
    if (this.#marks.has(channelId)) return
    this.#set(channelId, String(BigInt(messageId) - 1n))
    await this.flush()
  }

  mark(channelId: string, messageId: string): void {
    const before = this.#marks.get(channelId)
    this.#set(channelId, before !== undefined && !isLater(before, messageId) ? before : messageId)
    this.#cancel ??= this.#clock.after(writeAfterMs, () => {
      // What could not be written is read again after a crash, and the next write has it.
      this.flush().catch(() => {})
    })
  }

  async flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    const kept: Kept = { since: this.#since, channels: [...this.#marks] }
    await this.#store.set({ [key]: JSON.stringify(kept) })
  }

  /** The most recent channel is the last. */
  #set(channelId: string, messageId: string): void {
    this.#marks.delete(channelId)
    this.#marks.set(channelId, messageId)
    const [oldest] = this.#marks.keys()
    if (this.#marks.size > maxChannels && oldest !== undefined) this.#marks.delete(oldest)
  }
}

export function isLater(before: string, id: string): boolean {
  return BigInt(id) > BigInt(before)
}
