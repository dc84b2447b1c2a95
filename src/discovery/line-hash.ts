// Hashes of lines of text, to find again where a line came from. A line is hashed as it stands in JSON, so that the scan need not
// decode what it reads; white space at both ends does not matter.

const backslash = 92
const space = 32
const [letterN, letterR, letterT] = [110, 114, 116]
const seed = 0x811c9dc5
const prime = 0x01000193

/** A line with fewer letters and digits (a closing brace, `fi`) says nothing about its origin, and gets no hash. */
const fewestLetters = 3

/** 1 for letters, digits, the underscore and every byte of a character that is not ASCII. */
const isLetter = Uint8Array.from({ length: 256 }, (_, byte) =>
  byte >= 128 || /\w/.test(String.fromCodePoint(byte)) ? 1 : 0,
)

/** The hashes of the lines of a text. */
export function hashesOfText(text: string): number[] {
  const hashes: number[] = []
  const bytes = Buffer.from(JSON.stringify(text))
  hashLines(bytes, 1, bytes.length - 1, hashes)
  return hashes
}

/** Adds the hash of each line between `start` and `end`, the inside of a JSON string, to `into`. */
function hashLines(buffer: Uint8Array, start: number, end: number, into: number[]): void {
  let from = start
  for (let at = start; at < end; at++) {
    if (buffer[at] !== backslash) continue
    if (buffer[++at] !== letterN) continue
    hashOneLine(buffer, from, at - 1, into)
    from = at + 1
  }
  hashOneLine(buffer, from, end, into)
}

/** Adds the hash of a text without line breaks. Four bytes are mixed in at a time: the scan hashes millions of lines. */
export function hashOneLine(buffer: Uint8Array, start: number, end: number, into: number[]): void {
  while (start < end && isSpace(buffer, start)) start += buffer[start] === space ? 1 : 2
  while (end > start && isSpaceBefore(buffer, start, end)) end -= buffer[end - 1] === space ? 1 : 2
  let letters = 0
  for (let at = start; at < end && letters < fewestLetters; at++) letters += isLetter[buffer[at]!]!
  if (letters < fewestLetters) return
  let hash = seed
  let at = start
  for (; at + 4 <= end; at += 4) {
    const four = buffer[at]! | (buffer[at + 1]! << 8) | (buffer[at + 2]! << 16) | (buffer[at + 3]! << 24)
    hash = Math.imul(hash ^ four, prime)
    hash ^= hash >>> 15
  }
  for (; at < end; at++) hash = Math.imul(hash ^ buffer[at]!, prime)
  into.push(spread(hash))
}

/** A space, or a tab or carriage return as JSON writes it. */
function isSpace(buffer: Uint8Array, at: number): boolean {
  return buffer[at] === space || (buffer[at] === backslash && isEscapedSpace(buffer[at + 1]!))
}

function isSpaceBefore(buffer: Uint8Array, start: number, end: number): boolean {
  if (buffer[end - 1] === space) return true
  if (!isEscapedSpace(buffer[end - 1]!)) return false
  // The backslash must not be escaped itself.
  let slashes = 0
  while (end - 2 - slashes >= start && buffer[end - 2 - slashes] === backslash) slashes++
  return slashes % 2 === 1
}

function isEscapedSpace(byte: number): boolean {
  return byte === letterT || byte === letterR
}

/** The hash of one line; undefined for a line that says nothing about its origin. */
export function hashOfLine(line: string): number | undefined {
  return hashesOfText(line)[0]
}

/** Spreads the differences of similar lines over all 32 bits. */
function spread(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
