// The last message of each chat that is durable here, for platforms that do not keep it for us. Written a moment
// later: what a crash forgets is read again, and the inbox knows it.
import type { SecretStore } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'

const key = 'seen'
const writeAfterMs = 1_000
const maxChats = 500

export class SeenMarks {
  #store: SecretStore
  #clock: Clock
  #marks: Map<string, string>
  #cancel: (() => void) | undefined

  constructor(store: SecretStore, clock: Clock) {
    this.#store = store
    this.#clock = clock
    this.#marks = new Map(JSON.parse(store.get(key) ?? '[]') as Array<[string, string]>)
  }

  /** Chats with their last message, the most recent chat last. */
  all(): Array<[chat: string, messageId: string]> {
    return [...this.#marks]
  }

  get(chat: string): string | undefined {
    return this.#marks.get(chat)
  }

  /** `isLater` says whether the second id comes after the first. */
  mark(chat: string, messageId: string, isLater: (before: string, id: string) => boolean): void {
    const before = this.#marks.get(chat)
    this.#marks.delete(chat)
    this.#marks.set(chat, before !== undefined && !isLater(before, messageId) ? before : messageId)
    const [oldest] = this.#marks.keys()
    if (this.#marks.size > maxChats && oldest !== undefined) this.#marks.delete(oldest)
    this.#cancel ??= this.#clock.after(writeAfterMs, () => void this.flush())
  }

  async flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.#store.set({ [key]: JSON.stringify(this.all()) })
  }
}
