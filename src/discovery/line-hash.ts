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

/** Adds the hash of each line between `start` and `end`, the inside of a JSON string, to `into`. */
export function hashLines(buffer: Uint8Array, start: number, end: number, into: number[]): void {
  let hash = seed
  // The hash up to the last byte that is not white space.
  let trimmed = seed
  let letters = 0
  let isBegun = false
  for (let at = start; at < end; at++) {
    const byte = buffer[at]!
    if (byte === backslash) {
      const escaped = buffer[++at]!
      if (escaped === letterN) {
        if (letters >= fewestLetters) into.push(spread(trimmed))
        hash = trimmed = seed
        letters = 0
        isBegun = false
        continue
      }
      const isSpace = escaped === letterT || escaped === letterR
      if (isSpace && !isBegun) continue
      hash = Math.imul(Math.imul(hash ^ byte, prime) ^ escaped, prime)
      if (isSpace) continue
    } else if (byte === space) {
      if (isBegun) hash = Math.imul(hash ^ byte, prime)
      continue
    } else {
      hash = Math.imul(hash ^ byte, prime)
      letters += isLetter[byte]!
    }
    isBegun = true
    trimmed = hash
  }
  if (letters >= fewestLetters) into.push(spread(trimmed))
}

/** The hash of one line; undefined for a line that says nothing about its origin. */
export function hashOfLine(line: string): number | undefined {
  const hashes: number[] = []
  const bytes = Buffer.from(JSON.stringify(line))
  hashLines(bytes, 1, bytes.length - 1, hashes)
  return hashes[0]
}

/** Spreads the differences of similar lines over all 32 bits. */
function spread(hash: number): number {
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return (hash ^ (hash >>> 16)) >>> 0
}
