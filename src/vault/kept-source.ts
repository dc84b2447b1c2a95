// The content that the vault keeps under a path: the bytes of a file, or the rows of a session in a database as text. All other
// files of the vault work with bytes only.
import { fstatSync, readSync } from 'node:fs'
import { RockpoolError } from '../domain/errors.ts'
import { closeAtEnd, isFile, modifiedAt, openForeign } from '../store/disk/foreign-file.ts'
import type { FileRow } from '../store/sqlite/vault-index.ts'
import { readRows, rowsPlace, rowsState, sessionsIn, type RowsPlace } from '../store/sqlite/session-rows.ts'

export interface KeptSource extends Disposable {
  readonly size: number
  readonly mtime: number
  /** For rows, their number. The vault reads a file with another inode, or rows with another number, from the beginning. */
  readonly inode: number
  /** Nothing has changed since this version was kept. */
  isSame(known: FileRow): boolean
  /** Fills the buffer from this offset on, and returns how many bytes there were. */
  read(buffer: Buffer, offset: number): number
}

/** Throws if there is nothing to read. */
export function openSource(path: string): KeptSource {
  const place = rowsPlace(path)
  return place ? new RowsSource(place) : new FileSource(path)
}

/** Tells whether the file or rows of a path still exist. Reads each database once. */
export function existenceCheck(): (path: string) => boolean {
  const databases = new Map<string, ReadonlySet<string> | undefined>()
  return (path) => {
    const place = rowsPlace(path)
    if (!place) return isFile(path)
    const { database, sessionId } = place
    if (!databases.has(database)) databases.set(database, sessionsIn(database))
    return databases.get(database)?.has(sessionId) ?? true
  }
}

/** 0 if it is not there. */
export function changedAt(path: string): number {
  const place = rowsPlace(path)
  return place ? (rowsState(place)?.changedAt ?? 0) : modifiedAt(path)
}

class FileSource implements KeptSource {
  readonly #fd: number
  readonly #closing: Disposable
  readonly size: number
  readonly mtime: number
  readonly inode: number

  constructor(path: string) {
    this.#fd = openForeign(path, { noLink: true })
    this.#closing = closeAtEnd(this.#fd)
    const { size, mtimeMs, ino } = fstatSync(this.#fd)
    this.size = size
    this.mtime = mtimeMs
    this.inode = ino
  }

  isSame({ size, mtime, inode }: FileRow): boolean {
    return size === this.size && mtime === this.mtime && inode === this.inode
  }

  read(buffer: Buffer, offset: number): number {
    let filled = 0
    for (let read = -1; read !== 0 && filled < buffer.length; filled += read)
      read = readSync(this.#fd, buffer, filled, buffer.length - filled, offset + filled)
    return filled
  }

  [Symbol.dispose](): void {
    this.#closing[Symbol.dispose]()
  }
}

/** The text is made only if the rows have changed. */
class RowsSource implements KeptSource {
  readonly #place: RowsPlace
  readonly mtime: number
  readonly inode: number
  #text: Buffer | undefined

  constructor(place: RowsPlace) {
    this.#place = place
    const state = rowsState(place)
    if (!state) throw new RockpoolError('refused', `${place.database} has no session ${place.sessionId}.`)
    this.mtime = state.changedAt
    this.inode = state.count
  }

  get size(): number {
    return this.#content().length
  }

  isSame({ mtime, inode }: FileRow): boolean {
    return mtime === this.mtime && inode === this.inode
  }

  read(buffer: Buffer, offset: number): number {
    return this.#content().copy(buffer, 0, offset)
  }

  [Symbol.dispose](): void {}

  #content(): Buffer {
    return (this.#text ??= readRows(this.#place) ?? Buffer.alloc(0))
  }
}
