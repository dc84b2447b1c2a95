// The passages nearest to a question in meaning. All vectors are in memory, so that a plain loop over them will do; when
// they are many, a look at their signs alone says first which ones are worth it.
import type { Embedder, SearchFilter } from '../domain/search.ts'
import type { SearchIndex } from '../store/search-index.ts'
import type { VectorBatch } from '../store/search-vectors.ts'
import { quantized, signsOf } from './vectors.ts'

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
    const near = this.#promising(question, this.#index.sourceIds(filter))
      .map((place) => ({ place, likeness: likeness(question, place) }))
      .filter((each) => each.likeness > leastLikeness * 127 * 127)
      .sort((a, b) => b.likeness - a.likeness)
    return this.#best(near.map(({ place }) => place))
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
        if (batch.batch === last?.batch) this.#batches.pop()
        this.#batches.push(batch)
        if (++read === batchesAtOnce) break
      }
      if (read < batchesAtOnce) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  /** Vectors outlive their passages; those whose passage is gone are forgotten here. */
  #best(places: Place[]): number[] {
    const best: number[] = []
    for (let from = 0; from < places.length && best.length < mostNear; from += mostNear) {
      const some = places.slice(from, from + mostNear)
      const there = this.#index.existing(some.map(passageOf))
      for (const place of some) {
        if (there.has(passageOf(place))) best.push(passageOf(place))
        else place.batch.passages[place.at] = gone
      }
    }
    return best.slice(0, mostNear)
  }

  /** All that are allowed; of too many, those with most signs like the question's. */
  #promising(question: Int8Array, allowed: Set<number> | undefined): Place[] {
    const signs = signsOf(question)
    const fitting = this.#batches.filter((batch) => batch.numbers.length === batch.count * question.length)
    const counts = new Uint32Array(question.length + 1)
    const unlike = fitting.map((batch) => compareSigns(signs, batch, allowed, counts))
    const most = mostUnlike(counts)
    const places: Place[] = []
    // Plain loops here and below: they run over every vector that there is.
    fitting.forEach((batch, i) => {
      const different = unlike[i]!
      for (let at = 0; at < batch.count; at++) if (different[at]! <= most) places.push({ batch, at })
    })
    return places
  }
}

/** One vector. */
interface Place {
  batch: VectorBatch
  at: number
}

/** No passage has this number. */
const gone = 0
const notAllowed = 0xffff

function passageOf({ batch, at }: Place): number {
  return batch.passages[at]!
}

function likeness(question: Int8Array, { batch: { numbers }, at }: Place): number {
  let sum = 0
  for (let k = 0, from = at * question.length; k < question.length; k++) {
    sum += question[k]! * numbers[from + k]!
  }
  return sum
}

/** How many signs of each vector are other than the question's; counts how many vectors have how many. */
function compareSigns(
  question: Int32Array,
  { count, passages, sources, signs }: VectorBatch,
  allowed: Set<number> | undefined,
  counts: Uint32Array,
): Uint16Array {
  const unlike = new Uint16Array(count).fill(notAllowed)
  const width = question.length
  for (let place = 0, from = 0; place < count; place++, from += width) {
    if (passages[place] === gone || (allowed && !allowed.has(sources[place]!))) continue
    let different = 0
    for (let k = 0; k < width; k++) different += bitsIn(question[k]! ^ signs[from + k]!)
    unlike[place] = different
    counts[different]!++
  }
  return unlike
}

/** With at most as many signs unlike, not too many are left to compare. */
function mostUnlike(counts: Uint32Array): number {
  let most = -1
  for (let taken = 0; most < counts.length - 1 && taken < mostCompared;) taken += counts[++most]!
  return most
}

/** How many bits of a number are set. */
function bitsIn(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}
