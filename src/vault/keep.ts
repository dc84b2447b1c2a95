// Keeps the files of a session: reads what is new in each, cuts it into chunks, and stores those that the vault does not have.
// What was appended since the last time is stored as a small chunk of its own; later these are joined and cut by content.
import type { FileHandle } from 'node:fs/promises'
import { relative } from 'node:path'
import { errorCode } from '../store/disk/atomic-file.ts'
import { openForeignHandle } from '../store/disk/foreign-file.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { maskId, nextCut } from './cut.ts'
import type { Batch, ChunkRef, FileVersion, RecordStore } from './record-store.ts'

/** The files of one session of any agent. */
export interface SessionToKeep {
  sessionId: string
  /** The program that made the session: `claude`. */
  agent: string
  /** The directory that all files are in; restored files are put below it. */
  root: string
  /** Absolute paths; the first is the transcript. */
  files: readonly string[]
  /** The session as lists show it. */
  about: Record<string, unknown>
}

/** Chunks at the end that were appended one by one are joined when there are so many, or so large. */
const mostTailChunks = 32
const mostTailBytes = 512 * 1024
const windowBytes = 2 * 1024 * 1024

/** Adds every changed file of the session to the batch; resolves to the bytes that were read. */
export async function keepSession(
  store: RecordStore,
  batch: Batch,
  session: SessionToKeep,
  now: number,
): Promise<number> {
  let read = 0
  for (const [index, file] of session.files.entries()) {
    try {
      await using handle = await openForeignHandle(file, { noLink: true })
      const keeper = new FileKeeper(store, batch, session, { file, isMain: index === 0, handle, now })
      read += await keeper.keep()
    } catch (error) {
      // Deleted meanwhile, or not a regular file: what was kept of it stays.
      if (!['ENOENT', 'ENOTDIR', 'ELOOP', 'EACCES', 'refused'].includes(errorCode(error) ?? '')) throw error
    }
  }
  return read
}

interface FileToKeep {
  file: string
  isMain: boolean
  handle: FileHandle
  now: number
}

class FileKeeper {
  readonly #store: RecordStore
  readonly #batch: Batch
  readonly #session: SessionToKeep
  readonly #of: FileToKeep
  #read = 0

  constructor(store: RecordStore, batch: Batch, session: SessionToKeep, of: FileToKeep) {
    this.#store = store
    this.#batch = batch
    this.#session = session
    this.#of = of
  }

  async keep(): Promise<number> {
    const { size, mtimeMs, ino } = await this.#of.handle.stat()
    const { sessionId, root } = this.#session
    const path = relative(root, this.#of.file)
    const known = this.#store.index.file(sessionId, root, path)
    if (known?.size === size && known.mtime === mtimeMs && known.inode === ino) return 0
    const { chunks, settled } = await this.#chunksOf(known, size, ino)
    this.#batch.addVersion(this.#version(path, chunks, { settled, mtime: mtimeMs, inode: ino }))
    return this.#read
  }

  #version(
    path: string,
    chunks: ChunkRef[],
    about: Pick<FileVersion, 'settled' | 'mtime' | 'inode'>,
  ): FileVersion {
    const { sessionId, agent, root } = this.#session
    return {
      session: sessionId,
      root,
      path,
      agent,
      size: bytesIn(chunks),
      ...about,
      keptAt: this.#of.now,
      about: this.#of.isMain ? this.#session.about : undefined,
      chunks,
    }
  }

