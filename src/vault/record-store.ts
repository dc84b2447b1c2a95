// The records of the vault with their index. Writers of several processes take turns by a lock; each first reads what the
// others appended. Chunks are on disk before the file version that names them is written.
import { join } from 'node:path'
import { z } from 'zod'
import { KeyedQueue } from '../domain/async.ts'
import { crc32 } from 'node:zlib'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { FileLock } from '../store/disk/file-lock.ts'
import { ensureDirectory } from '../store/disk/atomic-file.ts'
import {
  VaultIndex,
  type ChunkRow,
  type FileRow,
  type IndexChange,
  type RemovalRow,
} from '../store/sqlite/vault-index.ts'
import { Packs, isGap } from './packs.ts'
import { encodeRecord, headerBytes, type RecordKind, type RecordPlace } from './pack-records.ts'
import { Seal } from './seal.ts'

/** A version of a kept file as it is stored. */
export const fileVersion = z.object({
  session: z.string(),
  root: z.string(),
  path: z.string(),
  agent: z.string(),
  size: z.number(),
  mtime: z.number(),
  inode: z.number(),
  keptAt: z.number(),
  settled: z.number(),
  /** The session for lists; only of its main file. */
  about: z.record(z.string(), z.unknown()).optional(),
  /** Hash, length, and whether the id of the session is masked. */
  chunks: z.array(z.tuple([z.string(), z.number(), z.literal([0, 1])])),
})
export type FileVersion = z.infer<typeof fileVersion>
export type ChunkRef = FileVersion['chunks'][number]

export const removal = z.object({ session: z.string(), at: z.number(), forever: z.boolean() })
export type Removal = z.infer<typeof removal>

export interface StoreParts {
  folder: string
  indexFile: string
  seal: Seal
  log: Log
}

/** So many chunks are compressed at the same time: the threads of the system's pool. */
const atOnce = 4

export class RecordStore {
  readonly packs: Packs
  readonly index: VaultIndex
  readonly seal: Seal
  readonly #lock: FileLock
  readonly #folder: string

  constructor({ folder, indexFile, seal, log }: StoreParts) {
    this.#folder = folder
    this.seal = seal
    this.packs = new Packs(join(folder, 'packs'))
    this.index = VaultIndex.open(seal.isSealed ? ':memory:' : indexFile, log)
    this.#lock = new FileLock(join(folder, 'vault'))
  }

  /** Reads records that were appended since, by this process or another. */
  async refresh(): Promise<void> {
    const known = this.index.packs()
    const packs = await this.packs.list()
    const present = new Map(packs.map(({ pack, bytes }) => [pack, bytes]))
    // Another process rewrote packs, or an older copy of the vault was put in place: nothing in the index is certain.
    const isStale = [...known].some(([pack, scanned]) => (present.get(pack) ?? -1) < scanned)
    const unread = packs.filter(({ pack, bytes }) => isStale || (known.get(pack) ?? 0) < bytes)
    if (!isStale && unread.length === 0) return
    const found = new Map<string, PackContent>()
    for (const { pack } of unread)
      found.set(pack, await this.#scanPack(pack, isStale ? 0 : (known.get(pack) ?? 0)))
    await this.index.write((rows) => {
      if (isStale) rows.clear()
      for (const { chunks } of found.values()) for (const place of chunks) addChunk(rows, place)
      // After all chunks: a rewritten pack has chunks that file versions in older packs name.
      for (const [pack, { others, end }] of found) {
        for (const [place, content] of others) addRecord(rows, place, content)
        rows.setScanned(pack, end)
      }
    })
  }

  /** Runs `work` while no other process writes. What it added is on disk and known when this resolves. */
  async write<T>(op: string, work: (batch: Batch) => Promise<T>): Promise<T> {
    await ensureDirectory(this.#folder)
    return this.#lock.hold(op, async () => {
      await this.refresh()
      const batch = new Batch(this)
      try {
        const result = await work(batch)
        await batch.commit()
        return result
      } finally {
        await batch.settled()
        await this.packs.release()
      }
    })
  }

