// What a coding session says, on its way to disk. Blocks that arrive together are written together; however much comes,
// only so much of it is held in memory.
import type { OutputKind } from '../../domain/coding-session.ts'
import type { NewOutput } from '../../store/sqlite/coding-rows.ts'
import type { LiveRecord } from './live-record.ts'
import { oneLine } from './names.ts'
import type { RetriedWrites } from './retried-writes.ts'
import type { CodingParts } from '../coding-parts.ts'

/** A block that was written, with its number. */
export interface WrittenBlock extends NewOutput {
  seq: number
}

const maxBlockChars = 64_000
const maxHeldChars = 4_000_000
const blocksAtOnce = 200

export class OutputLog {
  #parts: Pick<CodingParts, 'store' | 'clock'>
  #id: string
  #onWritten: (blocks: WrittenBlock[]) => Promise<void>
  #held: NewOutput[] = []
  #heldChars = 0
  #leftOut = 0
  #writing: Promise<void> | undefined
  #writes: RetriedWrites

  constructor(
    parts: Pick<CodingParts, 'store' | 'clock'>,
    { session: { id }, writes }: LiveRecord,
    onWritten: (blocks: WrittenBlock[]) => Promise<void>,
  ) {
    this.#parts = parts
    this.#id = id
    this.#writes = writes
    this.#onWritten = onWritten
  }

  /** Resolves when it is on disk, and all that was said before it. */
  add(kind: OutputKind, text: string): Promise<void> {
    if (this.#heldChars > maxHeldChars) this.#leftOut++
    else this.#hold(kind, shortened(text))
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  /** Resolves when everything that was said up to now is on disk and passed on. */
  async settled(): Promise<void> {
    await this.#writing
  }

  #hold(kind: OutputKind, text: string): void {
    this.#held.push({ at: this.#parts.clock.now(), kind, text })
    this.#heldChars += text.length
  }

  async #write(): Promise<void> {
    while (this.#held.length > 0) {
      const blocks = this.#held.splice(0, blocksAtOnce)
      const last = await this.#writes.insist(() => this.#parts.store.addOutput(this.#id, blocks))
      this.#heldChars -= blocks.reduce((sum, block) => sum + block.text.length, 0)
      this.#sayWhatIsMissing()
      const first = last - blocks.length + 1
      await this.#onWritten(blocks.map((block, i) => ({ ...block, seq: first + i })))
    }
  }

  #sayWhatIsMissing(): void {
    if (this.#leftOut === 0 || this.#heldChars > maxHeldChars) return
    const text = `(${this.#leftOut} blocks came faster than they could be stored; Claude's own transcript has them)`
    this.#leftOut = 0
    this.#hold('notice', text)
  }
}

/** What was written is told: what the session does now, and the words to whoever watches. */
export async function passOn(
  { events, notifications }: Pick<CodingParts, 'events' | 'notifications'>,
  record: LiveRecord,
  blocks: WrittenBlock[],
): Promise<void> {
  const { session } = record
  const said = blocks.findLast((block) => block.kind !== 'prompt')
  await record.change(({ end, lastSeq }) => ({
    lastSeq: Math.max(lastSeq, blocks.at(-1)?.seq ?? 0),
    ...(blocks.some(({ kind }) => kind === 'text') ? { writing: undefined } : {}),
    ...(said && !end ? { doing: oneLine(said.text, 160) } : {}),
  }))
  for (const block of blocks) {
    events.emit({ type: 'coding-output', id: session.id, seq: block.seq, text: block.text })
    if (block.kind !== 'prompt') notifications.onOutput(session, block)
  }
}

function shortened(text: string): string {
  if (text.length <= maxBlockChars) return text
  const rest = text.length - maxBlockChars
  return `${text.slice(0, maxBlockChars).toWellFormed()}… (${rest} more characters in Claude's own transcript)`
}
