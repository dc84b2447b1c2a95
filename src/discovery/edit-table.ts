// The edits in one transcript, packed: for each its file, its time, its place in the transcript and the hashes of the lines that
// it added, at four bytes a line. Also the commits that the session made, and calls whose result is not in the transcript yet.

/** `shell`: a command whose text has the lines, for example a here-document. */
const editKinds = ['edit', 'write', 'shell'] as const

/** Lines that a session added to a file. Every agent's edits are brought to this shape. */
export interface Edit {
  /** An absolute path. */
  file: string
  kind: (typeof editKinds)[number]
  /** Seconds since 1970. */
  seconds: number
  /** Where the record begins that has the result of the call. */
  offset: number
  /** 48 bits of the call's id: a copy in a fork has the same. */
  id: number
  /** Hashes of the added lines. */
  lines: Uint32Array
}

/** A commit that git reported to the session. */
export interface ReportedCommit {
  /** The first seven digits. */
  sha: string
  seconds: number
  offset: number
}

/** The kinds of calls whose results are pending. */
export const callKinds = ['edit', 'write', 'command'] as const

/** A call whose result is not known yet. */
export interface PendingCall {
  toolUseId: string
  kind: (typeof callKinds)[number]
  seconds: number
  /** Where the record of the call begins. */
  offset: number
  /** What a command writes itself. */
  written: Array<Pick<Edit, 'file' | 'lines'>>
  /** A command that may make a commit. */
  mayCommit: boolean
}

const shaDigits = 7
const idBytes = 6

export class EditTable {
  readonly edits: Edit[] = []
  readonly commits: ReportedCommit[] = []
  readonly pending = new Map<string, PendingCall>()

  constructor(packed?: Uint8Array) {
    if (!packed || packed.byteLength === 0) return
    const reader = new PackedReader(packed)
    const files = reader.list(() => reader.text())
    let [seconds, offset] = [0, 0]
    this.edits = reader.list(() => ({
      file: files[reader.number()] ?? '',
      kind: editKinds[reader.number()] ?? 'edit',
      seconds: (seconds += reader.signed()),
      offset: (offset += reader.signed()),
      id: reader.id(),
      lines: reader.hashes(),
    }))
    this.commits = reader.list(() => ({
      sha: reader.number().toString(16).padStart(shaDigits, '0'),
      seconds: reader.number(),
      offset: reader.number(),
    }))
    const pending = reader.list(() => ({
      toolUseId: reader.text(),
      kind: callKinds[reader.number()] ?? 'edit',
      seconds: reader.number(),
      offset: reader.number(),
      mayCommit: reader.number() === 1,
      written: reader.list(() => ({ file: files[reader.number()] ?? '', lines: reader.hashes() })),
    }))
    for (const call of pending) this.pending.set(call.toolUseId, call)
  }

  get isEmpty(): boolean {
    return this.edits.length + this.commits.length + this.pending.size === 0
  }

  /** Hashes of the names of all edited files and of the commits: with them the transcripts are found that have one. */
  names(): Uint8Array {
    const names = new Set<number>()
    let last = ''
    for (const { file } of this.edits) {
      if (file !== last) names.add(nameHash(file))
      last = file
    }
    for (const { sha } of this.commits) names.add(nameHash(sha))
    return new Uint8Array(Uint32Array.from(names).sort().buffer)
  }

  pack(): Uint8Array {
    if (this.isEmpty) return new Uint8Array()
    const pending = [...this.pending.values()]
    const numbers = new Map<string, number>()
    for (const { file } of this.edits) if (!numbers.has(file)) numbers.set(file, numbers.size)
    for (const { written } of pending)
      for (const { file } of written) if (!numbers.has(file)) numbers.set(file, numbers.size)
    const writer = new PackedWriter(this.edits.length * 100 + 400)
    writer.list([...numbers.keys()], (file) => writer.text(file))
    let [seconds, offset] = [0, 0]
    writer.list(this.edits, (edit) => {
      writer.number(numbers.get(edit.file)!)
      writer.number(editKinds.indexOf(edit.kind))
      writer.signed(edit.seconds - seconds)
      writer.signed(edit.offset - offset)
      ;({ seconds, offset } = edit)
      writer.id(edit.id)
      writer.hashes(edit.lines)
    })
    writer.list(this.commits, (commit) => {
      writer.number(Number.parseInt(commit.sha, 16))
      writer.number(commit.seconds)
      writer.number(commit.offset)
    })
    writer.list(pending, (call) => {
      writer.text(call.toolUseId)
      writer.number(callKinds.indexOf(call.kind))
      writer.number(call.seconds)
      writer.number(call.offset)
      writer.number(call.mayCommit ? 1 : 0)
      writer.list(call.written, ({ file, lines }) => {
        writer.number(numbers.get(file)!)
        writer.hashes(lines)
      })
    })
    return writer.bytes()
  }
}

