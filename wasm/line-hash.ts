// Hashes of lines of text, to find again where a line came from. A line is hashed as it stands in JSON, so that the scan need not
// decode what it reads; white space at both ends does not matter.
import { backslash } from './cursor'
import { base, byteAt, Field, find, get, hashes, set } from './memory'

const space: i32 = 32
const letterN: i32 = 110
const letterR: i32 = 114
const letterT: i32 = 116
const seed: u32 = 0x811c9dc5
const prime: u32 = 0x01000193

/** A line with fewer letters and digits (a closing brace, `fi`) says nothing about its origin, and gets no hash. */
const fewestLetters: i32 = 3

/** Hashes the lines of a text, the inside of a JSON string. */
export function hashText(start: i32, end: i32): void {
  set(Field.hashCount, 0)
  hashLines(start, end)
}

/** Adds the hash of each line between `start` and `end`, the inside of a JSON string. */
export function hashLines(start: i32, end: i32): void {
  for (let line = start; line <= end;) {
    const lineEnd = endOfLine(line, end)
    hashLine(line, lineEnd)
    line = lineEnd + 2
  }
}

/** Where the line that begins at `at` ends: before `\n` or at `end`. */
function endOfLine(at: i32, end: i32): i32 {
  while (at < end) {
    at = find(backslash, at, end)
    if (at >= end) return end
    if (byteAt(at + 1) == letterN) return at
    at += 2
  }
  return end
}

/** Adds the hash of a text without line breaks. */
export function hashLine(start: i32, end: i32): void {
  while (start < end && isSpace(start)) start += byteAt(start) == space ? 1 : 2
  while (end > start && isSpaceBefore(start, end)) end -= byteAt(end - 1) == space ? 1 : 2
  if (!hasLetters(start, end)) return
  let hash = seed
  let at = start
  for (; at + 4 <= end; at += 4) {
    hash = (hash ^ load<u32>(at, base)) * prime
    hash ^= hash >>> 15
  }
  for (; at < end; at++) hash = (hash ^ byteAt(at)) * prime
  const count = get(Field.hashCount)
  store<u32>(hashes + (count << 2), spread(hash))
  set(Field.hashCount, count + 1)
}

function hasLetters(at: i32, end: i32): bool {
  let letters = 0
  for (; at < end && letters < fewestLetters; at++) if (isLetter(byteAt(at))) letters++
  return letters >= fewestLetters
}

/** Letters, digits, the underscore and every byte of a character that is not ASCII. */
function isLetter(byte: i32): bool {
  const lower = byte | 32
  return (lower >= 97 && lower <= 122) || (byte >= 48 && byte <= 57) || byte == 95 || byte >= 128
}

/** A space, or a tab or carriage return as JSON writes it. */
function isSpace(at: i32): bool {
  return byteAt(at) == space || (byteAt(at) == backslash && isEscapedSpace(byteAt(at + 1)))
}

function isSpaceBefore(start: i32, end: i32): bool {
  if (byteAt(end - 1) == space) return true
  if (!isEscapedSpace(byteAt(end - 1))) return false
  // The backslash must not be escaped itself.
  let slashes = 0
  while (end - 2 - slashes >= start && byteAt(end - 2 - slashes) == backslash) slashes++
  return slashes % 2 == 1
}

function isEscapedSpace(byte: i32): bool {
  return byte == letterT || byte == letterR
}

/** Spreads the differences of similar lines over all 32 bits. */
function spread(hash: u32): u32 {
  hash = (hash ^ (hash >>> 16)) * 0x85ebca6b
  hash = (hash ^ (hash >>> 13)) * 0xc2b2ae35
  return hash ^ (hash >>> 16)
}
