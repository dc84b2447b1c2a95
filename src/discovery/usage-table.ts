// The usage of each call to a model, once per message, as packed numbers: a machine has hundreds of thousands of them. Claude
// repeats a message's usage with each of its blocks, and copies it into resumed and forked files; the record with the most
// tokens is the final one.
import type { Span } from './scan-code.ts'

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
  /** Bits 0 to 15: the model's number in the file's list. Then: fast mode; itemised cache creation; part of a sidechain; the two
   *  words of the cache's lifetimes hold the cost that the agent recorded. */
  model: 9,
} as const
const fastBit = 1 << 16
const itemisedBit = 1 << 17
const sidechainBit = 1 << 18
const reportedBit = 1 << 19
const largest = 0xffff_ffff

export interface UsageRecord {
  /** 32 bits of the message's id. */
  hashLow: number
  /** The upper half: 16 more bits of the message's id. The lower half: 16 bits of the request's id. */
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
  /** The record says how much of the cache creation lives 5 minutes and how much an hour. */
  itemised: boolean
  /** Sidechains repeat messages of their session, sometimes under another request. */
  sidechain: boolean
  /** The cost in dollars that the agent itself recorded; Claude Code records none for a call. */
  reportedUsd?: number
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
    sidechain: false,
    reportedUsd: undefined,
  }
}

function clear(record: UsageRecord): void {
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

  /** The index of the message of the last `put`. */
  index = 0
  /** The record that the last `put` replaced; all zeros for a new message. */
  readonly replaced = noUsage()

  /** Adds a message, or replaces its record if this one is more complete. */
  put(record: UsageRecord): 'added' | 'replaced' | 'known' {
    this.index = this.#find(record)
    if (this.index < 0) {
      this.index = this.#append(record)
      clear(this.replaced)
      return 'added'
    }
    this.read(this.index, this.replaced)
    if (!isMoreComplete(record, this.replaced)) return 'known'
    this.#write(this.index, record)
    return 'replaced'
  }

  at(index: number): UsageRecord {
    return this.read(index, noUsage())
  }

  /** Reads a record into an existing object: there are too many for an object each. */
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
    into.sidechain = (model & sidechainBit) !== 0
    into.reportedUsd = undefined
    if ((model & reportedBit) !== 0) this.#readReported(into)
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
    const flags = (r.fast ? fastBit : 0) | (r.itemised ? itemisedBit : 0) | (r.sidechain ? sidechainBit : 0)
    w[base + word.model] = (r.model & 0xffff) | flags
    if (r.reportedUsd !== undefined) this.#writeReported(base, r.reportedUsd)
  }

  #readReported(into: UsageRecord): void {
    const halves = Uint32Array.of(into.cache5m, into.cache1h)
    into.reportedUsd = new Float64Array(halves.buffer)[0]!
    into.cache5m = into.cache1h = 0
  }

  /** Agents that record a cost do not say how long their cache lives, so its two words are free. */
  #writeReported(base: number, usd: number): void {
    this.#words.set(new Uint32Array(Float64Array.of(usd).buffer), base + word.cache5m)
    this.#words[base + word.model]! |= reportedBit
  }

  /** The record of the same message and request; else of the same message, if one of the two is part of a sidechain. */
  #find({ hashLow, hashHigh, sidechain }: UsageRecord): number {
    const slots = this.#slots
    const words = this.#words
    const mask = slots.length - 1
    let repeated = -1
    for (let slot = hashLow & mask; ; slot = (slot + 1) & mask) {
      const index = slots[slot]! - 1
      if (index < 0) return repeated
      const base = index * width
      if (words[base] !== hashLow) continue
      const high = words[base + word.hashHigh]!
      if (high === hashHigh) return index
      const isSidechain = sidechain || (words[base + word.model]! & sidechainBit) !== 0
      if (repeated < 0 && isSidechain && high >>> 16 === hashHigh >>> 16) repeated = index
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

/** The session's own record of a message wins over a sidechain's copy; else the one with more tokens wins. */
function isMoreComplete(record: UsageRecord, known: UsageRecord): boolean {
  if (record.sidechain !== known.sidechain) return known.sidechain
  return tokensOf(record) > tokensOf(known)
}

function tokensOf(r: UsageRecord): number {
  return r.input + r.output + r.cacheRead + Math.max(r.cacheCreation, r.cache5m + r.cache1h)
}

function slotsFor(records: number): number {
  let slots = 128
  while (slots < records * 2) slots *= 2
  return slots
}

/** Sets the hash of a record whose message has an id. */
export function identify(record: UsageRecord, buffer: Buffer, messageId: Span, requestId: Span): void {
  hash(record, buffer, messageId.start, messageId.end)
  const ofRequest = requestId.start < 0 ? 0 : shortHash(buffer, requestId)
  record.hashHigh = ((record.hashHigh & 0xffff_0000) | ofRequest) >>> 0
}

/** Sets the hash of a record whose message has no id: its place identifies it. */
export function identifyByPlace(record: UsageRecord, place: string): void {
  const bytes = Buffer.from(place)
  hash(record, bytes, 0, bytes.length)
}

/** A 64-bit hash, whose halves are computed differently. */
function hash(record: UsageRecord, buffer: Buffer, start: number, end: number): void {
  let low = 0x811c9dc5
  let high = 0x1b873593
  for (let i = start; i < end; i++) {
    const byte = buffer[i]!
    low = Math.imul(low ^ byte, 0x01000193)
    high = Math.imul(high ^ byte, 0x85ebca6b) ^ (high >>> 13)
  }
  record.hashLow = low >>> 0
  record.hashHigh = high >>> 0
}

function shortHash(buffer: Buffer, { start, end }: Span): number {
  let hash = 0x811c9dc5
  for (let i = start; i < end; i++) hash = Math.imul(hash ^ buffer[i]!, 0x01000193)
  return (hash ^ (hash >>> 16)) & 0xffff
}
