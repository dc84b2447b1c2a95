// Meaning as numbers: passages get vectors in the background, and a question finds the nearest of them.
import type { Embedder, SearchFilter } from '../domain/search.ts'
import type { SearchIndex } from '../store/search-index.ts'
import { readPassage } from './snippet.ts'

/** How much of a passage its vector stands for. */
const mostChars = 2_000
/** Below this two texts have nothing to do with each other. */
const leastLikeness = 0.3
const mostNear = 40

/** Gives some passages their vectors, the newest first; false when there is nothing left to do. */
export async function addSomeVectors(
  index: SearchIndex,
  embedder: Embedder,
  redact: (text: string) => string,
  limit = 200,
): Promise<boolean> {
  const passages = index.lacking('vector', limit)
  if (passages.length === 0) return false
  const texts = passages.map((passage) => redact(readPassage(passage) ?? '').slice(0, mostChars))
  const vectors = await embedder.embed(texts)
  await index.addVectors(
    embedder.name,
    passages.map(({ id }, i) => ({ id, vector: quantized(vectors[i]!) })),
  )
  return true
}

/** Of length 1, then in steps of 1/127. */
function quantized(vector: Float32Array): Int8Array {
  const length = Math.hypot(...vector)
  return Int8Array.from(vector, (value) => (length === 0 ? 0 : Math.round((value / length) * 127)))
}

/** All vectors in one array, so that a plain loop over it is fast; what was added since is read at each question. */
export class NearestPassages {
  readonly #index: SearchIndex
  readonly #embedder: Embedder
  #vectors = new Int8Array(0)
  #ids = new Float64Array(0)
  #sources = new Int32Array(0)
  #count = 0
  #lastRound = 0

  constructor(index: SearchIndex, embedder: Embedder) {
    this.#index = index
    this.#embedder = embedder
  }

  async find(text: string, filter: SearchFilter): Promise<number[]> {
    const [vector] = await this.#embedder.embed([text])
    const question = quantized(vector!)
    if (question.every((value) => value === 0)) return []
    this.#readNew(question.length)
    return this.#nearest(question, this.#index.sourceIds(filter))
  }

  /** The best of those that may be found at all: another agent's must not crowd out one's own. */
  #nearest(question: Int8Array, allowed: Set<number> | undefined): number[] {
    const size = question.length
    const best: Array<{ id: number; likeness: number }> = []
    let least = leastLikeness * 127 * 127
    for (let i = 0; i < this.#count; i++) {
      let sum = 0
      for (let k = 0, at = i * size; k < size; k++, at++) sum += question[k]! * this.#vectors[at]!
      if (sum <= least || (allowed && !allowed.has(this.#sources[i]!))) continue
      best.push({ id: this.#ids[i]!, likeness: sum })
      if (best.length < mostNear * 8) continue
      best.sort((a, b) => b.likeness - a.likeness).length = mostNear
      least = best[mostNear - 1]!.likeness
    }
    best.sort((a, b) => b.likeness - a.likeness)
    return best.slice(0, mostNear).map(({ id }) => id)
  }

  #readNew(size: number): void {
    for (const { round, id, sourceId, vector } of this.#index.vectors(this.#embedder.name, this.#lastRound)) {
      this.#lastRound = round
      if (vector.length !== size) continue
      if ((this.#count + 1) * size > this.#vectors.length) this.#grow(size)
      this.#vectors.set(new Int8Array(vector.buffer, vector.byteOffset, size), this.#count * size)
      this.#ids[this.#count] = id
      this.#sources[this.#count++] = sourceId
    }
  }

  #grow(size: number): void {
    const room = Math.max(1_024, Math.ceil(this.#count * 1.5))
    const [vectors, ids, sources] = [this.#vectors, this.#ids, this.#sources]
    this.#vectors = new Int8Array(room * size)
    this.#ids = new Float64Array(room)
    this.#sources = new Int32Array(room)
    this.#vectors.set(vectors.subarray(0, this.#count * size))
    this.#ids.set(ids.subarray(0, this.#count))
    this.#sources.set(sources.subarray(0, this.#count))
  }
}
