// The pack files of a vault: records are appended, never changed. A record is on disk when `sync` resolves. A pack that ends
// with an unfinished record is left as it is, and the next record begins a new pack.
import { constants, type Stats } from 'node:fs'
import { open, readdir, rm, stat, type FileHandle } from 'node:fs/promises'
import { join } from 'node:path'
import {
  asFileError,
  ensureDirectory,
  errorCode,
  syncDirectory,
  unlessMissing,
} from '../store/disk/atomic-file.ts'
import {
  decodeHeader,
  headerBytes,
  looksUnfinished,
  nextMagic,
  recordBytes,
  tableBytes,
  type RecordPlace,
} from './pack-records.ts'

const packBytes = 64 * 1024 * 1024
const packName = /^(\d{8})\.pack$/
const readBytes = 1024 * 1024

/** Bytes of a pack that belong to no record. */
interface Gap {
  pack: string
  offset: number
  bytes: number
  /** At the end of a pack, and what an interrupted write leaves; nothing refers to it. */
  isUnfinished: boolean
}

interface OpenPack {
  pack: string
  file: FileHandle
  size: number
}

export class Packs {
  readonly folder: string
  readonly #readers = new Map<string, FileHandle>()
  #writer: OpenPack | undefined

  constructor(folder: string) {
    this.folder = folder
  }

  /** Names and sizes, in the order in which they were written. */
  async list(): Promise<Array<{ pack: string; bytes: number; isFile: boolean }>> {
    const names = ((await readdir(this.folder).catch(unlessMissing)) ?? []).filter((name) =>
      packName.test(name),
    )
    const sized = names.sort().map(async (pack) => {
      const found = await stat(join(this.folder, pack)).catch(unlessMissing)
      return found ? [{ pack, bytes: sizeOf(found), isFile: found.isFile() }] : []
    })
    return (await Promise.all(sized)).flat()
  }

  /** The caller holds the lock of the vault. `cleanEnd` is where the known records of the last pack end. */
  async append(
    record: Buffer,
    cleanEnd: (pack: string) => number,
  ): Promise<{ pack: string; offset: number }> {
    try {
      const writer = await this.#writable(cleanEnd)
      const offset = writer.size
      await writeFully(writer.file, record, offset)
      writer.size += record.length
      return { pack: writer.pack, offset }
    } catch (error) {
      // The pack may end with a part of the record: the next one begins a new pack.
      await this.#endWriter()
      throw asFileError(error, this.folder)
    }
  }

  async sync(): Promise<void> {
    await this.#writer?.file.datasync()
  }

  /** Another process may write the next record. */
  async release(): Promise<void> {
    await this.#endWriter()
  }

  /** Begins a new pack, for a rewrite of old ones. */
  async startPack(): Promise<void> {
    await this.#endWriter()
    await this.#create()
  }

  async remove(pack: string): Promise<void> {
    await this.#readers.get(pack)?.close()
    this.#readers.delete(pack)
    await rm(join(this.folder, pack), { force: true })
    await syncDirectory(this.folder)
  }

  async read(pack: string, offset: number, bytes: number): Promise<Buffer> {
    try {
      return await this.#readBytes(pack, offset, bytes)
    } catch (error) {
      if (errorCode(error) === 'EISDIR') return Buffer.alloc(0)
      throw asFileError(error, join(this.folder, pack))
    }
  }

  async #readBytes(pack: string, offset: number, bytes: number): Promise<Buffer> {
    const file = this.#readers.get(pack) ?? (await this.#openReader(pack))
    const buffer = Buffer.allocUnsafe(bytes)
    let filled = 0
    for (let read = -1; read !== 0 && filled < bytes; filled += read)
      ({ bytesRead: read } = await file.read(buffer, filled, bytes - filled, offset + filled))
    return buffer.subarray(0, filled)
  }

  /** The stored content of a record. */
  content({ pack, offset, header }: RecordPlace): Promise<Buffer> {
    return this.read(pack, offset + headerBytes + tableBytes(header), header.storedBytes)
  }

  /** The table of chunks of a record. */
  table({ pack, offset, header }: RecordPlace): Promise<Buffer> {
    return this.read(pack, offset + headerBytes, tableBytes(header))
  }

  /** Every record of a pack from `offset` on, in order, and the bytes between that belong to none. */
  async *scan(pack: string, offset: number): AsyncGenerator<RecordPlace | Gap> {
    const stats = await stat(join(this.folder, pack))
    const size = sizeOf(stats)
    if (!stats.isFile()) yield { pack, offset: 0, bytes: 0, isUnfinished: false }
    for (let at = offset; at < size;) {
      const header = decodeHeader(await this.read(pack, at, headerBytes))
      if (header && at + recordBytes(header) <= size) {
        yield { pack, offset: at, header }
        at += recordBytes(header)
      } else {
        const next = await this.#nextRecord(pack, at + 1, size)
        const isUnfinished = next === size && looksUnfinished(await this.read(pack, at, size - at))
        yield { pack, offset: at, bytes: next - at, isUnfinished }
        at = next
      }
    }
  }

  async close(): Promise<void> {
    await this.#endWriter()
    for (const file of this.#readers.values()) await file.close()
    this.#readers.clear()
  }

  /** The offset of the next whole record after damage; the size of the pack if there is none. */
  async #nextRecord(pack: string, from: number, size: number): Promise<number> {
    for (let at = from; at < size; at += readBytes) {
      // The overlap finds a header that begins in this part and ends in the next.
      const bytes = await this.read(pack, at, readBytes + headerBytes)
      for (let found = nextMagic(bytes, 0); found >= 0; found = nextMagic(bytes, found + 1)) {
        const header = decodeHeader(bytes, found)
        if (header && at + found + recordBytes(header) <= size) return at + found
      }
    }
    return size
  }

  async #writable(cleanEnd: (pack: string) => number): Promise<OpenPack> {
    if (this.#writer && this.#writer.size < packBytes) return this.#writer
    await this.#endWriter()
    const last = (await this.list()).at(-1)
    if (!last?.isFile || last.bytes >= packBytes || last.bytes !== cleanEnd(last.pack)) return this.#create()
    const file = await open(join(this.folder, last.pack), 'r+')
    return (this.#writer = { pack: last.pack, file, size: last.bytes })
  }

  async #create(): Promise<OpenPack> {
    await ensureDirectory(this.folder)
    const last = (await this.list()).at(-1)?.pack ?? '0'
    const pack = `${String(Number.parseInt(last, 10) + 1).padStart(8, '0')}.pack`
    const file = await open(
      join(this.folder, pack),
      constants.O_RDWR | constants.O_CREAT | constants.O_EXCL,
      0o600,
    )
    await file.chmod(0o600)
    await syncDirectory(this.folder)
    return (this.#writer = { pack, file, size: 0 })
  }

  async #endWriter(): Promise<void> {
    const writer = this.#writer
    this.#writer = undefined
    await writer?.file.close()
  }

  async #openReader(pack: string): Promise<FileHandle> {
    const file = await open(join(this.folder, pack), constants.O_RDONLY | constants.O_NOFOLLOW)
    this.#readers.set(pack, file)
    return file
  }
}

/** A folder in place of a pack counts as an empty one: its records are missing, and the vault continues. */
function sizeOf(stats: Stats): number {
  return stats.isFile() ? stats.size : 0
}

export function isGap(found: RecordPlace | Gap): found is Gap {
  return !('header' in found)
}

async function writeFully(file: FileHandle, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;) {
    const { bytesWritten } = await file.write(bytes, done, bytes.length - done, position + done)
    done += bytesWritten
  }
}