  /** The content of a chunk. Throws `damaged` if it is not what was stored. */
  async chunk(hash: string): Promise<Buffer> {
    const row = this.index.chunk(hash)
    if (!row) throw new RockpoolError('damaged', `A chunk is missing in the vault: ${hash.slice(0, 16)}.`)
    return this.content(await this.#placeOf(row))
  }

  /** The content of any record, compared with its name. */
  async content(place: RecordPlace): Promise<Buffer> {
    const { header } = place
    const stored = await this.packs.content(place)
    if (stored.length !== header.storedBytes || crc32(stored) !== header.contentChecksum)
      throw damagedRecord(place)
    const content = await this.seal
      .unpack(stored, header.isSealed, header.rawBytes)
      .catch((error: unknown) => {
        throw error instanceof RockpoolError ? error : damagedRecord(place, error)
      })
    const isSame =
      content.length === header.rawBytes && this.#nameOf(content, header.isSealed).equals(header.hash)
    if (!isSame) throw damagedRecord(place)
    return content
  }

  async close(): Promise<void> {
    await this.packs.close()
    await this.index.close()
  }

  /** Records from before the vault was encrypted have a name without key. */
  #nameOf(content: Buffer, isSealed: boolean): Buffer {
    return (isSealed ? this.seal : new Seal()).nameOf(content)
  }

  async #placeOf({ pack, offset, hash }: ChunkRow): Promise<RecordPlace> {
    for await (const found of this.packs.scan(pack, offset)) {
      if (!isGap(found) && found.header.hash.toString('hex') === hash) return found
      break
    }
    throw new RockpoolError('damaged', `The header of a chunk is damaged in ${pack} at ${offset}.`)
  }

  async #scanPack(pack: string, from: number): Promise<PackContent> {
    const found: PackContent = { chunks: [], others: [], end: from }
    for await (const place of this.packs.scan(pack, from)) {
      if (isGap(place)) continue
      found.end = place.offset + headerBytes + place.header.storedBytes
      if (place.header.kind === 'chunk') found.chunks.push(place)
      else found.others.push([place, await this.#read(place)])
    }
    return found
  }

  /** A damaged record is left out; `verify` reports it. */
  async #read(place: RecordPlace): Promise<unknown> {
    try {
      return JSON.parse((await this.content(place)).toString('utf8')) as unknown
    } catch (error) {
      if (error instanceof RockpoolError && error.code === 'refused') throw error
      return undefined
    }
  }
}

/** Records that are written under one lock, and become visible together. */
export class Batch {
  readonly #store: RecordStore
  readonly #added = new Set<string>()
  readonly #storing = new Set<Promise<void>>()
  readonly #writes = new KeyedQueue()
  readonly #chunks: ChunkRow[] = []
  readonly #versions: FileVersion[] = []
  readonly #removals: Removal[] = []
  /** Where the records of this batch end, by pack. */
  readonly #written = new Map<string, number>()
  #rawBytes = 0

  constructor(store: RecordStore) {
    this.#store = store
  }

  /** How many bytes of new content wait for `commit`. */
  get rawBytes(): number {
    return this.#rawBytes
  }

