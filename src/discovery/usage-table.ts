// What each call to the model used, once per message: packed numbers, because a machine has hundreds of thousands of
// them. Claude writes a message's usage again with each of its blocks, and copies it into resumed and forked files; the
// record with the most tokens is the finished one.

/** Unsigned 32-bit words in one record. */
const width = 10

const word = {
  hashLow: 0,
  hashHigh: 1,
  input: 2,
  output: 3,
  cacheRead: 4,
  cacheCreation: 5,
  cache5m: 6,
  cache1h: 7,
  seconds: 8,
  /** Bits 0 to 15: the model's number in the file's list. Then: it ran in fast mode; the cache creation is itemised. */
  model: 9,
} as const
const fastBit = 1 << 16
const itemisedBit = 1 << 17
const largest = 0xffff_ffff

export interface UsageRecord {
  hashLow: number
  hashHigh: number
  input: number
  output: number
  cacheRead: number
  cacheCreation: number
  cache5m: number
  cache1h: number
  /** Seconds since 1970; 0 when unknown. */
  seconds: number
  model: number
  fast: boolean
  /** Did the record say how much of the cache creation lives 5 minutes and how much an hour? */
  itemised: boolean
}

export function noUsage(): UsageRecord {
  return {
    hashLow: 0,
    hashHigh: 0,
    input: 0,
    output: 0,
    cacheRead: 0,
    cacheCreation: 0,
    cache5m: 0,
    cache1h: 0,
    seconds: 0,
    model: 0,
    fast: false,
    itemised: false,
  }
}

function forget(record: UsageRecord): void {
  record.input = record.output = record.cacheRead = 0
  record.cacheCreation = record.cache5m = record.cache1h = 0
}

/** Grows as records are added; finds a message by its hash. */
export class UsageTable {
  length = 0
  #words: Uint32Array
  /** Open addressing: the number of a record plus one, or 0. */
  #slots: Int32Array

  constructor(packed?: Uint8Array) {
    const count = packed ? packed.byteLength / 4 / width : 0
    this.#words = new Uint32Array(Math.max(64 * width, count * width * 2))
    this.#slots = new Int32Array(slotsFor(Math.max(64, count * 2)))
    if (packed) {
      new Uint8Array(this.#words.buffer).set(packed)
      for (; this.length < count; this.length++) this.#enter(this.length)
    }
  }

  /** Where the last `put` found or put its message. */
  index = 0
  /** What the last `put` replaced: all zeros for a new message. */
  readonly replaced = noUsage()

  /** Adds a message, or replaces what is known of it if this record is more complete. */
  put(record: UsageRecord): 'added' | 'replaced' | 'known' {
    this.index = this.#find(record.hashLow, record.hashHigh)
    if (this.index < 0) {
      this.index = this.#append(record)
      forget(this.replaced)
      return 'added'
    }
    this.read(this.index, this.replaced)
    if (tokensOf(record) <= tokensOf(this.replaced)) return 'known'
    this.#write(this.index, record)
    return 'replaced'
  }

  at(index: number): UsageRecord {
    return this.read(index, noUsage())
  }

  /** The same into an object that is there already: there are many records. */
  read(index: number, into: UsageRecord): UsageRecord {
    const w = this.#words
    const base = index * width
    const model = w[base + word.model]!
    into.hashLow = w[base + word.hashLow]!
    into.hashHigh = w[base + word.hashHigh]!
    into.input = w[base + word.input]!
    into.output = w[base + word.output]!
    into.cacheRead = w[base + word.cacheRead]!
    into.cacheCreation = w[base + word.cacheCreation]!
    into.cache5m = w[base + word.cache5m]!
    into.cache1h = w[base + word.cache1h]!
    into.seconds = w[base + word.seconds]!
    into.model = model & 0xffff
    into.fast = (model & fastBit) !== 0
    into.itemised = (model & itemisedBit) !== 0
    return into
  }

  /** A copy of the records alone, to be stored. */
  pack(): Uint8Array {
    return new Uint8Array(this.#words.buffer.slice(0, this.length * width * 4))
  }

  #append(record: UsageRecord): number {
    if ((this.length + 1) * width > this.#words.length) {
      const larger = new Uint32Array(this.#words.length * 2)
      larger.set(this.#words)
      this.#words = larger
    }
    this.#write(this.length, record)
    if ((this.length + 1) * 2 > this.#slots.length) this.#spread()
    this.#enter(this.length)
    return this.length++
  }

  #write(index: number, r: UsageRecord): void {
    const w = this.#words
    const base = index * width
    w[base + word.hashLow] = r.hashLow
    w[base + word.hashHigh] = r.hashHigh
    w[base + word.input] = Math.min(r.input, largest)
    w[base + word.output] = Math.min(r.output, largest)
    w[base + word.cacheRead] = Math.min(r.cacheRead, largest)
    w[base + word.cacheCreation] = Math.min(r.cacheCreation, largest)
    w[base + word.cache5m] = Math.min(r.cache5m, largest)
    w[base + word.cache1h] = Math.min(r.cache1h, largest)
    w[base + word.seconds] = r.seconds
    w[base + word.model] = (r.model & 0xffff) | (r.fast ? fastBit : 0) | (r.itemised ? itemisedBit : 0)
  }

  #find(low: number, high: number): number {
    const slots = this.#slots
    const mask = slots.length - 1
    for (let slot = low & mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot]! - 1
      if (index < 0) return -1
      const base = index * width
      if (this.#words[base] === low && this.#words[base + 1] === high) return index
    }
  }

  #enter(index: number): void {
    const slots = this.#slots
    const mask = slots.length - 1
    let slot = this.#words[index * width]! & mask
    while (slots[slot] !== 0) slot = (slot + 1) & mask
    slots[slot] = index + 1
  }

  #spread(): void {
    this.#slots = new Int32Array(this.#slots.length * 4)
    for (let i = 0; i < this.length; i++) this.#enter(i)
  }
}

/** The cache creation to count: itemised numbers are more precise than the total beside them. */
export function creationOf(record: UsageRecord): { m5: number; h1: number } {
  if (record.itemised) return { m5: record.cache5m, h1: record.cache1h }
  return { m5: record.cacheCreation, h1: 0 }
}

function tokensOf(r: UsageRecord): number {
  return r.input + r.output + r.cacheRead + Math.max(r.cacheCreation, r.cache5m + r.cache1h)
}

function slotsFor(records: number): number {
  let slots = 128
  while (slots < records * 2) slots *= 2
  return slots
}
