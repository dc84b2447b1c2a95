// The records of the vault with their index. Writers of several processes take turns by a lock; each first reads what the
// others appended. Chunks are on disk before the file version that names them is written.
import { join } from 'node:path'
import { crc32 } from 'node:zlib'
import { z } from 'zod'
import { RockpoolError } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import { FileLock } from '../store/disk/file-lock.ts'
import { ensureDirectory } from '../store/disk/atomic-file.ts'
import { VaultIndex, type ChunkRow, type IndexChange } from '../store/sqlite/vault-index.ts'
import { Batch } from './batch.ts'
import { chunkRows, fileVersion, removal, rowOf, type FileVersion, type Removal } from './file-versions.ts'
import { Packs, isGap } from './packs.ts'
import { decodeTable, recordBytes, type RecordPlace, type TableEntry } from './pack-records.ts'
import { Seal } from './seal.ts'

interface StoreParts {
  folder: string
  indexFile: string
  seal: Seal
  log: Log
}

export class RecordStore {
  readonly packs: Packs
  readonly index: VaultIndex
  readonly seal: Seal
  readonly #lock: FileLock
  readonly #folder: string
  /** The record of chunks that was read last: the next chunk of a file is often in it. */
  #lastRead: { pack: string; offset: number; isSealed: boolean; content: Buffer } | undefined

  constructor({ folder, indexFile, seal, log }: StoreParts) {
    this.#folder = folder
    this.seal = seal
    this.packs = new Packs(join(folder, 'packs'))
    this.index = VaultIndex.open(indexFile, log, { inMemory: seal.isSealed })
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
      for (const { chunks } of found.values()) for (const row of chunks) rows.addChunk(row)
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
        await this.packs.release()
      }
    })
  }

  /** The content of a chunk. Throws `damaged` if it is not what was stored. */
  async chunk(hash: string): Promise<Buffer> {
    const row = this.index.chunk(hash)
    if (!row) throw new RockpoolError('damaged', `A chunk is missing in the vault: ${hash.slice(0, 16)}.`)
    const { content, isSealed } = await this.#recordOf(row)
    const chunk = Buffer.from(content.subarray(row.start, row.start + row.raw))
    if (this.#nameOf(chunk, isSealed).toString('hex') !== hash) throw damagedRecord(row)
    return chunk
  }

  /** The chunks of a record; those that are not what was stored are left out. Throws `damaged` if none can be read. */
  async chunksIn(place: RecordPlace): Promise<Map<string, Buffer>> {
    const table = await this.#table(place)
    const content = await this.#unpacked(place)
    const whole = new Map<string, Buffer>()
    let start = 0
    for (const { name, bytes } of table) {
      const chunk = content.subarray(start, start + bytes)
      if (this.#nameOf(chunk, place.header.isSealed).equals(name)) whole.set(name.toString('hex'), chunk)
      start += bytes
    }
    return whole
  }

  /** The content of a record that has no chunks, compared with its name. */
  async content(place: RecordPlace): Promise<Buffer> {
    const { header } = place
    const content = await this.#unpacked(place)
    if (!this.#nameOf(content, header.isSealed).equals(header.hash)) throw damagedRecord(place)
    return content
  }

  /** The versions of kept files in a record. */
  async versionsIn(place: RecordPlace): Promise<FileVersion[]> {
    const versions: unknown = JSON.parse((await this.content(place)).toString('utf8'))
    // A record of the first version has one file.
    return z.array(fileVersion).parse(Array.isArray(versions) ? versions : [versions])
  }

  async close(): Promise<void> {
    await this.packs.close()
    await this.index.close()
  }

  /** Records from before the vault was encrypted have a name without key. */
  #nameOf(content: Buffer, isSealed: boolean): Buffer {
    return (isSealed ? this.seal : new Seal()).nameOf(content)
  }

  async #table(place: RecordPlace): Promise<TableEntry[]> {
    const { header } = place
    if (!header.hasTable) return [{ name: header.hash, bytes: header.rawBytes }]
    const table = await this.packs.table(place)
    if (!this.#nameOf(table, place.header.isSealed).equals(place.header.hash)) throw damagedRecord(place)
    return decodeTable(table)
  }

  async #unpacked(place: RecordPlace): Promise<Buffer> {
    const { header } = place
    const stored = await this.packs.content(place)
    if (stored.length !== header.storedBytes || crc32(stored) !== header.contentChecksum)
      throw damagedRecord(place)
    try {
      const content = this.seal.unpack(stored, header.isSealed, header.rawBytes)
      if (content.length === header.rawBytes) return content
    } catch (error) {
      throw error instanceof RockpoolError ? error : damagedRecord(place, error)
    }
    throw damagedRecord(place)
  }

  async #recordOf({ pack, offset }: ChunkRow): Promise<{ isSealed: boolean; content: Buffer }> {
    if (this.#lastRead?.pack === pack && this.#lastRead.offset === offset) return this.#lastRead
    for await (const found of this.packs.scan(pack, offset)) {
      if (isGap(found)) break
      const { isSealed } = found.header
      this.#lastRead = { pack, offset, isSealed, content: await this.#unpacked(found) }
      return this.#lastRead
    }
    throw new RockpoolError('damaged', `The header of a record is damaged in ${pack} at ${offset}.`)
  }

  async #scanPack(pack: string, from: number): Promise<PackContent> {
    const found: PackContent = { chunks: [], others: [], end: from }
    for await (const place of this.packs.scan(pack, from)) {
      if (isGap(place)) continue
      found.end = place.offset + recordBytes(place.header)
      await this.#orSkip(async () => {
        const { kind } = place.header
        if (kind === 'chunks') found.chunks.push(...chunkRows(place, await this.#table(place)))
        else if (kind === 'files') found.others.push([place, await this.versionsIn(place)])
        else found.others.push([place, removal.parse(JSON.parse((await this.content(place)).toString()))])
      })
    }
    return found
  }

  /** A damaged record is left out; `verify` reports it. */
  async #orSkip(read: () => Promise<void>): Promise<void> {
    try {
      await read()
    } catch (error) {
      if (error instanceof RockpoolError && error.code === 'refused') throw error
    }
  }
}

/** The records that a scan found, and where the last one ends. */
interface PackContent {
  chunks: ChunkRow[]
  others: Array<[RecordPlace, FileVersion[] | Removal]>
  end: number
}

function addRecord(rows: IndexChange, { pack, offset }: RecordPlace, content: FileVersion[] | Removal): void {
  if (!Array.isArray(content)) {
    rows.removeSession({ ...content, forever: Number(content.forever), pack, offset })
    return
  }
  for (const version of content) {
    // A version without its chunks, because they did not reach the disk or are damaged, does not replace the one before.
    const isWhole = version.chunks.every(([chunk]) => rows.hasChunk(chunk))
    if (isWhole || !rows.hasFile(version)) rows.addFile({ ...rowOf(version), pack, offset })
  }
}

function damagedRecord(
  { pack, offset }: Pick<RecordPlace, 'pack' | 'offset'>,
  cause?: unknown,
): RockpoolError {
  return new RockpoolError('damaged', `A record of the vault is damaged: ${pack} at ${offset}.`, {
    hint: '`rockpool vault verify` lists the sessions that need it.',
    cause,
  })
}