  /** Of a file that has only grown, the chunks before stay. */
  async #chunksOf(known: FileRow | undefined, size: number, inode: number): Promise<Cut> {
    if (!known || known.inode !== inode || size <= known.size) return this.#cutFrom([], size)
    const before = JSON.parse(known.chunks) as ChunkRef[]
    if (!(await this.#isSameEnd(before, known.size))) return this.#cutFrom([], size)
    const settled = before.slice(0, known.settled)
    const tailBytes = size - bytesIn(settled)
    const isLong = before.length - known.settled >= mostTailChunks || tailBytes > mostTailBytes
    if (isLong) return this.#cutFrom(settled, size)
    const added = await this.#keepChunk(await this.#readAt(known.size, size - known.size))
    return { chunks: [...before, added], settled: known.settled }
  }

  /** The last chunk is still what the file has there, so nothing before the end was rewritten. */
  async #isSameEnd(chunks: ChunkRef[], size: number): Promise<boolean> {
    const last = chunks.at(-1)
    if (!last) return size === 0
    const [hash, bytes, masked] = last
    const there = await this.#readAt(size - bytes, bytes)
    const content = masked ? maskId(there, this.#session.sessionId) : there
    return content !== undefined && this.#store.seal.nameOf(content).toString('hex') === hash
  }

  /** Cuts the file after `chunks` by content; the rest after the last cut is a chunk that is not settled. */
  async #cutFrom(chunks: ChunkRef[], size: number): Promise<Cut> {
    const { sessionId } = this.#session
    const all = [...chunks]
    const window = new ReadWindow(this.#of.handle, bytesIn(chunks), size)
    while (await window.fill()) {
      for (let end = window.nextCut(sessionId); end !== undefined; end = window.nextCut(sessionId))
        all.push(await this.#keepChunk(window.take(end)))
    }
    this.#read += window.read
    const settled = all.length
    const rest = window.takeRest()
    if (rest.length > 0) all.push(await this.#keepChunk(rest))
    return { chunks: all, settled }
  }

  async #keepChunk(bytes: Buffer): Promise<ChunkRef> {
    const masked = maskId(bytes, this.#session.sessionId)
    // A copy, because the chunk is compressed while the window is filled again.
    return [await this.#batch.addChunk(masked ?? Buffer.from(bytes)), bytes.length, masked ? 1 : 0]
  }

  async #readAt(offset: number, bytes: number): Promise<Buffer> {
    const buffer = Buffer.allocUnsafe(bytes)
    const filled = await readFully(this.#of.handle, buffer, offset)
    this.#read += filled
    return buffer.subarray(0, filled)
  }
}

/** A part of a file in one buffer that is used again and again, so that a large file takes little memory. */
class ReadWindow {
  readonly #handle: FileHandle
  readonly #size: number
  readonly #buffer: Buffer
  /** The bytes that were read and not taken: from `#from` to `#end` in the buffer. */
  #from = 0
  #end = 0
  #at: number
  read = 0

  constructor(handle: FileHandle, from: number, size: number) {
    this.#handle = handle
    this.#at = from
    this.#size = size
    this.#buffer = Buffer.allocUnsafe(Math.min(windowBytes, Math.max(size - from, 0)))
  }

  /** Reads more after the bytes that are left; false at the end of the file. */
  async fill(): Promise<boolean> {
    this.#buffer.copyWithin(0, this.#from, this.#end)
    this.#end -= this.#from
    this.#from = 0
    const room = this.#buffer.subarray(this.#end, this.#end + this.#size - this.#at)
    const read = room.length === 0 ? 0 : await readFully(this.#handle, room, this.#at)
    this.#at += read
    this.#end += read
    this.read += read
    return read > 0
  }

  nextCut(id: string): number | undefined {
    return nextCut(this.#buffer.subarray(0, this.#end), this.#from, id)
  }

  take(end: number): Buffer {
    const taken = this.#buffer.subarray(this.#from, end)
    this.#from = end
    return taken
  }

  takeRest(): Buffer {
    return this.take(this.#end)
  }
}

async function readFully(handle: FileHandle, buffer: Buffer, offset: number): Promise<number> {
  let filled = 0
  for (let read = -1; read !== 0 && filled < buffer.length; filled += read)
    ({ bytesRead: read } = await handle.read(buffer, filled, buffer.length - filled, offset + filled))
  return filled
}

interface Cut {
  chunks: ChunkRef[]
  settled: number
}

function bytesIn(chunks: readonly ChunkRef[]): number {
  return chunks.reduce((sum, [, bytes]) => sum + bytes, 0)
}
