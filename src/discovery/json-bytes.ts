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
const shortString = 48

/** The inside of a string in the buffer, without its quotes, or the whole of an object. Absent when `start` is -1. */
export interface Span {
  start: number
  end: number
}

export const absent = (): Span => ({ start: -1, end: -1 })

/** The same for keys in code and keys in a buffer, so that they can be compared without making strings. */
export function hashOf(text: string): number {
  let hash = 0
  for (const byte of Buffer.from(text)) hash = (Math.imul(hash, 31) + byte) | 0
  return hash
}

export class JsonBytes {
  protected buffer: Buffer = Buffer.alloc(0)
  protected end = 0
  /** Of the key that `key` has just passed. */
  protected keyHash = 0

  hashOfSpan(span: Span): number {
    const { buffer } = this
    let hash = 0
    for (let i = span.start; i < span.end; i++) hash = (Math.imul(hash, 31) + buffer[i]!) | 0
    return hash
  }

  protected space(at: number): number {
    const { buffer, end } = this
    while (at < end && buffer[at]! <= 32) at++
    return at
  }

  /** From the quote before a key to the first byte of its value. */
  protected key(at: number): number {
    const { buffer, end } = this
    let hash = 0
    for (at++; at < end; at++) {
      const byte = buffer[at]!
      if (byte === quote) break
      if (byte === backslash) at++
      hash = (Math.imul(hash, 31) + byte) | 0
    }
    this.keyHash = hash
    at++
    if (buffer[at] !== colon) at = this.space(at)
    if (at >= end || buffer[at] !== colon) return -1
    at++
    return buffer[at]! > 32 ? at : this.space(at)
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
    const handLimit = Math.min(end, at + shortString)
    for (let i = at; i < handLimit; i++) {
      const byte = buffer[i]!
      if (byte === quote) return i
      if (byte === backslash) i++
      at = i + 1
    }
    for (;;) {
      const found = buffer.indexOf(quote, at)
      if (found < 0 || found >= end) return -1
      let slashes = 0
      while (found - slashes > at && buffer[found - slashes - 1] === backslash) slashes++
      if (slashes % 2 === 0) return found
      at = found + 1
    }
  }

  private compositeEnd(at: number): number {
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

  private scalarEnd(at: number): number {
    const { buffer, end } = this
    const start = at
    for (; at < end; at++) {
      const byte = buffer[at]!
      if (byte === comma || byte === closeBrace || byte === closeBracket || byte <= 32) break
    }
    return at > start ? at : -1
  }
}
