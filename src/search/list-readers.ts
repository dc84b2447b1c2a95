// Reads the list of passages that FTS5 keeps for a token: as a set, or to find where the token follows the one before it in a phrase.
import { DamagedContent } from '../store/sqlite/database-errors.ts'

/** Reads the list of a token: an id less the one before, twice the length of the positions, the positions; and so on. */
export interface ListReader {
  /** The list begins here. `to` is the end of the page, or of the list. */
  begin(page: Uint8Array, from: number, to: number): void
  /** The list continues on another page. */
  continueOn(page: Uint8Array, from: number, to: number): void
}

/** A longer part is damage. */
const mostPositionBytes = 2 ** 24

export function atMost(most: number, count: number): number {
  if (count > most) throw new DamagedContent(`the index of words has a part with a length of ${count}`)
  return count
}

// Plain loops from here on: they run over every passage of a common word.

/** Sets bit n % 32 of number n / 32 for each passage n. */
export class SetReader implements ListReader {
  readonly #bits: Int32Array
  /** Bytes of positions that are on the next page. */
  #left = 0

  constructor(bits: Int32Array) {
    this.#bits = bits
  }

  begin(page: Uint8Array, from: number, to: number): void {
    const bits = this.#bits
    let at = from
    for (let id = 0; at < to;) {
      let byte = page[at]!
      let length = page[at + 1]!
      if (byte < 128 && length < 128) {
        id += byte
        at += 2 + (length >> 1)
      } else {
        let value = 0
        for (at++; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
        id += value * 128 + byte
        value = 0
        for (length = page[at++]!; length > 127; length = page[at++]!) value = value * 128 + (length & 127)
        at += (value * 128 + length) >>> 1
      }
      bits[id >> 5]! |= 1 << (id & 31)
    }
    this.#left = at - to
  }

  /** The first id of a page does not depend on the page before. */
  continueOn(page: Uint8Array, from: number, to: number): void {
    this.begin(page, from + this.#left, to)
  }
}

/** As SetReader, for a table without positions: its lists have nothing but ids. */
export class PlainSetReader implements ListReader {
  readonly #bits: Int32Array

  constructor(bits: Int32Array) {
    this.#bits = bits
  }

  begin(page: Uint8Array, from: number, to: number): void {
    const bits = this.#bits
    for (let at = from, id = 0; at < to;) {
      let byte = page[at++]!
      if (byte < 128) id += byte
      else {
        let value = 0
        for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
        id += value * 128 + byte
      }
      bits[id >> 5]! |= 1 << (id & 31)
    }
  }

  continueOn(page: Uint8Array, from: number, to: number): void {
    this.begin(page, from, to)
  }
}

/** Finds the passages in which a word follows the words before it. The places of a word in a passage stay as FTS5 has them (each as its
 *  distance to the one before, plus 2): most passages lack another word of the phrase, and their places are never looked at. */
export class PhraseReader implements ListReader {
  /** The passages that have the words so far next to each other: bit n % 32 of number n / 32 for passage n. */
  readonly bits: Int32Array
  #before: PhraseReader | undefined
  /** By passage: where the places of the last word begin in `#bytes`. A 0 is after them, and none begin at 0. */
  readonly #starts: Int32Array
  #bytes = Buffer.alloc(1 << 16)
  #used = 1
  /** The last passage, those bytes of its places that were on the pages so far, and how many are on the next ones. */
  #id = 0
  #begun: Uint8Array = new Uint8Array()
  #left = 0

  constructor(lastId: number, before?: PhraseReader) {
    this.bits = new Int32Array((lastId >> 5) + 1)
    this.#before = before
    this.#starts = new Int32Array(lastId + 1)
  }

  /** Everything is read: what was before this word is not needed any more. */
  end(): void {
    this.#before = undefined
  }

  begin(page: Uint8Array, from: number, to: number): void {
    const [bits, starts, bytes, word] = [this.bits, this.#starts, this.#withRoomFor(to - from), this.#before]
    const [startsBefore, before] = word ? [word.#starts, word.#bytes] : []
    let used = this.#used
    for (let at = from, id = 0; at < to;) {
      let value = 0
      let byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      id += value * 128 + byte
      value = 0
      byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      const first = at
      at += (value * 128 + byte) >>> 1
      const start = startsBefore ? startsBefore[id]! : 0
      if (at <= to && startsBefore && start === 0) continue
      // Both words are in one place, as most are.
      const isPlain = at <= to && at === first + 1 && (!before || before[start + 1] === 0)
      if (isPlain) {
        if (before && before[start] !== page[first]! - 1) continue
        bytes[used] = page[first]!
        bytes[used + 1] = 0
        starts[id] = used
        used += 2
        bits[id >> 5]! |= 1 << (id & 31)
        continue
      }
      this.#used = used
      if (at > to) this.#begin(id, page.subarray(first, to), at - to)
      else this.#take(id, page, first, at)
      used = this.#used
    }
    this.#used = used
  }

  continueOn(page: Uint8Array, from: number, to: number): void {
    if (this.#left === 0) return this.begin(page, from, to)
    const end = Math.min(to, from + this.#left)
    this.#begin(this.#id, Buffer.concat([this.#begun, page.subarray(from, end)]), this.#left - (end - from))
    if (this.#left === 0) this.begin(page, end, to)
  }

  /** Takes the places when all of them are there. */
  #begin(id: number, begun: Uint8Array, left: number): void {
    this.#id = id
    this.#begun = begun
    this.#left = atMost(mostPositionBytes, left)
    if (left > 0) return
    this.#withRoomFor(begun.length)
    this.#take(id, begun, 0, begun.length)
  }

  /** There is room. */
  #take(id: number, page: Uint8Array, from: number, to: number): void {
    if (this.#before) return this.#keepFollowing(this.#before, id, page, from, to)
    const bytes = this.#bytes
    let used = this.#used
    // Few bytes: a call that copies them takes longer.
    for (let at = from; at < to; at++) bytes[used++] = page[at]!
    this.#keep(id, used)
  }

  /** Keeps those places that follow a place of the word before. Both are in rising order. */
  #keepFollowing(word: PhraseReader, id: number, page: Uint8Array, from: number, to: number): void {
    const [before, bytes] = [word.#bytes, this.#bytes]
    let next = word.#starts[id] ?? 0
    let [place, placeBefore, last, used] = [0, -2, 0, this.#used]
    for (let at = from; at < to;) {
      let value = 0
      let byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      place += value * 128 + byte - 2
      while (placeBefore < place - 1 && before[next] !== 0) {
        value = 0
        byte = before[next++]!
        for (; byte > 127; byte = before[next++]!) value = value * 128 + (byte & 127)
        placeBefore = Math.max(0, placeBefore) + value * 128 + byte - 2
      }
      if (placeBefore !== place - 1) continue
      used = putNumber(bytes, used, place - last + 2)
      last = place
    }
    if (used > this.#used) this.#keep(id, used)
  }

  #keep(id: number, used: number): void {
    this.#bytes[used] = 0
    this.#starts[id] = this.#used
    this.bits[id >> 5]! |= 1 << (id & 31)
    this.#used = used + 1
  }

  /** What is kept of a list, with a 0 after each passage, takes less than the list itself. */
  #withRoomFor(more: number): Buffer {
    if (this.#used + more + 8 > this.#bytes.length)
      this.#bytes = Buffer.concat([this.#bytes.subarray(0, this.#used)], 2 * (this.#used + more + 8))
    return this.#bytes
  }
}

/** Seven bits in each byte, the highest first; returns where it ends. */
function putNumber(bytes: Buffer, at: number, number: number): number {
  if (number < 128) {
    bytes[at] = number
    return at + 1
  }
  let groups = 1
  for (let left = number >> 7; left > 0; left >>= 7) groups++
  for (let group = groups - 1; group >= 0; group--)
    bytes[at++] = ((number >> (7 * group)) & 127) | (group > 0 ? 128 : 0)
  return at
}
