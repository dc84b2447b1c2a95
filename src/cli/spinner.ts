// A line at the bottom of a terminal that shows that something runs, what, and for how long. Nothing without a terminal.
import type { Terminal } from './host.ts'
import { duration, oneLine, styled, truncate } from './print.ts'

const frames = '⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏'
const frameMs = 100
/** Shorter waits show nothing. */
const silentMs = 400
const clearLine = '\r\u001b[K'

/** The frame of a spinner at this time. */
export function frameAt(now: number): string {
  return frames[Math.floor(now / frameMs) % frames.length]!
}

export class Spinner {
  #terminal: Terminal
  #now: () => number
  #timer: ReturnType<typeof setInterval> | undefined
  #since = 0
  #text = ''
  #isDrawn = false

  constructor(terminal: Terminal, now: () => number) {
    this.#terminal = terminal
    this.#now = now
  }

  /** Shows the text from now on; a spinner that runs already keeps its time. */
  show(text: string): void {
    if (!this.#terminal.isInteractive) return
    this.#text = text
    if (this.#timer) return
    this.#since = this.#now()
    this.#timer = setInterval(() => this.#draw(), frameMs)
  }

  /** Removes the line; the next `show` starts a new time. */
  hide(): void {
    clearInterval(this.#timer)
    this.#timer = undefined
    this.#erase()
  }

  /** Writes something above the line. */
  above(write: () => void): void {
    this.#erase()
    write()
  }

  #erase(): void {
    if (this.#isDrawn) this.#terminal.err(clearLine)
    this.#isDrawn = false
  }

  #draw(): void {
    const now = this.#now()
    if (now - this.#since < silentMs) return
    const line = `${frameAt(now)} ${duration(now - this.#since)}  ${oneLine(this.#text)}`
    const shown = styled(this.#terminal, 'dim', truncate(line, this.#terminal.width - 1))
    this.#terminal.err(`${clearLine}${shown}`)
    this.#isDrawn = true
  }
}
