// The output of a coding session, on its way to disk and to the chats that watch. Blocks that arrive together are written
// together; a limited amount is held in memory. Text that Claude has not finished is stored while it is written.
import type { CodingSession, OutputBlock, OutputKind } from '../../domain/coding-session.ts'
import type { TurnEvent } from '../../domain/turn.ts'
import type { NewOutput } from '../../store/sqlite/record-tables.ts'
import type { SessionParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { describeTool, oneLine } from './names.ts'

const maxBlockChars = 64_000
const maxHeldChars = 4_000_000
const blocksAtOnce = 200

export class SessionOutput {
  #parts: SessionParts
  #record: LiveRecord
  #unfinished: UnfinishedText
  #held: NewOutput[] = []
  #heldChars = 0
  #dropped = 0
  #writing: Promise<void> | undefined
  /** Tool calls that a person denied or that expired, with the reason. */
  #refused = new Map<string, string>()

  constructor(parts: SessionParts, record: LiveRecord) {
    this.#parts = parts
    this.#record = record
    this.#unfinished = new UnfinishedText(parts, record, (text) => this.addLater('text', text))
  }

  /** Resolves when the block is on disk, and all blocks before it. */
  add(kind: OutputKind, text: string): Promise<void> {
    if (this.#heldChars > maxHeldChars) this.#dropped++
    else this.#hold(kind, shortened(text))
    this.#writing ??= this.#write().finally(() => (this.#writing = undefined))
    return this.#writing
  }

  /** For callers that cannot wait. A failure is logged. */
  addLater(kind: OutputKind, text: string): void {
    void this.#record.logFailure(this.add(kind, text))
  }

  addEvent(event: TurnEvent): void {
    if (event.type === 'text-delta') {
      this.#parts.events.emit({ type: 'coding-writing', id: this.#record.session.id, text: event.text })
      return this.#unfinished.add(event.text)
    }
    const block = this.#refusalIn(event) ?? outputOf(event)
    if (block)
      this.addLater(block.kind, event.type === 'text' ? this.#unfinished.finish(block.text) : block.text)
  }

  /** The text that Claude is writing now; empty between blocks. */
  get writing(): string {
    return this.#unfinished.text
  }

  refused(toolUseId: string, text: string): void {
    this.#refused.set(toolUseId, text)
  }

  /** Claude gets a refusal as a failed result; people read who or what refused it. */
  #refusalIn(event: TurnEvent): { kind: OutputKind; text: string } | undefined {
    const text = event.type === 'tool-end' ? this.#refused.get(event.toolUseId) : undefined
    return text === undefined ? undefined : { kind: 'tool', text }
  }

  /** Ends the output of a turn: unfinished text becomes output. Resolves when all output is stored and passed on. */
  async finish(): Promise<void> {
    this.#unfinished.flush()
    await this.#writing
  }

  #hold(kind: OutputKind, text: string): void {
    this.#held.push({ at: this.#parts.clock.now(), kind, text })
    this.#heldChars += text.length
  }

  async #write(): Promise<void> {
    const { id } = this.#record.session
    while (this.#held.length > 0) {
      const blocks = this.#held.splice(0, blocksAtOnce)
      const last = await this.#record.writes.retry(() => this.#parts.store.addOutput(id, blocks))
      this.#heldChars -= blocks.reduce((sum, block) => sum + block.text.length, 0)
      this.#reportDropped()
      const first = last - blocks.length + 1
      await this.#passOn(blocks.map((block, i) => ({ ...block, seq: first + i })))
    }
  }

  #reportDropped(): void {
    if (this.#dropped === 0 || this.#heldChars > maxHeldChars) return
    const text = `(${this.#dropped} blocks came faster than they could be stored; Claude's own transcript has them)`
    this.#dropped = 0
    this.#hold('notice', text)
  }

  /** Updates the row from stored blocks, and passes them to subscribers and to the chats that watch. */
  async #passOn(blocks: OutputBlock[]): Promise<void> {
    const { events, notifications } = this.#parts
    const { session } = this.#record
    const latest = blocks.findLast((block) => block.kind !== 'prompt')
    await this.#record.change(({ end, lastSeq }) => ({
      lastSeq: Math.max(lastSeq, blocks.at(-1)?.seq ?? 0),
      ...(blocks.some(({ kind }) => kind === 'text') ? { writing: undefined } : {}),
      ...(latest && !end ? { doing: oneLine(latest.text, 160) } : {}),
    }))
    for (const block of blocks) {
      events.emit({ type: 'coding-output', id: session.id, seq: block.seq, text: block.text })
      if (block.kind !== 'prompt') notifications.onOutput(session, block)
    }
  }
}