/** The hash of a file's name without its folders, or of the first seven digits of a commit. */
export function nameHash(path: string): number {
  let hash = 0x811c9dc5
  for (let at = path.lastIndexOf('/') + 1; at < path.length; at++)
    // oxlint-disable-next-line unicorn/prefer-code-point -- each unit of the string, which is faster
    hash = Math.imul(hash ^ path.charCodeAt(at), 0x01000193)
  return hash >>> 0
}

/** True if the names of an edit table contain this one. */
export function hasName(names: Uint8Array, wanted: ReadonlySet<number>): boolean {
  // SQLite may return bytes at an address that is not a multiple of four.
  const view = new DataView(names.buffer, names.byteOffset, names.byteLength)
  for (let at = 0; at < names.byteLength; at += 4) if (wanted.has(view.getUint32(at, true))) return true
  return false
}

/** Numbers take as many bytes as they need, seven bits in each. */
class PackedWriter {
  #buffer: Buffer
  #at = 0

  constructor(bytes: number) {
    this.#buffer = Buffer.allocUnsafe(bytes)
  }

  number(value: number): void {
    this.#room(8)
    for (; value >= 128; value = Math.floor(value / 128)) this.#buffer[this.#at++] = (value % 128) | 128
    this.#buffer[this.#at++] = value
  }

  signed(value: number): void {
    this.number(value < 0 ? -value * 2 - 1 : value * 2)
  }

  text(text: string): void {
    const bytes = Buffer.from(text)
    this.number(bytes.length)
    this.#room(bytes.length)
    this.#at += bytes.copy(this.#buffer, this.#at)
  }

  id(id: number): void {
    this.#room(idBytes)
    this.#at = this.#buffer.writeUIntLE(id, this.#at, idBytes)
  }

  hashes(hashes: Uint32Array): void {
    this.number(hashes.length)
    this.#room(hashes.byteLength)
    this.#buffer.set(new Uint8Array(hashes.buffer, hashes.byteOffset, hashes.byteLength), this.#at)
    this.#at += hashes.byteLength
  }

  list<T>(items: readonly T[], write: (item: T) => void): void {
    this.number(items.length)
    for (const item of items) write(item)
  }

  bytes(): Uint8Array {
    return new Uint8Array(this.#buffer.subarray(0, this.#at))
  }

  #room(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    this.#buffer = Buffer.concat([this.#buffer], (this.#at + bytes) * 2)
  }
}

class PackedReader {
  readonly #buffer: Buffer
  #at = 0

  constructor(packed: Uint8Array) {
    this.#buffer = Buffer.from(packed.buffer, packed.byteOffset, packed.byteLength)
  }

  number(): number {
    let [value, scale] = [0, 1]
    for (; ; scale *= 128) {
      const byte = this.#buffer[this.#at++] ?? 0
      value += (byte & 127) * scale
      if (byte < 128) return value
    }
  }

  signed(): number {
    const value = this.number()
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2
  }

  text(): string {
    const length = this.number()
    this.#at += length
    return this.#buffer.toString('utf8', this.#at - length, this.#at)
  }

  id(): number {
    this.#at += idBytes
    return this.#buffer.readUIntLE(this.#at - idBytes, idBytes)
  }

  hashes(): Uint32Array {
    const bytes = this.number() * 4
    this.#at += bytes
    // A copy: numbers of four bytes cannot be read in place at every address.
    return new Uint32Array(new Uint8Array(this.#buffer.subarray(this.#at - bytes, this.#at)).buffer)
  }

  list<T>(read: () => T): T[] {
    return Array.from({ length: this.number() }, read)
  }
}
