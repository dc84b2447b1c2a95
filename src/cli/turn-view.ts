// Shows a turn in the terminal: text as it is written, tools, and a spinner while nothing is written.
import type { TurnEvent } from '../domain/turn.ts'
import { toolLine } from '../flow/tool-line.ts'
import type { Terminal } from './host.ts'
import { MarkdownLines } from './markdown-lines.ts'
import { cellWidth, styled, visible } from './print.ts'
import { Spinner } from './spinner.ts'

/** Shows a turn: text as it is written, one line for each tool, and nothing that can control the terminal. */
export class TurnView {
  #terminal: Terminal
  #spinner: Spinner
  #markdown: MarkdownLines | undefined
  /** The line that is not complete yet, as it is on the screen. */
  #line = ''
  #shown = ''
  #block = ''
  #atLineStart = true
  #isAsking = false

  constructor(terminal: Terminal, now: () => number) {
    this.#terminal = terminal
    this.#spinner = new Spinner(terminal, now)
    // A pipe gets the text as Claude wrote it.
    this.#markdown = terminal.isInteractive && terminal.color ? new MarkdownLines(terminal) : undefined
    this.#spinner.show('Ctrl-C stops')
  }

  see(event: TurnEvent): void {
    this.#show(event)
    // A question stays alone on the screen until its tool ends.
    if (event.type === 'waiting') this.#isAsking = true
    else if (event.type === 'tool-end' || event.type === 'text') this.#isAsking = false
    if (this.#atLineStart && !this.#isAsking) this.#spinner.show('Ctrl-C stops')
    else this.#spinner.hide()
  }

  #show(event: TurnEvent): void {
    if (event.type === 'text-delta') this.#write(event.text)
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
    this.#out(visible(this.#notShown(text)))
    this.#newLine()
    this.#spinner.hide()
  }

  /** The reply may lack streamed text (a directive) and have other text (a notice, the tokens used). */
  #notShown(text: string): string {
    if (this.#shown.trim() === '') return text
    const shown = this.#shown.split('\n')
    return text
      .split('\n')
      .filter((line) => !shown.some((each) => each.includes(line.trim())))
      .join('\n')
  }

  #write(text: string): void {
    this.#block += text
    this.#shown += text
    this.#out(visible(text))
  }

  /** A block that was not streamed is shown when it ends. */
  #endBlock(text: string): void {
    if (this.#block === '') this.#write(text)
    this.#block = ''
    this.#shown += '\n\n'
    this.#newLine()
  }

  /** On stderr, so that a pipe gets only the answer. */
  #note(text: string): void {
    this.#newLine()
    this.#spinner.hide()
    this.#terminal.err(`${styled(this.#terminal, 'dim', visible(text))}\n`)
  }

  #newLine(): void {
    if (!this.#atLineStart) this.#out('\n')
  }

  #out(text: string): void {
    if (text === '') return
    this.#spinner.hide()
    if (this.#markdown) this.#outFormatted(text, this.#markdown)
    else this.#terminal.out(text)
    this.#atLineStart = text.endsWith('\n')
  }

  /** Words are shown at once; when their line is complete, it is written again, formatted. */
  #outFormatted(text: string, markdown: MarkdownLines): void {
    const [first = '', ...rest] = text.split('\n')
    const complete = rest.length > 0 ? [this.#line + first, ...rest.slice(0, -1)] : []
    if (complete.length === 0) {
      this.#line += first
      this.#terminal.out(first)
      return
    }
    const shown = this.#line
    const formatted = complete.flatMap((line) => markdown.format(line)).join('\n')
    this.#line = rest.at(-1)!
    this.#terminal.out(`${erasing(shown, this.#terminal.width)}${formatted}\n${this.#line}`)
  }
}

/** Removes a text without line breaks that is on the screen, and may take several of its lines. */
function erasing(text: string, width: number): string {
  if (text === '') return ''
  const up = Math.ceil(cellWidth(text) / width) - 1
  return `${up > 0 ? `\u001b[${up}A` : ''}\r\u001b[J`
}
