// Finds the passages nearest to a question in meaning. All vectors are in memory and compared in a plain loop. If there are
// many, their signs are compared first, and only the most promising in full.
import type { Embedder, SearchFilter } from '../domain/search.ts'
import type { NearPassage } from './ranked-search.ts'
import type { SearchIndex } from './search-index.ts'
import { highOf, lowOf, quantized, signsOf, type VectorBatch } from './search-vectors.ts'

/** Below this likeness two texts are unrelated. */
const leastLikeness = 0.2
const resultLimit = 200
/** A provider must answer within this time; otherwise the search is by words only. */
const questionMs = 3_000
/** Up to this many vectors are compared in full. */
const mostCompared = 4_000
/** Batches that are read before other tasks get a turn. */
const batchesAtOnce = 16

export class NearestPassages {
  readonly #index: SearchIndex
  readonly #embedder: Embedder
  readonly #batches: VectorBatch[] = []
  /** Batches with deleted passages. */
  readonly #withDeleted = new Set<VectorBatch>()
  #reading: Promise<void> | undefined

  constructor(index: SearchIndex, embedder: Embedder) {
    this.#index = index
    this.#embedder = embedder
  }

  /** The nearest first. The filter applies before the ranking, so that passages of other agents do not crowd out the caller's. */
  async find(text: string, filter: SearchFilter): Promise<NearPassage[]> {
    if (this.#embedder.knows?.(text) === false) return []
    const [vector] = await this.#embedder.embed([text], questionMs)
    const question = quantized(vector!)
    if (question.every((value) => value === 0)) return []
    await this.readNew()
    const allowed = this.#index.sourceIds(filter)
    // Deleted passages may rank first; then look at more.
    for (let wanted = resultLimit; ; wanted *= 8) {
      const near = this.#nearest(question, allowed, wanted)
      const existing = this.#withPassage(near)
      if (existing.length >= resultLimit || near.length < wanted)
        return withLikeness(existing.slice(0, resultLimit))
    }
  }

  /** Loads the vectors that were added since the last search, with pauses: at first there may be hundreds of thousands. */
  readNew(): Promise<void> {
    this.#reading ??= this.#readBatches().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #readBatches(): Promise<void> {
    for (;;) {
      const last = this.#batches.at(-1)
      let read = 0
      for (const batch of this.#index.vectors.from(this.#embedder.name, last?.batch ?? 0)) {
        if (batch.batch === last?.batch) this.#withDeleted.delete(this.#batches.pop()!)
        this.#batches.push(batch)
        if (++read === batchesAtOnce) break
      }
      if (read < batchesAtOnce) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Vectors outlive their passages; those of deleted passages are marked here. */
  #withPassage(places: Place[]): Place[] {
    const existing = this.#index.existing(places.map(passageOf))
    return places.filter((place) => {
      if (existing.has(passageOf(place))) return true
      place.batch.passages[place.at] = deleted
      this.#withDeleted.add(place.batch)
      return false
    })
  }

  /** The nearest of all allowed vectors; of too many, only those whose signs are most like the question's are compared. */
  #nearest(question: Int8Array, allowed: Set<number> | undefined, wanted: number): Place[] {
    const signs = signsOf(question)
    const fitting = this.#batches.filter(
      (batch) => batch.numbers.length === batch.count * Math.ceil(question.length / 2),
    )
    const counts = new Uint32Array(question.length + 1)
    const unlike = fitting.map((batch) =>
      compareSigns(signs, batch, allowed, this.#withDeleted.has(batch), counts),
    )
    const limit = unlikeLimit(counts)
    const best = new Best(wanted)
    const products = productsWith(question)
    fitting.forEach((batch, i) => compareNumbers(products, batch, unlike[i]!, limit, best))
    return best.places()
  }
}

/** Vectors of one model are all a little alike: what counts is how much nearer a passage is than the last of the nearest. */
function withLikeness(places: Place[]): NearPassage[] {
  const least = places.length < resultLimit ? leastLikeness : places.at(-1)!.likeness
  return places.map((place) => ({
    id: passageOf(place),
    likeness: Math.min(1, place.likeness - least),
  }))
}

/** One vector, and how much it is like the question. */
interface Place {
  batch: VectorBatch
  at: number
  likeness: number
}

/** Keeps the best without sorting all: most are worse than those that were found before. */
class Best {
  /** Only what exceeds this is added. */
  least = leastLikeness
  #places: Place[] = []
  readonly #wanted: number

  constructor(wanted: number) {
    this.#wanted = wanted
  }

