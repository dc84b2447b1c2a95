// A cursor over JSON in a buffer that makes no strings and no objects. Positions go in and come out; -1 means that the
// bytes are not JSON. Long strings are searched for their end by memchr, short ones by hand, which is faster for them.

const quote = 34
const comma = 44
const colon = 58
const backslash = 92
const openBracket = 91
const closeBracket = 93
const openBrace = 123
const closeBrace = 125

/** Below this length a loop beats a call into the runtime. */
const shortString = 64

/** The inside of a string in the buffer, without its quotes, or the whole of an object. Absent when `start` is -1. */
export interface Span {
  start: number
  end: number
}

export const absent = (): Span => ({ start: -1, end: -1 })

/** Finds words in a buffer among a few known ones: by length and three bytes, then by all of them. */
export class WordTable {
  readonly #numbers = new Uint8Array(4096)
  readonly #words: Buffer[] = []

  constructor(words: Readonly<Record<string, number>>) {
    for (const [word, number] of Object.entries(words)) {
      const bytes = Buffer.from(word)
      const slot = slotOf(bytes, 0, bytes.length)
      if (this.#numbers[slot] !== 0)
        throw new Error(`The words ${word} and ${String(this.#words[this.#numbers[slot]!])} share a slot.`)
      this.#numbers[slot] = number
      this.#words[number] = bytes
    }
  }

  /** The number of the word, which is above 0; or 0. */
  find(buffer: Buffer, start: number, end: number): number {
    const length = end - start
    const number = this.#numbers[slotOf(buffer, start, length)]!
    if (number === 0) return 0
    const word = this.#words[number]!
    if (word.length !== length) return 0
    for (let i = 0; i < length; i++) if (word[i] !== buffer[start + i]) return 0
    return number
  }
}

function slotOf(buffer: Buffer, start: number, length: number): number {
  const inside = buffer[start + Math.floor(length * 0.4)]!
  return ((length << 7) ^ (buffer[start]! << 3) ^ (inside << 5) ^ buffer[start + length - 1]!) & 4095
}

/**
 * A key that was seen, and those that came after it. Programs write the same keys in the same order again and again, so
 * the next key is compared with the one that came next the last time, before it is looked at any closer.
 */
interface SeenKey {
  /** Its bytes, with the quotes and the colon. */
  words: Int32Array
  length: number
  number: number
  next: SeenKey | undefined
  others: SeenKey[]
}

const noKey = (): SeenKey => ({ words: new Int32Array(1), length: 0, number: 0, next: undefined, others: [] })

/** Enough for every known layout; a file with more is hostile, and the table is reset. */
const mostSeenKeys = 5_000

export class JsonBytes {
  protected buffer: Buffer = Buffer.alloc(0)
  protected end = 0
  /** The number of the key that `key` has just passed; 0 for a key that is not wanted. */
  protected keyNumber = 0
  readonly #keys: WordTable
  #firstKey = noKey()
  #lastKey = this.#firstKey
  #seenKeys = 0
  /** Over the same bytes: four of them are read and compared at once. */
  #words: DataView = new DataView(new ArrayBuffer(0))

  constructor(keys: WordTable) {
    this.#keys = keys
  }

  /** A new, independent object begins. */
  protected begin(buffer: Buffer, end: number): void {
    if (buffer !== this.buffer) {
      this.buffer = buffer
      this.#words = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    }
    this.end = end
    this.#lastKey = this.#firstKey
  }

  protected space(at: number): number {
    const { buffer, end } = this
    while (at < end && buffer[at]! <= 32) at++
    return at
  }

  /** From the quote before a key to the first byte of its value. */
  protected key(at: number): number {
    const guess = this.#lastKey.next
    if (guess === undefined || !this.isAt(at, guess.words, guess.length)) return this.#otherKey(at)
    this.#lastKey = guess
    this.keyNumber = guess.number
    at += guess.length
    return this.buffer[at]! > 32 ? at : this.space(at)
  }

  /** Are these bytes here? `words` are they as `copyWords` makes them. */
  protected isAt(at: number, words: Int32Array, length: number): boolean {
    if (at + length > this.end) return false
    const view = this.#words
    const whole = length >> 2
    for (let i = 0; i < whole; i++) if (view.getInt32(at + i * 4, true) !== words[i]) return false
    return view.getInt32(at + length - 4, true) === words[whole]
  }

  /** Four bytes at a time; then the last four once more, because few lengths can be divided by four. */
  protected copyWords(at: number, length: number, into: Int32Array): void {
    const whole = length >> 2
    for (let i = 0; i < whole; i++) into[i] = this.#words.getInt32(at + i * 4, true)
    into[whole] = this.#words.getInt32(at + length - 4, true)
  }

  /** A key that came as a surprise. */
  #otherKey(at: number): number {
    const { buffer, end } = this
    const start = at++
    while (at < end && (buffer[at] !== quote || buffer[at - 1] === backslash)) at++
    this.keyNumber = this.#keys.find(buffer, start + 1, at)
    at++
    if (buffer[at] === colon && at - start > 3) this.#learn(start, at + 1 - start)
    else if (buffer[at] !== colon) at = this.space(at)
    return at < end && buffer[at] === colon ? this.space(at + 1) : -1
  }

