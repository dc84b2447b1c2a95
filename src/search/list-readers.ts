// Reads the list of passages that FTS5 keeps for a token: as a set, or with the places of the token in each passage.
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
      let byte = page[at++]!
      if (byte < 128) id += byte
      else {
        let value = 0
        for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
        id += value * 128 + byte
      }
      bits[id >> 5]! |= 1 << (id & 31)
      byte = page[at++]!
      if (byte < 128) at += byte >> 1
      else {
        let value = 0
        for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
        at += (value * 128 + byte) >>> 1
      }
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

/** No passage has so many words. */
const positionsOfPassage = 2 ** 20

/** Collects where a phrase would have to begin whose word number `nth` this token is: the passage and the position. */
export class PlaceReader implements ListReader {
  readonly #nth: number
  #places = new Float64Array(8_192)
  #count = 0
  /** The last place in the passage, and how many bytes of its positions are on the next page. */
  #place = 0
  #left = 0

  constructor(nth: number) {
    this.#nth = nth
  }

  /** In rising order. */
  places(): Float64Array {
    const places = this.#places.subarray(0, this.#count)
    // Only the tokens of a prefix, and parts of a merge, are not in order.
    for (let i = 1; i < places.length; i++) if (places[i]! < places[i - 1]!) return places.sort()
    return places
  }

  begin(page: Uint8Array, from: number, to: number): void {
    for (let at = from, id = 0; at < to;) {
      let value = 0
      let byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      id += value * 128 + byte
      value = 0
      byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      this.#place = id * positionsOfPassage - this.#nth
      at = this.#add(page, at, atMost(mostPositionBytes, (value * 128 + byte) >>> 1), to)
    }
  }

  continueOn(page: Uint8Array, from: number, to: number): void {
    this.begin(page, this.#add(page, from, this.#left, to), to)
  }

  /** Adds positions, each of which is stored as the distance to the one before, plus 2. Returns where they end. */
  #add(page: Uint8Array, from: number, bytes: number, to: number): number {
    const end = Math.min(to, from + bytes)
    this.#left = from + bytes - end
    const places = this.#withRoomFor(bytes)
    let [place, count] = [this.#place, this.#count]
    for (let at = from; at < end;) {
      let value = 0
      let byte = page[at++]!
      for (; byte > 127; byte = page[at++]!) value = value * 128 + (byte & 127)
      place += value * 128 + byte - 2
      places[count++] = place
    }
    this.#place = place
    this.#count = count
    return end
  }

  #withRoomFor(more: number): Float64Array {
    if (this.#count + more > this.#places.length) {
      const grown = new Float64Array(2 * (this.#count + more))
      grown.set(this.#places)
      this.#places = grown
    }
    return this.#places
  }
}

export function passageOfPlace(place: number): number {
  return Math.floor(place / positionsOfPassage)
}
