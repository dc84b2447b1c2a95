// The passages nearest to a question in meaning. All vectors are in one array in memory, so that a plain loop over it will
// do; when they are many, a look at their signs alone says first which ones are worth it.
import type { Embedder, SearchFilter } from '../domain/search.ts'
import type { SearchIndex } from '../store/search-index.ts'
import { quantized } from './vectors.ts'

/** Below this two texts have nothing to do with each other. */
const leastLikeness = 0.3
const mostNear = 40
/** Up to this many are compared in full; of more, the most promising. */
const mostCompared = 4_000
const pageSize = 2_000

export class NearestPassages {
  readonly #index: SearchIndex
  readonly #embedder: Embedder
  #size = 0
  #vectors = new Int8Array(0)
  /** The signs of each vector, 32 in a number. */
  #signs = new Int32Array(0)
  #ids = new Float64Array(0)
  #sources = new Int32Array(0)
  #count = 0
  #lastRound = 0
  #reading: Promise<void> | undefined

  constructor(index: SearchIndex, embedder: Embedder) {
    this.#index = index
    this.#embedder = embedder
  }

  /** The nearest first, of those that the filter lets through: another agent's must not crowd out one's own. */
  async find(text: string, filter: SearchFilter): Promise<number[]> {
    const [vector] = await this.#embedder.embed([text])
    const question = quantized(vector!)
    if (question.every((value) => value === 0)) return []
    await this.readNew()
    if (question.length !== this.#size) return []
    const places = this.#promising(question, this.#index.sourceIds(filter))
    const near = places
      .map((place) => ({ id: this.#ids[place]!, likeness: this.#likeness(question, place) }))
      .filter(({ likeness }) => likeness > leastLikeness * 127 * 127)
    return near
      .sort((a, b) => b.likeness - a.likeness)
      .slice(0, mostNear)
      .map(({ id }) => id)
  }

  /** Reads the vectors that were made since the last time, with pauses: there may be hundreds of thousands at first. */
  readNew(): Promise<void> {
    this.#reading ??= this.#readPages().finally(() => (this.#reading = undefined))
    return this.#reading
  }

  async #readPages(): Promise<void> {
    for (;;) {
      const page = this.#index.vectors(this.#embedder.name, this.#lastRound, pageSize)
      for (const { round, id, sourceId, vector } of page) {
        this.#lastRound = round
        this.#add(id, sourceId, new Int8Array(vector.buffer, vector.byteOffset, vector.length))
      }
      if (page.length < pageSize) return
      await new Promise((resolve) => setImmediate(resolve))
    }
  }

  #add(id: number, sourceId: number, vector: Int8Array): void {
    if (this.#count === 0) this.#size = vector.length
    if (vector.length !== this.#size) return
    if (this.#count === this.#ids.length) this.#grow()
    this.#vectors.set(vector, this.#count * this.#size)
    this.#signs.set(signsOf(vector), this.#count * Math.ceil(this.#size / 32))
    this.#ids[this.#count] = id
    this.#sources[this.#count++] = sourceId
  }

  #grow(): void {
    const room = Math.max(1_024, Math.ceil(this.#count * 1.5))
    this.#vectors = grown(this.#vectors, new Int8Array(room * this.#size))
    this.#signs = grown(this.#signs, new Int32Array(room * Math.ceil(this.#size / 32)))
    this.#ids = grown(this.#ids, new Float64Array(room))
    this.#sources = grown(this.#sources, new Int32Array(room))
  }

  #likeness(question: Int8Array, place: number): number {
    let sum = 0
    for (let k = 0, at = place * this.#size; k < this.#size; k++, at++) {
      sum += question[k]! * this.#vectors[at]!
    }
    return sum
  }

  /** All that are allowed; of too many, those with most signs like the question's. */
  #promising(question: Int8Array, allowed: Set<number> | undefined): number[] {
    const isAllowed = (place: number): boolean => !allowed || allowed.has(this.#sources[place]!)
    const places: number[] = []
    if (this.#count <= mostCompared) {
      for (let place = 0; place < this.#count; place++) if (isAllowed(place)) places.push(place)
      return places
    }
    const { unlike, counts } = this.#compareSigns(signsOf(question), isAllowed)
    let most = -1
    for (let taken = 0; most < this.#size && taken < mostCompared;) taken += counts[++most]!
    for (let place = 0; place < this.#count; place++) if (unlike[place]! <= most) places.push(place)
    return places
  }

  #compareSigns(
    signs: Int32Array,
    isAllowed: (place: number) => boolean,
  ): { unlike: Uint16Array; counts: Uint32Array } {
    const unlike = new Uint16Array(this.#count).fill(0xffff)
    const counts = new Uint32Array(this.#size + 1)
    const width = signs.length
    for (let place = 0, at = 0; place < this.#count; place++, at += width) {
      if (!isAllowed(place)) continue
      let different = 0
      for (let k = 0; k < width; k++) different += bitsIn(signs[k]! ^ this.#signs[at + k]!)
      unlike[place] = different
      counts[different]!++
    }
    return { unlike, counts }
  }
}

function signsOf(vector: Int8Array): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let k = 0; k < vector.length; k++) if (vector[k]! > 0) signs[k >> 5]! |= 1 << (k & 31)
  return signs
}

/** How many bits of a number are set. */
function bitsIn(value: number): number {
  let bits = value - ((value >>> 1) & 0x55555555)
  bits = (bits & 0x33333333) + ((bits >>> 2) & 0x33333333)
  return Math.imul((bits + (bits >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24
}

function grown<T extends Int8Array | Int32Array | Float64Array>(old: T, larger: T): T {
  larger.set(old)
  return larger
}
