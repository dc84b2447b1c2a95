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

/**
 * Adds the hash of each line between `start` and `end`, the inside of a JSON string, to `into`. A line is hashed while its end is
 * looked for, four bytes at a time: the scan hashes millions of lines.
 */
export function hashLines(buffer: Uint8Array, start: number, end: number, into: number[]): void {
  const view = viewOf(buffer)
  for (let line = start; line <= end;) {
    while (line < end && isSpace(buffer, line)) line += buffer[line] === space ? 1 : 2
    let [hash, at, lineEnd] = [seed, line, -1]
    // Bytes before this position have been searched for the end of the line.
    let searched = line
    for (; at + 4 <= end; at += 4) {
      const four = view.getInt32(at, true)
      if (hasBackslash(four)) {
        if (searched < at) searched = at
        while (searched < at + 4) {
          if (buffer[searched] !== backslash) searched++
          else if (buffer[searched + 1] !== letterN) searched += 2
          else {
            lineEnd = searched
            break
          }
        }
        if (lineEnd >= 0) break
      }
      hash = mixFour(hash, four)
    }
    if (lineEnd < 0) lineEnd = endOfLine(buffer, Math.max(at, searched), end)
    if (lineEnd > line && isSpaceBefore(buffer, line, lineEnd)) hashOneLine(buffer, line, lineEnd, into)
    else if (hasLetters(buffer, line, lineEnd)) {
      for (; at < lineEnd; at++) hash = Math.imul(hash ^ buffer[at]!, prime)
      into.push(spread(hash))
    }
    line = lineEnd + 2
  }
}

/** Whether one of the four bytes is a backslash: then one byte of the difference is zero. */
function hasBackslash(four: number): boolean {
  const difference = four ^ 0x5c5c5c5c
  return ((difference - 0x01010101) & ~difference & 0x80808080) !== 0
}

/** Where the line that has `at` in it ends. */
function endOfLine(buffer: Uint8Array, at: number, end: number): number {
  for (; at < end; at++) {
    if (buffer[at] !== backslash) continue
    if (buffer[at + 1] === letterN) return at
    at++
  }
  return end
}

/** Adds the hash of a text without line breaks. */
export function hashOneLine(buffer: Uint8Array, start: number, end: number, into: number[]): void {
  while (start < end && isSpace(buffer, start)) start += buffer[start] === space ? 1 : 2
  while (end > start && isSpaceBefore(buffer, start, end)) end -= buffer[end - 1] === space ? 1 : 2
  if (!hasLetters(buffer, start, end)) return
  const view = viewOf(buffer)
  let [hash, at] = [seed, start]
  for (; at + 4 <= end; at += 4) hash = mixFour(hash, view.getInt32(at, true))
  for (; at < end; at++) hash = Math.imul(hash ^ buffer[at]!, prime)
  into.push(spread(hash))
}

function hasLetters(buffer: Uint8Array, start: number, end: number): boolean {
  let letters = 0
  for (let at = start; at < end && letters < fewestLetters; at++) letters += isLetter[buffer[at]!]!
  return letters >= fewestLetters
}

function mixFour(hash: number, four: number): number {
  const mixed = Math.imul(hash ^ four, prime)
  return mixed ^ (mixed >>> 15)
}

let viewed: { buffer: Uint8Array; view: DataView } | undefined

/** The same buffer is asked for many times in a row. */
function viewOf(buffer: Uint8Array): DataView {
  if (viewed?.buffer !== buffer)
    viewed = { buffer, view: new DataView(buffer.buffer, buffer.byteOffset, buffer.byteLength) }
  return viewed.view
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
