// Records that are written under one lock and become visible together. Chunks are collected and compressed together, so that
// common content of sessions is stored once, and small sessions compress as well as large ones.
import type { ChunkRow, FileRow, RemovalRow, VaultIndex } from '../store/sqlite/vault-index.ts'
import { maskId } from './cut.ts'
import {
  encodeRecord,
  encodeTable,
  recordBytes,
  type RecordKind,
  type RecordPlace,
  type TableEntry,
} from './pack-records.ts'
import { chunkRows, rowOf, type ChunkRef, type FileVersion, type Removal } from './file-versions.ts'
import type { Packs } from './packs.ts'
import type { Seal } from './seal.ts'

/** Chunks are compressed together up to this many bytes. To read one chunk, all of them are read. */
const groupBytes = 1024 * 1024
/** How much of a file is read at once; no chunk is larger. */
const readBytes = 2 * 1024 * 1024
const roomBytes = groupBytes + readBytes
/** The table of a record counts its chunks in two bytes. */
const mostChunks = 4_000
/** How many file versions one record has at most: a damaged record loses all of them. */
const versionsTogether = 32

interface BatchParts {
  packs: Packs
  index: VaultIndex
  seal: Seal
}

export class Batch {
  readonly #store: BatchParts
  readonly #added = new Set<string>()
  readonly #chunks: ChunkRow[] = []
  readonly #versions: FileVersion[] = []
  readonly #removals: Removal[] = []
  /** Where the records of this batch end, by pack. */
  readonly #written = new Map<string, number>()
  /** Chunks that are not written yet, one after another. */
  #room: Buffer | undefined
  #readBuffer: Buffer | undefined
  #used = 0
  #table: TableEntry[] = []
  #rawBytes = 0

  constructor(store: BatchParts) {
    this.#store = store
  }

  /** How many bytes of new content wait for `commit`. */
  get rawBytes(): number {
    return this.#rawBytes
  }

  /** For reading the files that are kept, one after another: a buffer for each of them would take much memory. */
  get readBuffer(): Buffer {
    return (this.#readBuffer ??= Buffer.allocUnsafeSlow(readBytes))
  }

  /** Stores the content unless the vault has it. `id` is the id of its session, which is masked. */
  async addChunk(bytes: Buffer, id: string): Promise<ChunkRef> {
    const { content, masked } = await this.#copied(bytes, id)
    const name = this.#store.seal.nameOf(content)
    const hash = name.toString('hex')
    if (!this.#store.index.chunk(hash)) await this.#add(name, content.length)
    return [hash, bytes.length, masked ? 1 : 0]
  }

  /** Stores a chunk of the vault again, for a rewrite of its pack; resolves to its name, which depends on the key. */
  async copyChunk(bytes: Buffer): Promise<string> {
    const { content } = await this.#copied(bytes, '')
    const name = this.#store.seal.nameOf(content)
    await this.#add(name, content.length)
    return name.toString('hex')
  }

  addVersion(version: FileVersion): void {
    this.#versions.push(version)
  }

  remove(removed: Removal): void {
    this.#removals.push(removed)
  }

  /** Copies a record as it is stored, for a rewrite of its pack. */
  async copyRecord({ pack, offset, header }: RecordPlace): Promise<void> {
    await this.#write(await this.#store.packs.read(pack, offset, recordBytes(header)))
  }

  async commit(): Promise<void> {
    await this.#writeGroup()
    const { packs, index } = this.#store
    if (this.#written.size > 0) await packs.sync()
    const [versions, removals] = [await this.#writeVersions(), await this.#writeRemovals()]
    if (this.#written.size === 0) return
    if (versions.length + removals.length > 0) await packs.sync()
    await index.write((rows) => {
      for (const chunk of this.#chunks) rows.addChunk(chunk)
      for (const version of versions) rows.addFile(version)
      for (const row of removals) rows.removeSession(row)
      for (const [pack, end] of this.#written) rows.setScanned(pack, end)
    })
    this.#chunks.length = 0
    this.#written.clear()
    this.#rawBytes = 0
  }

  /** The content where the next chunk begins; it counts only after `#add`. */
  async #copied(bytes: Buffer, id: string): Promise<{ content: Buffer; masked: boolean }> {
    if (this.#used + bytes.length > roomBytes) await this.#writeGroup()
    this.#room ??= Buffer.allocUnsafeSlow(roomBytes)
    const content = this.#room.subarray(this.#used, this.#used + bytes.length)
    bytes.copy(content)
    return { content, masked: maskId(content, id) }
  }

  async #add(name: Buffer, bytes: number): Promise<void> {
    const hash = name.toString('hex')
    if (this.#added.has(hash)) return
    this.#added.add(hash)
    this.#table.push({ name, bytes })
    this.#used += bytes
    this.#rawBytes += bytes
    if (this.#used >= groupBytes || this.#table.length >= mostChunks) await this.#writeGroup()
  }

  async #writeGroup(): Promise<void> {
    const [entries, used] = [this.#table, this.#used]
    if (entries.length === 0) return
    this.#table = []
    this.#used = 0
    const table = encodeTable(entries)
    const hash = this.#store.seal.nameOf(table)
    const content = this.#room!.subarray(0, used)
    const { storedBytes, ...at } = await this.#append('chunks', table, hash, content)
    this.#chunks.push(...chunkRows({ ...at, header: { storedBytes, rawBytes: used } }, entries))
  }

  async #writeVersions(): Promise<FileRow[]> {
    const rows: FileRow[] = []
    while (this.#versions.length > 0) {
      const together = this.#versions.splice(0, versionsTogether)
      const { pack, offset } = await this.#appendJson('files', together)
      rows.push(...together.map((version) => ({ ...rowOf(version), pack, offset })))
    }
    return rows
  }

  async #writeRemovals(): Promise<RemovalRow[]> {
    const rows: RemovalRow[] = []
    for (const removed of this.#removals.splice(0)) {
      const { pack, offset } = await this.#appendJson('removal', removed)
      rows.push({ ...removed, forever: Number(removed.forever), pack, offset })
    }
    return rows
  }

  #appendJson(kind: RecordKind, value: unknown): Promise<RecordAt> {
    const content = Buffer.from(JSON.stringify(value))
    return this.#append(kind, Buffer.alloc(0), this.#store.seal.nameOf(content), content)
  }

  async #append(kind: RecordKind, table: Buffer, hash: Buffer, raw: Buffer): Promise<RecordAt> {
    const { seal } = this.#store
    const content = seal.pack(raw)
    const record = { kind, isSealed: seal.isSealed, table, hash, rawBytes: raw.length, content }
    return { ...(await this.#write(encodeRecord(record))), storedBytes: content.length }
  }

  async #write(record: Buffer): Promise<{ pack: string; offset: number }> {
    const { packs, index } = this.#store
    const at = await packs.append(record, (pack) => index.packs().get(pack) ?? 0)
    this.#written.set(at.pack, at.offset + record.length)
    return at
  }
}

interface RecordAt {
  pack: string
  offset: number
  /** The length of its content in the pack. */
  storedBytes: number
}
