// Syncs the write-ahead log of a database in the thread pool. SQLite would sync the log inside COMMIT and block the event loop
// meanwhile: with `synchronous = NORMAL` it leaves that to us, and syncs only around checkpoints.
import { closeSync, fdatasyncSync, openSync } from 'node:fs'
import { syncData } from '../disk/atomic-file.ts'

export class LogSync {
  readonly #path: string
  #fd: number | undefined

  constructor(database: string) {
    this.#path = `${database}-wal`
  }

  /** Resolves when everything that is committed now is on disk. */
  sync(): Promise<void> {
    return syncData(this.#open())
  }

  syncNow(): void {
    fdatasyncSync(this.#open())
  }

  close(): void {
    if (this.#fd !== undefined) closeSync(this.#fd)
    this.#fd = undefined
  }

  /** The first commit creates the log; it stays the same file until the last connection is closed. */
  #open(): number {
    return (this.#fd ??= openSync(this.#path, 'r'))
  }
}
