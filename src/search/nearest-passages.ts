// The passages nearest to a question in meaning. All vectors are in memory, so that a plain loop over them will do; when
// they are many, a look at their signs alone says first which ones are worth it.
import type { Embedder, SearchFilter } from '../domain/search.ts'
import type { SearchIndex } from './search-index.ts'
import type { VectorBatch } from './search-vectors.ts'
import { quantized, signsOf } from './embed-passages.ts'

/** Below this two texts have nothing to do with each other. */
const leastLikeness = 0.3
const mostNear = 40
/** What a provider has for a question; then the words must do. */
const questionMs = 3_000
/** Up to this many are compared in full; of more, the most promising. */
const mostCompared = 4_000
/** Batches that are read without a pause. */
const batchesAtOnce = 16

export class NearestPassages {
  readonly #index: SearchIndex
  readonly #embedder: Embedder
  readonly #batches: VectorBatch[] = []
  /** Those in which passages are gone. */
  readonly #holed = new Set<VectorBatch>()
  #reading: Promise<void> | undefined

  constructor(index: SearchIndex, embedder: Embedder) {
    this.#index = index
    this.#embedder = embedder
  }

  /** The nearest first, of those that the filter lets through: another agent's must not crowd out one's own. */
  async find(text: string, filter: SearchFilter): Promise<number[]> {
    const [vector] = await this.#embedder.embed([text], questionMs)
    const question = quantized(vector!)
    if (question.every((value) => value === 0)) return []
    await this.readNew()
    const allowed = this.#index.sourceIds(filter)
    // Passages that are gone may stand before others: then more are looked at.
    for (let wanted = mostNear; ; wanted *= 8) {
      const near = this.#nearest(question, allowed, wanted)
      const there = this.#withPassage(near)
      if (there.length >= mostNear || near.length < wanted) return there.slice(0, mostNear).map(passageOf)
    }
  }

  /** Reads the vectors that were made since the last time, with pauses: there may be hundreds of thousands at first. */
  readNew(): Promise<void> {
    this.#reading ??= this.#readBatches().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #readBatches(): Promise<void> {
    for (;;) {
      const last = this.#batches.at(-1)
      let read = 0
      for (const batch of this.#index.vectors.from(this.#embedder.name, last?.batch ?? 0)) {
        if (batch.batch === last?.batch) this.#holed.delete(this.#batches.pop()!)
        this.#batches.push(batch)
        if (++read === batchesAtOnce) break
      }
      if (read < batchesAtOnce) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Vectors outlive their passages; those whose passage is gone are forgotten here. */
  #withPassage(places: Place[]): Place[] {
    const there = this.#index.existing(places.map(passageOf))
    return places.filter((place) => {
      if (there.has(passageOf(place))) return true
      place.batch.passages[place.at] = gone
      this.#holed.add(place.batch)
      return false
    })
  }

  /** Of all that are allowed; of too many, of those with most signs like the question's. */
  #nearest(question: Int8Array, allowed: Set<number> | undefined, wanted: number): Place[] {
    const signs = signsOf(question)
    const fitting = this.#batches.filter((batch) => batch.numbers.length === batch.count * question.length)
    const counts = new Uint32Array(question.length + 1)
    const unlike = fitting.map((batch) => compareSigns(signs, batch, allowed, this.#holed.has(batch), counts))
    const most = mostUnlike(counts)
    const best = new Best(wanted)
    fitting.forEach((batch, i) => compareNumbers(question, batch, unlike[i]!, most, best))
    return best.places()
  }
}

/** One vector, and how much it is like the question. */
interface Place {
  batch: VectorBatch
  at: number
  likeness: number
}

/** Keeps the best without putting all in order: most are worse than those that were found before. */
class Best {
  /** What is not more than this need not be added. */
  least = leastLikeness * 127 * 127
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

/** No passage has this number. */
const gone = 0
const notAllowed = 0xffff

function passageOf({ batch, at }: Place): number {
  return batch.passages[at]!
}

// Plain loops from here on: they run over every vector that there is.

/** Adds those with few signs unlike that are like the question. */
function compareNumbers(
  question: Int8Array,
  batch: VectorBatch,
  unlike: Uint16Array,
  mostUnlike: number,
  best: Best,
): void {
  const { numbers, count } = batch
  const width = question.length
  for (let at = 0; at < count; at++) {
    if (unlike[at]! > mostUnlike) continue
    let likeness = 0
    for (let k = 0, from = at * width; k < width; k++, from++) {
      likeness = (likeness + Math.imul(question[k]!, numbers[from]!)) | 0
    }
    if (likeness > best.least) best.add({ batch, at, likeness })
  }
}

/** How many signs of each vector are other than the question's; counts how many vectors have how many. */
function compareSigns(
  question: Int32Array,
  batch: VectorBatch,
  allowed: Set<number> | undefined,
  isHoled: boolean,
  counts: Uint32Array,
): Uint16Array {
  const { count, passages, sources } = batch
  const unlike = unlikeSigns(question, batch)
  if (!allowed && !isHoled) {
    for (let place = 0; place < count; place++) counts[unlike[place]!]!++
    return unlike
  }
  for (let place = 0; place < count; place++) {
    if (passages[place] === gone || (allowed && !allowed.has(sources[place]!))) unlike[place] = notAllowed
    else counts[unlike[place]!]!++
  }
  return unlike
}

/** Four numbers of the question at a time, for all vectors: that way they stay in registers. */
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

/** With at most as many signs unlike, not too many are left to compare. */
function mostUnlike(counts: Uint32Array): number {
  let most = -1
  for (let taken = 0; most < counts.length - 1 && taken < mostCompared;) taken += counts[++most]!
  return most
}

/** How many bits of four numbers are set: counted in twos, in fours, and from there on for several at once. */
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
