// Keeps the files of a session: reads what is new in each, cuts it into chunks, and stores those that the vault does not have.
// What was appended since the last time is stored as a small chunk of its own; later these are joined and cut by content.
import { relative } from 'node:path'
import { TimeSlice } from '../domain/async.ts'
import { errorCode } from '../store/disk/atomic-file.ts'
import { openSource, type KeptSource } from './kept-source.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { maskId, nextCut } from './cut.ts'
import type { Batch } from './batch.ts'
import type { ChunkRef, FileVersion } from './file-versions.ts'
import type { RecordStore } from './record-store.ts'

/** The files of one session of any agent. */
export interface SessionToKeep {
  sessionId: string
  /** The program that made the session: `claude`. */
  agent: string
  /** The directory that all files are in; restored files are put below it. */
  root: string
  /** Absolute paths; the first is the transcript. `<database>#<session id>` stands for rows of a database. */
  files: readonly string[]
  /** The session as lists show it; undefined if only some of its files are named. */
  about: Record<string, unknown> | undefined
}

/** Appended pieces are joined and cut by content when there are this many pieces, or this many bytes. */
const mostTailChunks = 32
const mostTailBytes = 512 * 1024
/** Other tasks get a turn after this time. The files are read without the pool of threads, which takes much less processor time. */
const sliceMs = 10

/** Deleted meanwhile, not a regular file, or a database that cannot be read now, which discovery reports. */
const unreadable = new Set([
  'ENOENT',
  'ENOTDIR',
  'ELOOP',
  'EACCES',
  'refused',
  'ERR_SQLITE_ERROR',
  'ERR_OUT_OF_RANGE',
])

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
      using source = openSource(file)
      const keeper = new FileKeeper(store, batch, session, { file, isMain: index === 0, source, now })
      read += await keeper.keep()
    } catch (error) {
      // The copy that the vault has stays.
      if (!unreadable.has(errorCode(error) ?? '')) throw error
    }
  }
  return read
}

interface FileToKeep {
  file: string
  isMain: boolean
  source: KeptSource
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
    const { source, file } = this.#of
    const { sessionId, root } = this.#session
    const path = relative(root, file)
    const known = this.#store.index.file(sessionId, root, path)
    if (known && source.isSame(known)) return 0
    const { mtime, inode } = source
    const { chunks, settled } = await this.#chunksOf(known, source.size, inode)
    this.#batch.addVersion(this.#version(path, chunks, { settled, mtime, inode }))
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
    if (!this.#isSameEnd(before, known.size)) return this.#cutFrom([], size)
    const settled = before.slice(0, known.settled)
    const appended = before.slice(known.settled + 1)
    const isLong = appended.length >= mostTailChunks || bytesIn(appended) + size - known.size > mostTailBytes
    if (isLong) return this.#cutFrom(settled, size)
    const added = await this.#keepChunk(this.#readAt(known.size, size - known.size))
    return { chunks: [...before, added], settled: known.settled }
  }

  /** The last chunk is still what the file has there, so nothing before the end was rewritten. */
  #isSameEnd(chunks: ChunkRef[], size: number): boolean {
    const last = chunks.at(-1)
    if (!last) return size === 0
    const [hash, bytes, masked] = last
    const there = this.#readAt(size - bytes, bytes)
    if (masked && !maskId(there, this.#session.sessionId)) return false
    return this.#store.seal.nameOf(there).toString('hex') === hash
  }

  /** Cuts the file after `chunks` by content; the rest after the last cut is a chunk that is not settled. */
  async #cutFrom(chunks: ChunkRef[], size: number): Promise<Cut> {
    const { sessionId } = this.#session
    const all = [...chunks]
    const slice = new TimeSlice(sliceMs)
    const window = new ReadWindow(this.#of.source, this.#batch.readBuffer, { from: bytesIn(chunks), size })
    while (window.fill()) {
      if (slice.isUsedUp) await slice.yield()
      for (let end = window.nextCut(sessionId); end !== undefined; end = window.nextCut(sessionId))
        all.push(await this.#keepChunk(window.take(end)))
    }
    this.#read += window.read
    const settled = all.length
    const rest = window.takeRest()
    if (rest.length > 0) all.push(await this.#keepChunk(rest))
    return { chunks: all, settled }
  }

  #keepChunk(bytes: Buffer): Promise<ChunkRef> {
    return this.#batch.addChunk(bytes, this.#session.sessionId)
  }

  #readAt(offset: number, bytes: number): Buffer {
    const buffer = Buffer.allocUnsafe(bytes)
    const filled = this.#of.source.read(buffer, offset)
    this.#read += filled
    return buffer.subarray(0, filled)
  }
}

/** A part of a file in one buffer that is used again and again, so that a large file takes little memory. */
class ReadWindow {
  readonly #source: KeptSource
  readonly #size: number
  readonly #buffer: Buffer
  /** The bytes that were read and not taken: from `#from` to `#end` in the buffer. */
  #from = 0
  #end = 0
  #at: number
  read = 0

  constructor(source: KeptSource, buffer: Buffer, { from, size }: { from: number; size: number }) {
    this.#source = source
    this.#at = from
    this.#size = size
    this.#buffer = buffer
  }

  /** Reads more after the bytes that are left; false at the end of the file. */
  fill(): boolean {
    this.#buffer.copyWithin(0, this.#from, this.#end)
    this.#end -= this.#from
    this.#from = 0
    const room = this.#buffer.subarray(this.#end, this.#end + this.#size - this.#at)
    const read = room.length === 0 ? 0 : this.#source.read(room, this.#at)
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

interface Cut {
  chunks: ChunkRef[]
  settled: number
}

function bytesIn(chunks: readonly ChunkRef[]): number {
  return chunks.reduce((sum, [, bytes]) => sum + bytes, 0)
}
