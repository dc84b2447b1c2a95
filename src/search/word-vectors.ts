// Meaning from words: a vector for each of 29,000 words and pieces of words, a text being the sum of its words. The vectors are
// fitted such that these sums are near what all-MiniLM-L6-v2 makes of a sentence. Less than the model itself finds, but it needs
// no native code and no download, and is fast enough for every message ever sent. scripts/make-word-vectors.py made the table.
import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Embedder } from '../domain/search.ts'
import { fillerWords } from '../domain/text.ts'
import { splitIdentifier } from './query.ts'

export const wordVectorModel = 'minilm-words-128'
export const wordVectorLanguages = 'English'

export function openWordVectors(): Embedder {
  const table = new WordTable(readFileSync(tableFile()))
  return {
    name: wordVectorModel,
    languages: wordVectorLanguages,
    knows: (text) => wordsOf(text).some((word) => isMeaningful(word) && table.has(word)),
    embed: async (texts) => texts.map((text) => embed(table, text)),
  }
}

/** Beside this module, or, in a build, at the top of it. */
function tableFile(): string {
  const places = ['./word-vectors.bin', '../word-vectors.bin']
  const paths = places.map((place) => fileURLToPath(new URL(place, import.meta.url)))
  return paths.find((path) => existsSync(path)) ?? paths[0]!
}

/** Sorted pieces and their vectors. Reads the bytes of the file without parsing all of them: a query needs few. A piece that
 *  continues a word begins with `##`. */
class WordTable {
  readonly width: number
  readonly #bytes: Buffer
  readonly #count: number
  readonly #words: number
  readonly #scales: number
  readonly #rows: number
  /** Positions of the pieces of words that were looked up; texts repeat words. */
  readonly #places = new Map<string, number[]>()

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.#count = bytes.readUInt32LE(0)
    this.width = bytes.readUInt32LE(8)
    this.#words = startsAt + 4 * (this.#count + 1)
    this.#scales = this.#words + bytes.readUInt32LE(4)
    this.#rows = this.#scales + 4 * this.#count
  }

  /** Adds the vectors of the word's pieces to the sum. */
  addTo(sum: Float32Array, word: string): void {
    let places = this.#places.get(word)
    if (!places) {
      if (this.#places.size >= cachedWords) this.#places.clear()
      this.#places.set(word, (places = this.#piecesOf(word)))
    }
    for (const place of places) {
      const scale = this.#bytes.readFloatLE(this.#scales + 4 * place)
      for (let k = 0, at = this.#rows + place * this.width; k < this.width; k++, at++) {
        sum[k]! += scale * ((this.#bytes[at]! << 24) >> 24)
      }
    }
  }

  has(word: string): boolean {
    return this.#find(word) >= 0
  }

  /** The longest pieces that make up the word, from its beginning; none if it cannot be made up. */
  #piecesOf(word: string): number[] {
    const places: number[] = []
    for (let start = 0; start < word.length;) {
      let end = word.length
      let place = -1
      for (; end > start && place < 0; end--)
        place = this.#find((start > 0 ? '##' : '') + word.slice(start, end))
      if (place < 0) return []
      places.push(place)
      start = end + 1
    }
    return places
  }

  #find(word: string): number {
    let low = 0
    for (let high = this.#count - 1; low <= high;) {
      const middle = (low + high) >> 1
      const found = this.#word(middle)
      if (found === word) return middle
      if (found < word) low = middle + 1
      else high = middle - 1
    }
    return -1
  }

  #word(place: number): string {
    const start = this.#bytes.readUInt32LE(startsAt + 4 * place)
    const end = this.#bytes.readUInt32LE(startsAt + 4 * place + 4)
    return this.#bytes.toString('latin1', this.#words + start, this.#words + end)
  }
}

/** The file has three numbers (of words, of their bytes, and of values in a vector), where each word starts, the words, a scale
 *  for each, and the vectors in steps of that scale. */
const startsAt = 12
const cachedWords = 50_000
/** Longer ones are no words of a language. */
const longestWord = 40

function embed(table: WordTable, text: string): Float32Array {
  const sum = new Float32Array(table.width)
  for (const word of wordsOf(text)) if (word.length <= longestWord) table.addTo(sum, word)
  return sum
}

/** Letters and filler words are in the table too, and beside a word that is not they say nothing. */
function isMeaningful(word: string): boolean {
  return /^[a-z]{3}/.test(word) && !fillerWords.has(word)
}

function wordsOf(text: string): string[] {
  const plain = splitIdentifier(text).normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z][a-z0-9]*|\d+/g) ?? []
}
