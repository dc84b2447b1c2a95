// Reads JSON in a buffer: a cursor that makes no strings and no objects, because most bytes of a transcript are never needed,
// and functions that make values of the few bytes that are. Positions go in and come out; -1 means that the bytes are not JSON.
import { parseRecord } from '../domain/json.ts'
import { keptChars } from './transcript-facts.ts'

export const quote = 34
const comma = 44
const colon = 58
const backslash = 92
export const openBracket = 91
export const closeBracket = 93
export const openBrace = 123
export const closeBrace = 125

/** Up to this length a loop finds the end of a string faster than a call into the runtime. */
const shortString = 64

/** The inside of a string, without its quotes, or a whole object. Absent when `start` is -1. */
export interface Span {
  start: number
  end: number
}

export const absent = (): Span => ({ start: -1, end: -1 })

/** Recognises known words in a buffer without making a string of them. */
export class WordTable<Value> {
  readonly #byLength: Array<Array<{ value: Value; bytes: Buffer }>> = []

  constructor(entries: Iterable<readonly [word: string, value: Value]>) {
    for (const [word, value] of entries) {
      const bytes = Buffer.from(word)
      ;(this.#byLength[bytes.length] ??= []).push({ value, bytes })
    }
  }

  static of<Word extends string>(words: readonly Word[]): WordTable<Word> {
    return new WordTable(words.map((word) => [word, word]))
  }

  find(buffer: Buffer, start: number, end: number): Value | undefined {
    const candidates = this.#byLength[end - start]
    if (candidates === undefined) return undefined
    for (const { value, bytes } of candidates) {
      let i = 0
      while (i < bytes.length && bytes[i] === buffer[start + i]) i++
      if (i === bytes.length) return value
    }
    return undefined
  }
}

/** A key that the reader knows. Programs write the keys of a record in one order: the one that followed last time is tried first. */
class KnownKey<Key extends string> {
  readonly key: Key
  /** Its bytes with the quotes and the colon, four in each number; the last number has the last four. */
  readonly words: Int32Array
  readonly length: number
  next: KnownKey<Key> | undefined
  /** Where the place of its string is noted. */
  span: Span | undefined

  constructor(key: Key) {
    const bytes = Buffer.from(`"${key}":`)
    const whole = bytes.length >> 2
    this.key = key
    this.length = bytes.length
    this.words = Int32Array.from({ length: whole + 1 }, (_, i) =>
      bytes.readInt32LE(i < whole ? i * 4 : bytes.length - 4),
    )
  }
}

/** One class for all readers, without subclasses: these functions are much faster when their receivers have one shape. */
export class JsonCursor<Key extends string> {
  buffer: Buffer = Buffer.alloc(0)
  end = 0
  /** The key that was passed last; undefined for a key that the reader does not know. */
  key: Key | undefined
  /** Where the string of this key is to be noted. */
  span: Span | undefined
  /** The position after the object or list whose last part was passed; -1 if it is damaged. */
  after = -1
  readonly #keys: WordTable<KnownKey<Key>>
  #last: KnownKey<Key> | undefined
  /** Over the bytes of `buffer`: four of them are compared at once. */
  #view: DataView = new DataView(new ArrayBuffer(0))

  constructor(keys: readonly Key[], spans: Partial<Record<Key, Span>> = {}) {
    const known = keys.map((key) => new KnownKey(key))
    for (const one of known) one.span = spans[one.key]
    this.#keys = new WordTable(known.map((one) => [one.key, one]))
  }

  /** What is read next. */
  over(buffer: Buffer, end: number): void {
    if (buffer !== this.buffer) this.#view = new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength)
    this.buffer = buffer
    this.end = end
  }

  /** The position after white space. */
  space(at: number): number {
    const { buffer, end } = this
    while (at < end && buffer[at]! <= 32) at++
    return at
  }

  /** The position of the value whose key begins with the quote at `at`; sets `key`. */
  #passKey(at: number): number {
    const guess = this.#last?.next
    if (guess === undefined || !this.#isKeyAt(at, guess)) return this.#passOtherKey(at)
    this.#last = guess
    this.key = guess.key
    this.span = guess.span
    at += guess.length
    return this.buffer[at]! > 32 ? at : this.space(at)
  }