  add(place: Place): void {
    if (this.#places.push(place) < 4 * this.#wanted) return
    this.#places = this.places()
    this.least = this.#places.at(-1)!.likeness
  }

  places(): Place[] {
    return this.#places.sort((a, b) => b.likeness - a.likeness).slice(0, this.#wanted)
  }
}

/** No passage has this id. */
const deleted = 0
const notAllowed = 0xffff

function passageOf({ batch, at }: Place): number {
  return batch.passages[at]!
}

// Plain loops from here on: they run over every vector.

/** Compares in full the vectors with at most `limit` unlike signs; adds those that are like the question. */
function compareNumbers(
  products: Int16Array,
  batch: VectorBatch,
  unlike: Uint16Array,
  limit: number,
  best: Best,
): void {
  const { numbers, count } = batch
  const bytes = products.length
  const width = bytes / 256
  for (let at = 0; at < count; at++) {
    if (unlike[at]! > limit) continue
    let product = 0
    let square = 0
    for (let from = at * width, of = 0; of < bytes; from++, of += 256) {
      const both = numbers[from]!
      product += products[of + both]!
      square += squares[both]!
    }
    const likeness = square === 0 ? 0 : product / (127 * Math.sqrt(square))
    if (likeness > best.least) best.add({ batch, at, likeness })
  }
}

/** For each byte of a vector and each of its 256 values: the product of the two numbers in it with those of the question. */
function productsWith(question: Int8Array): Int16Array {
  const products = new Int16Array(256 * Math.ceil(question.length / 2))
  for (let i = 0; i < products.length; i++) {
    const first = (i >> 8) * 2
    products[i] = question[first]! * lowOf(i & 255) + (question[first + 1] ?? 0) * highOf(i & 255)
  }
  return products
}

/** The sum of the squares of the two numbers in a byte. */
const squares = Int16Array.from({ length: 256 }, (_, both) => lowOf(both) ** 2 + highOf(both) ** 2)

/** The number of unlike signs of each vector; `counts` gets how many vectors have which number. */
function compareSigns(
  question: Int32Array,
  batch: VectorBatch,
  allowed: Set<number> | undefined,
  hasDeleted: boolean,
  counts: Uint32Array,
): Uint16Array {
  const { count, passages, sources } = batch
  const unlike = unlikeSigns(question, batch)
  if (!allowed && !hasDeleted) {
    for (let place = 0; place < count; place++) counts[unlike[place]!]!++
    return unlike
  }
  for (let place = 0; place < count; place++) {
    if (passages[place] === deleted || (allowed && !allowed.has(sources[place]!))) unlike[place] = notAllowed
    else counts[unlike[place]!]!++
  }
  return unlike
}

/** Four words of the question at a time, for all vectors: that way they stay in registers. */
function unlikeSigns(question: Int32Array, { count, signs }: VectorBatch): Uint16Array {
  const unlike = new Uint16Array(count)
  const width = question.length
  let k = 0
  for (; k + 3 < width; k += 4) {
    const [a, b, c, d] = [question[k]!, question[k + 1]!, question[k + 2]!, question[k + 3]!]
    for (let place = 0, at = k; place < count; place++, at += width) {
      unlike[place]! += bitsIn(a ^ signs[at]!, b ^ signs[at + 1]!, c ^ signs[at + 2]!, d ^ signs[at + 3]!)
    }
  }
  for (; k < width; k++) {
    const a = question[k]!
    for (let place = 0, at = k; place < count; place++, at += width) {
      unlike[place]! += bitsIn(a ^ signs[at]!, 0, 0, 0)
    }
  }
  return unlike
}

/** The number of unlike signs up to which not too many vectors are left to compare. */
function unlikeLimit(counts: Uint32Array): number {
  let most = -1
  for (let taken = 0; most < counts.length - 1 && taken < mostCompared;) taken += counts[++most]!
  return most
}

/** How many bits of four words are set: counted in pairs, in fours, then for several words at once. */
function bitsIn(a: number, b: number, c: number, d: number): number {
  const first = foursIn(a) + foursIn(b)
  const second = foursIn(c) + foursIn(d)
  const eights =
    (first & 0x0f0f0f0f) +
    ((first >>> 4) & 0x0f0f0f0f) +
    (second & 0x0f0f0f0f) +
    ((second >>> 4) & 0x0f0f0f0f)
  return Math.imul(eights, 0x01010101) >>> 24
}

function foursIn(value: number): number {
  const twos = value - ((value >>> 1) & 0x55555555)
  return (twos & 0x33333333) + ((twos >>> 2) & 0x33333333)
}
