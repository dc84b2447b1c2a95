// Chats that watch a session: which output each has seen, and the stream of new output to those that have the session in their
// foreground.
import type { Address } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { CodingSession, OutputBlock } from '../domain/coding-session.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import { formatBlocks } from './session/names.ts'
import { addressOfOrigin } from './session/origin.ts'

/** Puts a session into a chat's foreground; returns the output since the chat last looked. */
export async function bringToForeground(
  { store }: { store: CodingStore },
  { id: codingId, lastSeq }: CodingSession,
  channel: string,
  lines: number,
): Promise<OutputBlock[]> {
  const watch = store.watches(codingId).find((each) => each.channel === channel)
  const blocks = watch
    ? withGap(watch.seenSeq, store.outputAfter(codingId, watch.seenSeq, 10_000))
    : store.lastOutput(codingId, lines)
  const seenSeq = blocks.at(-1)?.seq ?? watch?.seenSeq ?? lastSeq
  await store.setWatch({ codingId, channel, seenSeq, foreground: true })
  return blocks
}

export async function sendToBackground(
  { store, notifications }: { store: CodingStore; notifications: { flush(codingId: string): Promise<void> } },
  codingId: string,
  channel: string,
): Promise<void> {
  await notifications.flush(codingId)
  const seenSeq = store.watches(codingId).find((each) => each.channel === channel)?.seenSeq ?? 0
  await store.setWatch({ codingId, channel, seenSeq, foreground: false })
}

/** Output that the chat missed may have been deleted; then a notice says how much. */
function withGap(seenSeq: number, blocks: OutputBlock[]): OutputBlock[] {
  const [first] = blocks
  const gone = first ? first.seq - seenSeq - 1 : 0
  if (!first || gone <= 0) return blocks
  const text = `(${gone} earlier blocks are no longer kept)`
  return [{ seq: first.seq - 1, at: first.at, kind: 'notice', text }, ...blocks]
}

const streamDebounceMs = 500
/** The output of a session that never pauses is sent in pieces of this size. */
const maxGatheredBlocks = 50
const maxGatheredChars = 4_000

interface StreamParts {
  store: CodingStore
  clock: Clock
  send: (address: Address, text: string, key: string, codingId: string) => Promise<void>
}

interface Gathered {
  codingId: string
  channel: string
  blocks: OutputBlock[]
  cancel: () => void
}

/** Gathers the output of sessions for half a second and sends it to the chats that have them in the foreground. */
export class OutputStreams {
  #parts: StreamParts
  #gathered = new Map<string, Gathered>()

  constructor(parts: StreamParts) {
    this.#parts = parts
  }

  add(codingId: string, block: OutputBlock): void {
    for (const { channel, foreground, seenSeq } of this.#parts.store.watches(codingId)) {
      const isNew = foreground && seenSeq < block.seq
      if (isNew && addressOfOrigin(channel)) this.#gather(codingId, channel, block)
    }
  }

  /** Sends what is still gathered; called before a notification that must come after it. */
  async flush(codingId: string): Promise<void> {
    for (const gathered of this.#gathered.values())
      if (gathered.codingId === codingId) await this.#send(gathered)
  }

  async flushAll(): Promise<void> {
    for (const gathered of this.#gathered.values()) await this.#send(gathered)
  }

  #gather(codingId: string, channel: string, block: OutputBlock): void {
    const key = `${codingId} ${channel}`
    const gathered = this.#gathered.get(key) ?? { codingId, channel, blocks: [], cancel: () => {} }
    this.#gathered.set(key, gathered)
    gathered.cancel()
    gathered.blocks.push(block)
    const chars = gathered.blocks.reduce((sum, each) => sum + each.text.length, 0)
    if (gathered.blocks.length >= maxGatheredBlocks || chars >= maxGatheredChars) void this.#send(gathered)
    else gathered.cancel = this.#parts.clock.after(streamDebounceMs, () => void this.#send(gathered))
  }

  async #send({ codingId, channel, blocks, cancel }: Gathered): Promise<void> {
    cancel()
    this.#gathered.delete(`${codingId} ${channel}`)
    const address = addressOfOrigin(channel)
    const [first, last] = [blocks[0], blocks.at(-1)]
    if (!first || !last) return
    const key = `coding:${codingId}:out:${first.seq}-${last.seq}`
    if (address) await this.#parts.send(address, formatBlocks(blocks), key, codingId)
    await this.#parts.store.markSeen(codingId, channel, last.seq)
  }
}
