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
export class WordTable<Word extends string> {
  readonly #byLength: Array<Array<{ word: Word; bytes: Buffer }>> = []

  constructor(words: Iterable<Word>) {
    for (const word of words) {
      const bytes = Buffer.from(word)
      ;(this.#byLength[bytes.length] ??= []).push({ word, bytes })
    }
  }

  find(buffer: Buffer, start: number, end: number): Word | undefined {
    const candidates = this.#byLength[end - start]
    if (candidates === undefined) return undefined
    for (const { word, bytes } of candidates) {
      let i = 0
      while (i < bytes.length && bytes[i] === buffer[start + i]) i++
      if (i === bytes.length) return word
    }
    return undefined
  }
}

export class JsonBytes<Key extends string> {
  protected buffer: Buffer = Buffer.alloc(0)
  protected end = 0
  /** The key that `passKey` has just passed; undefined for a key that is not in the table. */
  protected key: Key | undefined
  readonly #keys: WordTable<Key>

  constructor(keys: WordTable<Key>) {
    this.#keys = keys
  }

  /** The position after white space. */
  protected space(at: number): number {
    const { buffer, end } = this
    while (at < end && buffer[at]! <= 32) at++
    return at
  }

  /** The position of the value whose key begins with the quote at `at`; sets `key`. */
  protected passKey(at: number): number {
    const { buffer, end } = this
    const start = ++at
    while (at < end && (buffer[at] !== quote || buffer[at - 1] === backslash)) at++
    this.key = this.#keys.find(buffer, start, at)
    at++
    if (buffer[at] !== colon) at = this.space(at)
    return at < end && buffer[at] === colon ? this.space(at + 1) : -1
  }

  /** Past an object: calls `value` at each value, which returns the position after it. `key` is the value's key. */
  protected passObject(at: number, value: (at: number) => number): number {
    at = this.space(at + 1)
    if (this.buffer[at] === closeBrace && at < this.end) return at + 1
    for (;;) {
      if (at >= this.end || this.buffer[at] !== quote) return -1
      at = this.passKey(at)
      if (at >= 0) at = value(at)
      if (at < 0) return -1
      at = this.space(at)
      if (at >= this.end) return -1
      if (this.buffer[at] === closeBrace) return at + 1
      if (this.buffer[at] !== comma) return -1
      at = this.space(at + 1)
    }
  }

  /** The position after a value of any kind. */
  protected skip(at: number): number {
    if (at >= this.end) return -1
    const byte = this.buffer[at]
    if (byte === quote) return this.#stringEnd(at + 1) + 1 || -1
    if (byte === openBrace || byte === openBracket) return this.#compositeEnd(at)
    return this.#scalarEnd(at)
  }

  /** Past a string, whose place is noted; past anything else, with nothing noted. */
  protected string(at: number, span: Span): number {
    if (this.buffer[at] !== quote) return this.skip(at)
    const end = this.#stringEnd(at + 1)
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

  protected isAt(at: number, bytes: Buffer): boolean {
    let i = 0
    while (i < bytes.length && bytes[i] === this.buffer[at + i]) i++
    return i === bytes.length && at + i <= this.end
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

  /** From the first byte inside a string to its closing quote. */
  #stringEnd(at: number): number {
    const { buffer, end } = this
    for (;;) {
      const limit = Math.min(end, at + shortString)
      while (at < limit && buffer[at] !== quote && buffer[at] !== backslash) at++
      if (at >= end) return -1
      if (buffer[at] === quote) return at
      if (buffer[at] === backslash) {
        at += 2
        continue
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
