// Which deliveries of Rockpool were sent to a chat. Written before and after each send, so that neither a repeated delivery nor a
// crash between two steps makes a message appear twice without a mark, or not at all.
import {
  appendFileSync,
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  renameSync,
  writeFileSync,
} from 'node:fs'

interface Line {
  key: string
  /** `sending`: it may have arrived. `failed`: it has not. */
  state: 'sending' | 'sent' | 'failed'
  messageIds?: string[]
}

/** Rockpool repeats a delivery within minutes, so older keys are not needed. */
const keptKeys = 1_000

export class Journal {
  readonly #path: string
  readonly #lines = new Map<string, Line>()
  #written = 0

  constructor(path: string) {
    this.#path = path
    const { lines, isWhole } = readLines(path)
    for (const line of lines) this.#keep(line)
    // The next line must not be appended to a half one.
    if (!isWhole || this.#written > keptKeys) this.#shorten()
  }

  find(key: string): Line | undefined {
    return this.#lines.get(key)
  }

  /** On disk when it returns. */
  write(line: Line): void {
    const file = openSync(this.#path, 'a', 0o600)
    try {
      appendFileSync(file, `${JSON.stringify(line)}\n`)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    this.#keep(line)
    if (this.#written > 4 * keptKeys) this.#shorten()
  }

  #keep(line: Line): void {
    this.#lines.delete(line.key)
    this.#lines.set(line.key, line)
    this.#written++
  }

  /** Keeps the newest keys, each with its last line. */
  #shorten(): void {
    const newest = [...this.#lines.values()].slice(-keptKeys)
    const text = newest.map((line) => `${JSON.stringify(line)}\n`).join('')
    writeFileSync(`${this.#path}.new`, text, { mode: 0o600, flush: true })
    renameSync(`${this.#path}.new`, this.#path)
    this.#lines.clear()
    this.#written = 0
    for (const line of newest) this.#keep(line)
  }
}

/** Ignores a line that a crash has cut: the message is then sent again, as if there had been no attempt. */
function readLines(path: string): { lines: Line[]; isWhole: boolean } {
  let text = ''
  try {
    text = readFileSync(path, 'utf8')
  } catch {
    // Nothing was delivered yet.
  }
  const lines = text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Line]
    } catch {
      return []
    }
  })
  return { lines, isWhole: text === '' || text.endsWith('\n') }
}