  #isKeyAt(at: number, { words, length }: KnownKey<Key>): boolean {
    if (at + length > this.end) return false
    const view = this.#view
    const whole = length >> 2
    for (let i = 0; i < whole; i++) if (view.getInt32(at + i * 4, true) !== words[i]) return false
    return view.getInt32(at + length - 4, true) === words[whole]
  }

  #passOtherKey(at: number): number {
    const { buffer, end } = this
    const start = ++at
    while (at < end && (buffer[at] !== quote || buffer[at - 1] === backslash)) at++
    const found = this.#keys.find(buffer, start, at)
    this.key = found?.key
    this.span = found?.span
    if (this.#last) this.#last.next = found
    this.#last = found
    at++
    if (buffer[at] !== colon) at = this.space(at)
    return at < end && buffer[at] === colon ? this.space(at + 1) : -1
  }

  /**
   * Into the object at `at`: the position of its first value, and -1 when it has none. A function that is called for each value
   * would be shorter to use, but makes a scan slower by a third.
   */
  firstValue(at: number): number {
    at = this.space(at + 1)
    if (at < this.end && this.buffer[at] === closeBrace) return this.#leave(at + 1)
    return this.#valueOf(at)
  }

  /** The position of the value that follows the one before `at`; -1 at the end of the object. */
  nextValue(at: number): number {
    if (at < 0) return this.#leave(-1)
    if (at + 1 < this.end && this.buffer[at] === comma && this.buffer[at + 1] === quote)
      return this.#valueOf(at + 1)
    at = this.space(at)
    if (at >= this.end) return this.#leave(-1)
    if (this.buffer[at] === comma) return this.#valueOf(this.space(at + 1))
    return this.#leave(this.buffer[at] === closeBrace ? at + 1 : -1)
  }

  #valueOf(at: number): number {
    const value = at < this.end && this.buffer[at] === quote ? this.#passKey(at) : -1
    return value < 0 ? this.#leave(-1) : value
  }

  /** Into the list at `at`: the position of its first item, and -1 when it has none. */
  firstItem(at: number): number {
    at = this.space(at + 1)
    return this.buffer[at] === closeBracket ? this.#leave(at + 1) : at
  }

  /** The position of the item that follows the one before `at`; -1 at the end of the list. */
  nextItem(at: number): number {
    if (at < 0) return this.#leave(-1)
    at = this.space(at)
    if (this.buffer[at] === comma) return this.space(at + 1)
    return this.#leave(at < this.end && this.buffer[at] === closeBracket ? at + 1 : -1)
  }

  #leave(at: number): -1 {
    this.after = at
    return -1
  }

  /** The position after a value of any kind. */
  skip(at: number): number {
    if (at >= this.end) return -1
    const byte = this.buffer[at]
    if (byte === quote) return this.#stringEnd(at + 1) + 1 || -1
    if (byte === openBrace || byte === openBracket) return this.#compositeEnd(at)
    return this.#scalarEnd(at)
  }

  /** Past a string, whose place is noted; past anything else, with nothing noted. */
  string(at: number, span: Span): number {
    if (this.buffer[at] !== quote) return this.skip(at)
    const end = this.#stringEnd(at + 1)
    if (end < 0) return -1
    span.start = at + 1
    span.end = end
    return end + 1
  }

  /** Past an object or a list, whose place is noted, brackets included. */
  composite(at: number, span: Span): number {
    const byte = this.buffer[at]
    const next = this.skip(at)
    if (next < 0 || (byte !== openBrace && byte !== openBracket)) return next
    span.start = at
    span.end = next
    return next
  }

  isAt(at: number, bytes: Buffer): boolean {
    let i = 0
    while (i < bytes.length && bytes[i] === this.buffer[at + i]) i++
    return i === bytes.length && at + i <= this.end
  }

  /** A whole number that is not negative; 0 for anything else. */
  integer(at: number): number {
    const { buffer, end } = this
    let value = 0
    for (; at < end; at++) {
      const digit = buffer[at]! - 48
      if (digit < 0 || digit > 9) break
      value = value * 10 + digit
    }
    return value
  }

  /** From the first byte inside a string to its closing quote. */
  #stringEnd(at: number): number {
    const { buffer, end } = this
    for (;;) {
      for (const limit = Math.min(end, at + shortString); at < limit; at++) {
        if (buffer[at] === quote) return at
        if (buffer[at] === backslash) at++
      }
      // A long string: jump to the next quote. An escaped one has an odd number of backslashes before it.
      const found = buffer.indexOf(quote, at)
      if (found < 0 || found >= end) return -1
      let slashes = 0
      while (found - slashes > at && buffer[found - slashes - 1] === backslash) slashes++
      if (slashes % 2 === 0) return found
      at = found + 1
    }
  }

  #compositeEnd(at: number): number {
    const { buffer, end } = this
    let depth = 0
    for (; at < end; at++) {
      const byte = buffer[at]!
      if (byte === quote) {
        at = this.#stringEnd(at + 1)
        if (at < 0) return -1
      } else if (byte === openBrace || byte === openBracket) depth++
      else if (byte === closeBrace || byte === closeBracket) {
        depth--
        if (depth === 0) return at + 1
      }
    }
    return -1
  }

  #scalarEnd(at: number): number {
    const { buffer, end } = this
    const start = at
    for (; at < end; at++) {
      const byte = buffer[at]!
      if (byte === comma || byte === closeBrace || byte === closeBracket || byte <= 32) break
    }
    return at > start ? at : -1
  }
}

