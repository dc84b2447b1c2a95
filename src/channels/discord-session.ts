// Where we are in what Discord's gateway tells. Discord keeps a session for some minutes after we are gone and replays what
// came since a number that we name. That number is on disk here only up to what is durable, so that after a crash also
// edits, reactions and presses come again, which cannot be read from a channel's history. What comes twice, the inbox knows.
import type { SessionInfo } from '@discordjs/ws'
import type { SecretStore } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'

/** Who we are; Discord says it only at the beginning of a session. */
export interface BotSelf {
  id: string
  name: string
  applicationId: string
}

interface Kept {
  /** Whose session it is: another token begins another. */
  bot: string
  self: BotSelf
  info: SessionInfo
}

interface Current {
  info: SessionInfo
  /** The last event received, and the events that are not durable yet, oldest first. */
  last: number
  open: Set<number>
  /** What came before this session is here, too; until then a crash must begin with reading it. */
  isWhole: boolean
}

const key = 'gateway-session'
const writeAfterMs = 1_000

export class DiscordSession {
  #store: SecretStore
  #clock: Clock
  #bot: string
  #self: BotSelf | undefined
  #current: Current | undefined
  #cancel: (() => void) | undefined

  constructor(store: SecretStore, clock: Clock, bot: string) {
    this.#store = store
    this.#clock = clock
    this.#bot = bot
    const text = store.get(key)
    const kept = text === undefined ? undefined : (JSON.parse(text) as Kept)
    if (kept?.bot !== bot) return
    this.#self = kept.self
    this.#current = { info: kept.info, last: kept.info.sequence, open: new Set(), isWhole: true }
  }

  get self(): BotSelf | undefined {
    return this.#self
  }

  /** For the library: the session up to the last event received. */
  get info(): SessionInfo | null {
    return this.#current?.info ?? null
  }

  update(info: SessionInfo | null): void {
    if (info && info.sessionId === this.#current?.info.sessionId) this.#current.info = info
    else this.#current = info ? { info, last: info.sequence, open: new Set(), isWhole: false } : undefined
  }

  /** A session has begun; it is worth keeping when what came before it has been read. */
  begun(self: BotSelf, beforeIsRead: Promise<void>): void {
    this.#self = self
    const current = this.#current
    const keep = (): void => {
      if (current) current.isWhole = true
      this.#writeSoon()
    }
    // Not read because the process is stopping: the next process starts a new Discord session.
    beforeIsRead.then(keep, () => {})
  }

  /** An event was received; it stays pending until it is durable. */
  follow(sequence: number, taken: Promise<void>): void {
    const current = this.#current
    if (!current) return
    current.last = Math.max(current.last, sequence)
    current.open.add(sequence)
    const close = (): void => {
      current.open.delete(sequence)
      this.#writeSoon()
    }
    // Not stored because the process is stopping: Discord replays it.
    taken.then(close, () => {})
  }

  async flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    await this.#store.set({ [key]: this.#kept() })
  }

  #writeSoon(): void {
    this.#cancel ??= this.#clock.after(writeAfterMs, () => {
      // After a crash Discord replays what could not be written; without one, the next write includes it.
      this.flush().catch(() => {})
    })
  }

  #kept(): string | undefined {
    const current = this.#current
    if (!current?.isWhole || !this.#self) return undefined
    const [oldest] = current.open
    const sequence = oldest === undefined ? current.last : oldest - 1
    const kept: Kept = { bot: this.#bot, self: this.#self, info: { ...current.info, sequence } }
    return JSON.stringify(kept)
  }
}
