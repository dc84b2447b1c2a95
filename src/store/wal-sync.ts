// Brings what was committed to disk without holding up the event loop. SQLite would sync its log inside COMMIT, and the
// whole process would wait for the disk; so SQLite only writes the log, and we sync it in another thread before anybody
// is told that his write is done.
import { open } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname } from 'node:path'
import { syncDirectory } from './atomic-file.ts'

export class WalSync {
  readonly #database: string
  #log: Promise<FileHandle> | undefined

  constructor(database: string) {
    this.#database = database
  }

  /** Resolves when everything that was committed before is on disk. */
  async sync(): Promise<void> {
    this.#log ??= openLog(this.#database)
    const log = await this.#log.catch((error: unknown) => {
      this.#log = undefined
      throw error
    })
    await log.datasync()
  }

  async close(): Promise<void> {
    const log = await this.#log?.catch(() => undefined)
    this.#log = undefined
    await log?.close()
  }
}

/** The log stays the same file as long as the database is open here. That it exists must be on disk, too. */
async function openLog(database: string): Promise<FileHandle> {
  const log = await open(`${database}-wal`, 'r')
  await syncDirectory(dirname(database))
  return log
}
