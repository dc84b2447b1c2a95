// The compiled part of the scan (wasm/): it reads the bytes of a transcript in a memory of its own. This file gives names to what
// it found there. Compiled code is as fast in the first second as later, and the first scan of a machine takes only one or two.
import { existsSync, readFileSync } from 'node:fs'

/** Not in the types of Node. */
declare const WebAssembly: {
  Module: new (bytes: Uint8Array) => object
  Instance: new (module: object) => { exports: Exports }
}

/** The inside of a string, without its quotes, or a whole object. Absent when `start` is -1. */
export interface Span {
  readonly start: number
  readonly end: number
}

const fieldNames = [
  ...(['kind', 'isSound', 'isMeta', 'isCompactSummary', 'isSidechain', 'isApiErrorMessage'] as const),
  ...(['isToolResult', 'hasBlocks', 'hasUsage', 'hasCacheBreakdown', 'isFast'] as const),
  ...(['inputTokens', 'outputTokens', 'cacheReadTokens', 'cacheCreationTokens'] as const),
  ...(['cache5mTokens', 'cache1hTokens', 'callCount', 'resultAt'] as const),
  ...(['idLow', 'idHigh', 'isError', 'isShown', 'hashCount'] as const),
]
type FieldName = (typeof fieldNames)[number]

interface Exports {
  memory: { buffer: ArrayBuffer }
  bufferBytes: { value: number }
  bufferAt(): number
  spansAt(): number
  fieldsAt(): number
  hashesAt(): number
  callsAt(): number
  callNumbers: { value: number }
  /** The position of the first such byte; at or behind `end` if there is none. */
  find(byte: number, at: number, end: number): number
  walk(start: number, end: number, isWhole: boolean): void
  mayWrite(at: number, end: number): boolean
  readResultId(at: number, end: number): void
  readResult(at: number, end: number): void
  hashText(start: number, end: number): void
}

/** A span that the compiled code notes. */
class NotedSpan implements Span {
  readonly #numbers: Int32Array
  readonly #at: number

  constructor(numbers: Int32Array, at: number) {
    this.#numbers = numbers
    this.#at = at
  }

  get start(): number {
    return this.#numbers[this.#at]!
  }

  get end(): number {
    return this.#numbers[this.#at + 1]!
  }
}

/** One instance for each scanner: it has the buffer that the scanner fills. */
export class ScanCode {
  /** The bytes of transcripts are read into it. All positions count from its beginning. */
  readonly buffer: Buffer
  readonly fields: Int32Array
  /** The calls of the reply that was walked last, `callNumbers` for each. */
  readonly calls: Int32Array
  readonly run: Exports
  readonly #spans: Int32Array
  readonly #hashes: Uint32Array
  readonly #hashCount: number

  constructor() {
    this.run = newInstance()
    const { buffer } = this.run.memory
    const hashesAt = this.run.hashesAt()
    this.buffer = Buffer.from(buffer, this.run.bufferAt(), this.run.bufferBytes.value)
    this.fields = new Int32Array(buffer, this.run.fieldsAt(), this.#numberOf('Field.count'))
    this.calls = new Int32Array(buffer, this.run.callsAt())
    this.#spans = new Int32Array(buffer, this.run.spansAt(), this.#numberOf('Span.count') * 2)
    this.#hashes = new Uint32Array(buffer, hashesAt, (buffer.byteLength - hashesAt) >> 2)
    this.#hashCount = this.#numberOf('Field.hashCount')
  }

  /** The numbers of the fields by their names. */
  fieldNumbers(): Record<FieldName, number> {
    const numbers = fieldNames.map((name) => [name, this.#numberOf(`Field.${name}`)])
    return Object.fromEntries(numbers) as Record<FieldName, number>
  }

  span(name: string): Span {
    return new NotedSpan(this.#spans, this.#numberOf(`Span.${name}`) * 2)
  }

  /** The number of a part of an enumeration of the compiled code. */
  #numberOf(name: string): number {
    return (this.run as unknown as Record<string, { value: number }>)[name]!.value
  }

  /** A copy of the hashes that the last call has found. */
  hashes(): Uint32Array {
    return this.#hashes.slice(0, this.fields[this.#hashCount])
  }

  firstHash(): number | undefined {
    return this.fields[this.#hashCount] === 0 ? undefined : this.#hashes[0]
  }
}

let compiled: object | undefined

function newInstance(): Exports {
  // Beside this module in the sources, at the top of the build.
  const places = ['./scan.wasm', '../scan.wasm'].map((name) => new URL(name, import.meta.url))
  compiled ??= new WebAssembly.Module(readFileSync(places.find((place) => existsSync(place))!))
  return new WebAssembly.Instance(compiled).exports
}
