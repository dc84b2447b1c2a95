// A turn in the terminal: words as they are written, one line for each tool, and nothing that could drive the terminal.
import type { TurnEvent } from '../domain/turn.ts'
import { toolLine } from '../flow/tool-line.ts'
import { styled, visible } from './print.ts'
import type { Page } from './print.ts'
import type { Terminal } from './terminal.ts'

export class TurnView {
  #terminal: Terminal
  #page: Page
  #shown = ''
  #pending = ''
  #atLineStart = true

  constructor(terminal: Terminal) {
    this.#terminal = terminal
    this.#page = { width: terminal.width, color: terminal.color, now: 0 }
  }

  see(event: TurnEvent): void {
    if (event.type === 'text-delta') this.#word(event.text)
    else if (event.type === 'text') this.#endBlock(event.text)
    else if (event.type === 'tool-start') this.#note(toolLine(event.name, event.input))
    else if (event.type === 'tool-end' && event.isError) this.#note('   failed')
    else if (event.type === 'retry') this.#note(`… ${event.reason}; trying again`)
    else if (event.type === 'compaction' && event.phase === 'start')
      this.#note('… summarising the conversation')
    else if (event.type === 'notice') this.#note(event.text)
  }

  /** Prints the lines of the answer that were not streamed: a notice around it, or all of it. */
  end(text: string): void {
    this.#newLine()
    this.#out(visible(this.#notShownOf(text)))
    this.#newLine()
  }

  /** The reply may lack what was streamed (a directive) and have what was not (a notice, the tokens used). */
  #notShownOf(text: string): string {
    const shown = this.#shown.split('\n')
    if (this.#shown.trim() === '') return text
    const isShown = (line: string): boolean => shown.some((each) => each.includes(line.trim()))
    return text
      .split('\n')
      .filter((line) => !isShown(line))
      .join('\n')
  }

  #word(text: string): void {
    this.#pending += text
    this.#shown += text
    this.#out(visible(text))
  }

  /** A block that did not come in pieces is shown now. */
  #endBlock(text: string): void {
    if (this.#pending === '') this.#word(text)
    this.#pending = ''
    this.#shown += '\n\n'
    this.#newLine()
  }

  /** Beside the answer, so that only the answer is piped on. */
  #note(text: string): void {
    this.#newLine()
    this.#terminal.err(`${styled(this.#page, 'dim', visible(text))}\n`)
  }

  #newLine(): void {
    if (!this.#atLineStart) this.#out('\n')
  }

  #out(text: string): void {
    if (text === '') return
    this.#terminal.out(text)
    this.#atLineStart = text.endsWith('\n')
  }
}
