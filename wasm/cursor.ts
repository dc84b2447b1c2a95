// Reads JSON in the buffer. Positions go in and come out; -1 means that the bytes are not JSON.
import { byteAt, find, setSpan, Span } from './memory'
import { Word, wordAt } from './words'

export const quote: i32 = 34
const comma: i32 = 44
const colon: i32 = 58
export const backslash: i32 = 92
export const openBracket: i32 = 91
const closeBracket: i32 = 93
export const openBrace: i32 = 123
const closeBrace: i32 = 125

/** Where the line ends that is read. */
let end: i32 = 0
/** The key that was passed last. */
let key: Word = Word.unknown
/** The position after the object or list whose last part was passed; -1 if it is damaged. */
let after: i32 = -1

export function readUpTo(position: i32): void {
  end = position
}

export function lineEnd(): i32 {
  return end
}

export function lastKey(): Word {
  return key
}

export function afterLast(): i32 {
  return after
}

/** The position after white space. */
export function space(at: i32): i32 {
  while (at < end && byteAt(at) <= 32) at++
  return at
}

/** Into the object at `at`: the position of its first value, and -1 when it has none. */
export function firstValue(at: i32): i32 {
  at = space(at + 1)
  if (at < end && byteAt(at) == closeBrace) return leave(at + 1)
  return valueOf(at)
}

/** The position of the value that follows the one before `at`; -1 at the end of the object. */
export function nextValue(at: i32): i32 {
  if (at < 0) return leave(-1)
  at = space(at)
  if (at >= end) return leave(-1)
  if (byteAt(at) == comma) return valueOf(space(at + 1))
  return leave(byteAt(at) == closeBrace ? at + 1 : -1)
}

/** The position of the value whose key begins at `at`; sets the last key. */
function valueOf(at: i32): i32 {
  const keyEnd = at < end && byteAt(at) == quote ? stringEnd(at + 1) : -1
  if (keyEnd < 0) return leave(-1)
  key = wordAt(at + 1, keyEnd - at - 1)
  at = space(keyEnd + 1)
  return at < end && byteAt(at) == colon ? space(at + 1) : leave(-1)
}

/** Into the list at `at`: the position of its first item, and -1 when it has none. */
export function firstItem(at: i32): i32 {
  at = space(at + 1)
  return byteAt(at) == closeBracket ? leave(at + 1) : at
}

/** The position of the item that follows the one before `at`; -1 at the end of the list. */
export function nextItem(at: i32): i32 {
  if (at < 0) return leave(-1)
  at = space(at)
  if (byteAt(at) == comma) return space(at + 1)
  return leave(at < end && byteAt(at) == closeBracket ? at + 1 : -1)
}

function leave(at: i32): i32 {
  after = at
  return -1
}

/** The position after a value of any kind. */
export function skip(at: i32): i32 {
  if (at >= end) return -1
  const byte = byteAt(at)
  if (byte == openBrace || byte == openBracket) return compositeEnd(at)
  if (byte != quote) return scalarEnd(at)
  const stop = stringEnd(at + 1)
  return stop < 0 ? -1 : stop + 1
}

/** Past a string, whose place is noted; past anything else, with nothing noted. */
export function string(at: i32, span: Span): i32 {
  const next = skip(at)
  if (next >= 0 && byteAt(at) == quote) setSpan(span, at + 1, next - 1)
  return next
}

/** Past an object or a list, whose place is noted, brackets included. */
export function composite(at: i32, span: Span): i32 {
  const next = skip(at)
  if (next >= 0 && (byteAt(at) == openBrace || byteAt(at) == openBracket)) setSpan(span, at, next)
  return next
}

/** The string at `at` as a word. */
export function wordOf(at: i32): Word {
  const stop = byteAt(at) == quote ? stringEnd(at + 1) : -1
  return stop < 0 ? Word.unknown : wordAt(at + 1, stop - at - 1)
}

/** A whole number that is not negative; 0 for anything else. */
export function integer(at: i32): i32 {
  let value: u64 = 0
  for (; at < end; at++) {
    const digit = byteAt(at) - 48
    if (digit < 0 || digit > 9) break
    value = min(value * 10 + digit, 0xffff_ffff)
  }
  return <i32>value
}

/** From the first byte inside a string to its closing quote. */
export function stringEnd(at: i32): i32 {
  at = nextQuote(at)
  while (at < end && isEscaped(at)) at = nextQuote(at + 1)
  return at < end ? at : -1
}

function nextQuote(at: i32): i32 {
  return find(quote, at, end)
}

/** An escaped quote has an odd number of backslashes before it. */
function isEscaped(at: i32): bool {
  let slashes = 0
  while (byteAt(at - 1 - slashes) == backslash) slashes++
  return slashes % 2 == 1
}

function compositeEnd(at: i32): i32 {
  let depth = 0
  for (; at < end; at++) {
    const byte = byteAt(at)
    if (byte == quote) {
      at = stringEnd(at + 1)
      if (at < 0) return -1
    } else if (byte == openBrace || byte == openBracket) depth++
    else if (byte == closeBrace || byte == closeBracket) {
      depth--
      if (depth == 0) return at + 1
    }
  }
  return -1
}

function scalarEnd(at: i32): i32 {
  const start = at
  for (; at < end; at++) {
    const byte = byteAt(at)
    if (byte == comma || byte == closeBrace || byte == closeBracket || byte <= 32) break
  }
  return at > start ? at : -1
}
