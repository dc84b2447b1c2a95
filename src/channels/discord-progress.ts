// How far we have read on Discord, kept across restarts. `DiscordSession` is the position in the gateway's stream of
// events; `DiscordMarks` is the last stored message of each channel. Both are written a second after a change: what a
// crash loses is read again, and the inbox ignores what it already has.
import type { SessionInfo } from '@discordjs/ws'
import type { SecretStore } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import { BoundedMap } from './bounded-map.ts'

const writeAfterMs = 1_000

abstract class SavedSoon<Saved> {
  #store: SecretStore
  #clock: Clock
  #key: string
  #cancel: (() => void) | undefined

  constructor(store: SecretStore, clock: Clock, key: string) {
    this.#store = store
    this.#clock = clock
    this.#key = key
  }

  /** Nothing removes what is stored. */
  protected abstract toSave(): Saved | undefined

  async flush(): Promise<void> {
    this.#cancel?.()
    this.#cancel = undefined
    const saved = this.toSave()
    await this.#store.set({ [this.#key]: saved && JSON.stringify(saved) })
  }

  protected saveSoon(): void {
    this.#cancel ??= this.#clock.after(writeAfterMs, () => {
      // A failed write is repaired by the next one, or by reading again after a crash.
      this.flush().catch(() => {})
    })
  }
}

function stored<Saved>(store: SecretStore, key: string): Saved | undefined {
  const text = store.get(key)
  return text === undefined ? undefined : (JSON.parse(text) as Saved)
}

/** Our identity; Discord sends it only at the start of a session. */
export interface BotSelf {
  id: string
  name: string
  applicationId: string
}

interface SavedSession {
  /** The bot that the session belongs to: another token starts another session. */
  bot: string
  self: BotSelf
  info: SessionInfo
}

interface Current {
  info: SessionInfo
  /** The last event received, and the events that are not durable yet, oldest first. */
  last: number
  pending: Set<number>
  /** Messages from before this session are stored, too. Until then a crash must start a new session and read them. */
  isCaughtUp: boolean
}

const sessionKey = 'gateway-session'

/**
 * Discord keeps a session for some minutes after a disconnect and replays every event after a sequence number. The stored
 * number never passes an event that is not durable, so a crash loses no edits, reactions and button presses, which
 * cannot be read from a channel's history.
 */
export class DiscordSession extends SavedSoon<SavedSession> {
  #bot: string
  #self: BotSelf | undefined
  #current: Current | undefined

  constructor(store: SecretStore, clock: Clock, bot: string) {
    super(store, clock, sessionKey)
    this.#bot = bot
    const saved = stored<SavedSession>(store, sessionKey)
    if (saved?.bot !== bot) return
    this.#self = saved.self
    this.#current = { info: saved.info, last: saved.info.sequence, pending: new Set(), isCaughtUp: true }
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
    else
      this.#current = info ? { info, last: info.sequence, pending: new Set(), isCaughtUp: false } : undefined
  }

  /** A session has started. It is saved once the messages from before it are stored. */
  started(self: BotSelf, caughtUp: Promise<void>): void {
    this.#self = self
    const current = this.#current
    const save = (): void => {
      if (current) current.isCaughtUp = true
      this.saveSoon()
    }
    // Not read because the process is stopping: the next process starts a new Discord session.
    caughtUp.then(save, () => {})
  }

  /** An event was received; it is pending until it is durable. */
  track(sequence: number, durable: Promise<void>): void {
    const current = this.#current
    if (!current) return
    current.last = Math.max(current.last, sequence)
    current.pending.add(sequence)
    const finish = (): void => {
      current.pending.delete(sequence)
      this.saveSoon()
    }
    // Not stored because the process is stopping: Discord replays it.
    durable.then(finish, () => {})
  }

  protected toSave(): SavedSession | undefined {
    const current = this.#current
    if (!current?.isCaughtUp || !this.#self) return undefined
    const [oldest] = current.pending
    const sequence = oldest === undefined ? current.last : oldest - 1
    return { bot: this.#bot, self: this.#self, info: { ...current.info, sequence } }
  }
}

interface SavedMarks {
  /** When we first connected, as a message id: older messages are not ours to read. */
  since: string
  channels: Array<[channelId: string, messageId: string]>
}

const marksKey = 'seen-marks'
const maxChannels = 500
/** Discord's ids count milliseconds from here. */
const epochMs = 1_420_070_400_000

/** The last stored message of each channel; Discord does not keep it for us. */
export class DiscordMarks extends SavedSoon<SavedMarks> {
  #since: string
  /** The most recently used channel is last. */
  #marks = new BoundedMap<string>(maxChannels)

  static async open(store: SecretStore, clock: Clock): Promise<DiscordMarks> {
    const saved = stored<SavedMarks>(store, marksKey)
    const now = String(BigInt(clock.now() - epochMs) << 22n)
    const marks = new DiscordMarks(store, clock, saved ?? { since: now, channels: [] })
    if (!saved) await marks.flush()
    return marks
  }

  private constructor(store: SecretStore, clock: Clock, saved: SavedMarks) {
    super(store, clock, marksKey)
    this.#since = saved.since
    for (const [channelId, messageId] of saved.channels) this.#marks.set(channelId, messageId)
  }

  channels(): Array<[channelId: string, messageId: string]> {
    return this.#marks.entries()
  }

  /** The newest of all: in a channel that we do not know, earlier messages were not for us. */
  newest(): string {
    return this.channels().reduce((last, [, id]) => (isLater(last, id) ? id : last), this.#since)
  }

  /** From now on this channel is read after every gap, starting with this message. Durable when it resolves. */
  async addChannel(channelId: string, firstMessageId: string): Promise<void> {
    if (this.#marks.get(channelId) !== undefined) return
    this.#marks.set(channelId, String(BigInt(firstMessageId) - 1n))
    await this.flush()
  }

  advance(channelId: string, messageId: string): void {
    const before = this.#marks.get(channelId)
    this.#marks.set(channelId, before !== undefined && !isLater(before, messageId) ? before : messageId)
    this.saveSoon()
  }

  protected toSave(): SavedMarks {
    return { since: this.#since, channels: this.channels() }
  }
}

export function isLater(before: string, id: string): boolean {
  return BigInt(id) > BigInt(before)
}