function shortened(text: string): string {
  if (text.length <= maxBlockChars) return text
  const rest = text.length - maxBlockChars
  return `${text.slice(0, maxBlockChars).toWellFormed()}… (${rest} more characters in Claude's own transcript)`
}

/** The addition of an event to the output of a session, if there is one. */
function outputOf(event: TurnEvent): { kind: OutputKind; text: string } | undefined {
  switch (event.type) {
    case 'text':
    case 'notice':
      return { kind: event.type, text: event.text }
    case 'retry':
      return { kind: 'notice', text: `${event.reason}; trying again (${event.attempt})` }
    case 'tool-start':
      return { kind: 'tool', text: describeTool(event.name, event.input) }
    case 'tool-end':
      return event.isError ? { kind: 'tool', text: `failed: ${oneLine(event.output, 300)}` } : undefined
    case 'compaction':
      return event.phase === 'end' ? { kind: 'notice', text: 'Context compacted.' } : undefined
    default:
      return undefined
  }
}

const storeEveryMs = 1_000
/** Longer text becomes output in pieces, so that the row stays small. */
const maxUnfinishedChars = 8_000

/** The text block that Claude is writing. */
export class UnfinishedText {
  #parts: Pick<SessionParts, 'clock'>
  #record: LiveRecord
  #add: (text: string) => void
  #text = ''
  /** How many characters of the block are output already. */
  #addedChars = 0
  #cancel: (() => void) | undefined

  /** `add` appends text to the output. */
  constructor(parts: Pick<SessionParts, 'clock'>, record: LiveRecord, add: (text: string) => void) {
    this.#parts = parts
    this.#record = record
    this.#add = add
  }

  get text(): string {
    return this.#text
  }

  add(piece: string): void {
    this.#text += piece
    if (this.#text.length > maxUnfinishedChars) this.#addSome()
    this.#cancel ??= this.#parts.clock.after(storeEveryMs, () => {
      this.#cancel = undefined
      const writing = this.#text
      if (writing !== '') this.#record.later({ writing, doing: oneLine(writing, 160) })
    })
  }

  /** The block is complete. Returns what is not yet output. */
  finish(block: string): string {
    const rest = block.slice(this.#addedChars)
    this.#reset()
    return rest
  }

  flush(): void {
    const text = this.#text
    this.#reset()
    if (text !== '') this.#add(text)
  }

  /** Cuts at the end of a line if there is one, because each block is shown on lines of its own. */
  #addSome(): void {
    const end = this.#text.lastIndexOf('\n')
    const length = end > 0 ? end : this.#text.length
    this.#add(this.#text.slice(0, length).toWellFormed())
    const next = end > 0 ? length + 1 : length
    this.#addedChars += next
    this.#text = this.#text.slice(next)
  }

  #reset(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#text = ''
    this.#addedChars = 0
  }
}

/** The unfinished text as the last block of the output. It has no number of its own yet. */
export function unfinishedBlock({ writing, lastSeq, lastActivityAt: at }: CodingSession): OutputBlock[] {
  return writing === undefined ? [] : [{ seq: lastSeq, at, kind: 'text', text: writing }]
}