  #learn(start: number, length: number): void {
    const last = this.#lastKey
    let seen = last.others.find((other) => other.length === length && this.isAt(start, other.words, length))
    if (!seen) {
      if (++this.#seenKeys > mostSeenKeys) {
        this.#seenKeys = 0
        this.#firstKey = noKey()
      }
      const words = new Int32Array((length >> 2) + 1)
      this.copyWords(start, length, words)
      seen = { words, length, number: this.keyNumber, next: undefined, others: [] }
      last.others.push(seen)
    }
    last.next = seen
    this.#lastKey = seen
  }

  /** Past a value of any kind. */
  protected skip(at: number): number {
    const byte = this.buffer[at]
    if (at >= this.end) return -1
    if (byte === quote) return this.stringEnd(at + 1) + 1 || -1
    if (byte === openBrace || byte === openBracket) return this.compositeEnd(at)
    return this.scalarEnd(at)
  }

  /** Past a string, whose place is noted; past anything else, with nothing noted. */
  protected string(at: number, span: Span): number {
    if (this.buffer[at] !== quote) return this.skip(at)
    const end = this.stringEnd(at + 1)
    if (end < 0) return -1
    span.start = at + 1
    span.end = end
    return end + 1
  }

  /** Past an object or a list, whose place is noted, brackets included. */
  protected composite(at: number, span: Span): number {
    const byte = this.buffer[at]
    const next = this.skip(at)
    if (next < 0 || (byte !== openBrace && byte !== openBracket)) return next
    span.start = at
    span.end = next
    return next
  }

  /** A whole number that is not negative; 0 for anything else. */
  protected integer(at: number): number {
    const { buffer, end } = this
    let value = 0
    for (; at < end; at++) {
      const digit = buffer[at]! - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
    return value
  }

  /** After a value: the quote of the next key, or the closing brace, which ends the object. */
  protected nextPair(at: number): number {
    const { buffer } = this
    if (buffer[at]! <= 32) at = this.space(at)
    if (at >= this.end) return -1
    if (buffer[at] === closeBrace) return at
    if (buffer[at] !== comma) return -1
    at++
    if (buffer[at]! <= 32) at = this.space(at)
    return at < this.end && buffer[at] === quote ? at : -1
  }

  /** From the opening brace to the quote of the first key, or to the closing brace. */
  protected firstPair(at: number): number {
    at = this.space(at + 1)
    if (at >= this.end) return -1
    return this.buffer[at] === quote || this.buffer[at] === closeBrace ? at : -1
  }

  /** From the first byte inside a string to its closing quote. */
  protected stringEnd(at: number): number {
    const { buffer, end } = this
    for (;;) {
      at = this.#plainUntil(at, Math.min(end, at + shortString))
      if (at >= end) return -1
      if (buffer[at] === quote) return at
      if (buffer[at] === backslash) {
        at += 2
        continue
      }
      // A string of some length: jump to the next quote. If it is an escaped one there are more of them near.
      const found = buffer.indexOf(quote, at)
      if (found < 0 || found >= end) return -1
      let slashes = 0
      while (found - slashes > at && buffer[found - slashes - 1] === backslash) slashes++
      if (slashes % 2 === 0) return found
      at = found + 1
    }
  }

  /** The first quote or backslash from here on, or `limit`. Four bytes at once, by the old trick that finds a zero byte. */
  #plainUntil(at: number, limit: number): number {
    const view = this.#words
    const lastWord = limit - 4
    for (; at <= lastWord; at += 4) {
      const word = view.getInt32(at, true)
      const quotes = word ^ 0x22222222
      const slashes = word ^ 0x5c5c5c5c
      const isHit = ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes)
      if ((isHit & 0x80808080) !== 0) break
    }
    const { buffer } = this
    while (at < limit && buffer[at] !== quote && buffer[at] !== backslash) at++
    return at
  }

  protected compositeEnd(at: number): number {
    const { buffer, end } = this
    let depth = 0
    for (; at < end; at++) {
      const byte = buffer[at]!
      if (byte === quote) {
        at = this.stringEnd(at + 1)
        if (at < 0) return -1
      } else if (byte === openBrace || byte === openBracket) depth++
      else if (byte === closeBrace || byte === closeBracket) {
        depth--
        if (depth === 0) return at + 1
      }
    }
    return -1
  }

  protected scalarEnd(at: number): number {
    const { buffer, end } = this
    const start = at
    for (; at < end; at++) {
      const byte = buffer[at]!
      if (byte === comma || byte === closeBrace || byte === closeBracket || byte <= 32) break
    }
    return at > start ? at : -1
  }
}