/** Records that are parsed as a whole are small; a larger one is malformed or hostile. */
export const largestParsed = 1 << 20

/** The first characters of a JSON string, decoded; a cut escape at the end is left out. */
export function decodeText(buffer: Buffer, span: Span): string {
  let raw = buffer.toString('utf8', span.start, Math.min(span.end, span.start + keptChars * 2))
  if (span.end - span.start > keptChars * 2) raw = raw.replace(/\\u?[0-9a-fA-F]{0,3}$|\uFFFD$/, '')
  if (!raw.includes('\\')) return raw.slice(0, keptChars)
  try {
    return String(JSON.parse(`"${raw}"`)).slice(0, keptChars)
  } catch {
    // Invalid escapes: keep the bytes as they are.
    return raw.slice(0, keptChars)
  }
}

/** The line as an object; undefined if it is damaged or too large. */
export function parsed(buffer: Buffer, start: number, end: number): Record<string, unknown> | undefined {
  return end - start > largestParsed ? undefined : parseRecord(buffer.toString('utf8', start, end))
}

/** Seconds since 1970 of `2026-11-15T19:50:00.426Z`; 0 for anything that is not a time. */
export function secondsOf(buffer: Buffer, span: Span): number {
  if (span.start < 0) return 0
  const at = span.start
  const isPlain = span.end - at === 24 && buffer[at + 23] === 90 && buffer[at + 10] === 84
  if (!isPlain)
    return Math.max(0, Math.floor((Date.parse(buffer.toString('utf8', at, span.end)) || 0) / 1000))
  const two = (i: number): number => (buffer[at + i]! - 48) * 10 + buffer[at + i + 1]! - 48
  const year = two(0) * 100 + two(2)
  const month = two(5)
  // Days since 1970, counted in years that begin in March, so that the leap day is the last.
  const shifted = month <= 2 ? year - 1 : year
  const dayOfYear = Math.floor((153 * (month > 2 ? month - 3 : month + 9) + 2) / 5) + two(8) - 1
  const days =
    shifted * 365 +
    Math.floor(shifted / 4) -
    Math.floor(shifted / 100) +
    Math.floor(shifted / 400) +
    dayOfYear -
    719_468
  return days * 86_400 + two(11) * 3_600 + two(14) * 60 + two(17)
}

export function isBlank(buffer: Buffer, start: number, end: number): boolean {
  for (let i = start; i < end; i++) if (buffer[i]! > 32) return false
  return true
}
