// Meaning as numbers: passages get their vectors, a few at a time.
import type { Embedder } from '../domain/search.ts'
import type { SearchIndex } from './search-index.ts'
import { readPassage } from './snippet.ts'

/** How much of a passage its vector stands for. */
const mostChars = 2_000

/** Gives some passages their vectors, the newest first; false when there is nothing left to do. */
export async function addSomeVectors(
  index: SearchIndex,
  embedder: Embedder,
  redact: (text: string) => string,
  limit = 200,
): Promise<boolean> {
  const passages = index.lacking.newest('vector', limit)
  if (passages.length === 0) return false
  const texts = passages.map((passage) => redact(readPassage(passage) ?? '').slice(0, mostChars))
  const vectors = await embedder.embed(texts)
  const made = passages.map(({ id }, i) => {
    const numbers = quantized(vectors[i]!)
    return { id, numbers, signs: signsOf(numbers) }
  })
  await index.vectors.add(embedder.name, made)
  return true
}

/** Of length 1, then in steps of 1/127. */
export function quantized(vector: Float32Array): Int8Array {
  const length = Math.hypot(...vector)
  return Int8Array.from(vector, (value) => (length === 0 ? 0 : Math.round((value / length) * 127)))
}

/** Which numbers are above zero, 32 in one. */
export function signsOf(vector: Int8Array): Int32Array {
  const signs = new Int32Array(Math.ceil(vector.length / 32))
  for (let k = 0; k < vector.length; k++) if (vector[k]! > 0) signs[k >> 5]! |= 1 << (k & 31)
  return signs
}
