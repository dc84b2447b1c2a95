// What the events of a turn add to the output of a session. Text that Claude has not finished is shown while it is written, and
// kept when the turn is cut off.
import type { CodingSession, OutputBlock, OutputKind } from '../../domain/coding-session.ts'
import type { TurnEvent } from '../../domain/turn.ts'
import type { CodingParts } from '../coding-parts.ts'
import type { LiveRecord } from './live-record.ts'
import { oneLine, outputOf } from './names.ts'

const storeEveryMs = 1_000
/** Longer text becomes output in pieces, so that the row stays small. */
const maxChars = 8_000

export class EventOutput {
  #parts: Pick<CodingParts, 'clock'>
  #record: LiveRecord
  #say: (kind: OutputKind, text: string) => void
  #text = ''
  /** How much of the block is output already. */
  #said = 0
  #cancel: (() => void) | undefined

  /** `say` adds a block to the output. */
  constructor(
    parts: Pick<CodingParts, 'clock'>,
    record: LiveRecord,
    say: (kind: OutputKind, text: string) => void,
  ) {
    this.#parts = parts
    this.#record = record
    this.#say = say
  }

  see(event: TurnEvent): void {
    if (event.type === 'text-delta') return this.#add(event.text)
    const said = outputOf(event)
    if (said) this.#say(said.kind, event.type === 'text' ? this.#finish(said.text) : said.text)
  }

  #add(piece: string): void {
    this.#text += piece
    if (this.#text.length > maxChars) this.#saySome()
    this.#cancel ??= this.#parts.clock.after(storeEveryMs, () => {
      this.#cancel = undefined
      const writing = this.#text
      if (writing !== '') this.#record.later({ writing, doing: oneLine(writing, 160) })
    })
  }

  /** The block is whole. Resolves to what is not yet output. */
  #finish(whole: string): string {
    const rest = whole.slice(this.#said)
    this.#forget()
    return rest
  }

  /** Nothing more comes: what was written so far is output. */
  flush(): void {
    const text = this.#text
    this.#forget()
    if (text !== '') this.#say('text', text)
  }

  /** Cut at the end of a line if there is one, because blocks are shown on lines of their own. */
  #saySome(): void {
    const end = this.#text.lastIndexOf('\n')
    const length = end > 0 ? end : this.#text.length
    this.#say('text', this.#text.slice(0, length).toWellFormed())
    const next = end > 0 ? length + 1 : length
    this.#said += next
    this.#text = this.#text.slice(next)
  }

  #forget(): void {
    this.#cancel?.()
    this.#cancel = undefined
    this.#text = ''
    this.#said = 0
  }
}

/** What is being written, as the last block of the output. It has no number of its own yet. */
export function writingOf({ writing, lastSeq, lastActivityAt: at }: CodingSession): OutputBlock[] {
  return writing === undefined ? [] : [{ seq: lastSeq, at, kind: 'text', text: writing }]
}