  /** Stores the content unless the vault has it; resolves to its name. Some contents are compressed at the same time. */
  async addChunk(content: Buffer): Promise<string> {
    const { seal, index } = this.#store
    const name = seal.nameOf(content)
    const hash = name.toString('hex')
    if (this.#added.has(hash) || index.chunk(hash)) return hash
    this.#added.add(hash)
    this.#rawBytes += content.length
    while (this.#storing.size >= atOnce) await Promise.race(this.#storing)
    const storing = this.#storeChunk(hash, name, content)
    this.#storing.add(storing)
    void storing.finally(() => this.#storing.delete(storing)).catch(() => {})
    return hash
  }

  async #storeChunk(hash: string, name: Buffer, content: Buffer): Promise<void> {
    const { pack, offset, stored } = await this.#append('chunk', name, content)
    this.#chunks.push({ hash, pack, offset, stored, raw: content.length })
  }

  /** Resolves when no chunk is being written, also after a failure. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#storing)
  }

  addVersion(version: FileVersion): void {
    this.#versions.push(version)
  }

  remove(removed: Removal): void {
    this.#removals.push(removed)
  }

  /** Copies a record as it is stored, for a rewrite of its pack. */
  async copy(place: RecordPlace): Promise<void> {
    const { packs } = this.#store
    await this.#write(await packs.read(place.pack, place.offset, headerBytes + place.header.storedBytes))
  }

  async commit(): Promise<void> {
    await Promise.all(this.#storing)
    if (this.#chunks.length + this.#versions.length + this.#removals.length === 0) return
    const { packs, index } = this.#store
    if (this.#chunks.length > 0) await packs.sync()
    const versions: FileRow[] = []
    for (const version of this.#versions) {
      const { pack, offset } = await this.#appendJson('file', version)
      versions.push({ ...rowOf(version), pack, offset })
    }
    const removals: RemovalRow[] = []
    for (const { forever, ...removed } of this.#removals) {
      const { pack, offset } = await this.#appendJson('removal', { ...removed, forever })
      removals.push({ ...removed, forever: Number(forever), pack, offset })
    }
    await packs.sync()
    await index.write((rows) => {
      for (const chunk of this.#chunks) rows.addChunk(chunk)
      for (const version of versions) rows.addFile(version)
      for (const row of removals) rows.removeSession(row)
      for (const [pack, end] of this.#written) rows.setScanned(pack, end)
    })
    this.#chunks.length = this.#versions.length = this.#removals.length = 0
    this.#rawBytes = 0
  }

  #appendJson(kind: RecordKind, value: unknown): Promise<RecordAt> {
    const content = Buffer.from(JSON.stringify(value))
    return this.#append(kind, this.#store.seal.nameOf(content), content)
  }

  async #append(kind: RecordKind, hash: Buffer, content: Buffer): Promise<RecordAt> {
    const { seal } = this.#store
    const header = { kind, isSealed: seal.isSealed, rawBytes: content.length, hash }
    return this.#write(encodeRecord(header, await seal.pack(content)))
  }

  async #write(record: Buffer): Promise<RecordAt> {
    const { packs, index } = this.#store
    const at = await this.#writes.run('', () => packs.append(record, (pack) => index.packs().get(pack) ?? 0))
    this.#written.set(at.pack, at.offset + record.length)
    return { ...at, stored: record.length - headerBytes }
  }
}

/** `stored`: the length of its content in the pack. */
type RecordAt = { pack: string; offset: number; stored: number }

function rowOf({ about, chunks, ...version }: FileVersion): Omit<FileRow, 'pack' | 'offset'> {
  return { ...version, about: about ? JSON.stringify(about) : null, chunks: JSON.stringify(chunks) }
}

/** What a scan found, and where its last record ends. */
interface PackContent {
  chunks: RecordPlace[]
  others: Array<[RecordPlace, unknown]>
  end: number
}

function addChunk(rows: IndexChange, { pack, offset, header }: RecordPlace): void {
  const hash = header.hash.toString('hex')
  rows.addChunk({ hash, pack, offset, stored: header.storedBytes, raw: header.rawBytes })
}

function addRecord(rows: IndexChange, { pack, offset, header }: RecordPlace, content: unknown): void {
  if (header.kind === 'removal') {
    const removed = removal.safeParse(content)
    if (removed.success)
      rows.removeSession({ ...removed.data, forever: Number(removed.data.forever), pack, offset })
    return
  }
  const version = fileVersion.safeParse(content)
  // A version whose chunks did not reach the disk does not replace the one before.
  if (version.success && version.data.chunks.every(([chunk]) => rows.hasChunk(chunk)))
    rows.addFile({ ...rowOf(version.data), pack, offset })
}

function damagedRecord({ pack, offset }: RecordPlace, cause?: unknown): RockpoolError {
  return new RockpoolError('damaged', `A record of the vault is damaged: ${pack} at ${offset}.`, {
    hint: '`rockpool vault verify` lists the sessions that need it.',
    cause,
  })
}
