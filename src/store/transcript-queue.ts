// Everything that changes a transcript file goes through here: one at a time in this process, and under the file's
// lock among processes. Appends that wait for their turn become one write.
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../domain/clock.ts'
import type { TranscriptEntry } from '../domain/transcript.ts'
import { ensureDirectory } from './atomic-file.ts'
import type { HeldLock, Lock } from './file-lock.ts'
import { appendEntries, checkBodies } from './transcript-append.ts'
import type { FileEnd, NewEntries } from './transcript-append.ts'

export interface QueueOptions {
  clock: Clock
  durability: 'full' | 'relaxed'
  lockOf: (file: string) => Lock
}

interface WaitingAppend {
  entries: NewEntries
  resolve: (entries: TranscriptEntry[]) => void
  reject: (error: unknown) => void
}

/** With relaxed durability a crash of the machine may lose what was written in this time. */
const relaxedSyncMs = 1_000

export class TranscriptQueue {
  readonly #file: string
  readonly #options: QueueOptions
  readonly #lock: Lock
  #appends: WaitingAppend[] = []
  #last: Promise<unknown> = Promise.resolve()
  #end: FileEnd | undefined
  #syncSoon: (() => void) | undefined
  #waiting = 0

  constructor(file: string, options: QueueOptions) {
    this.#file = file
    this.#options = options
    this.#lock = options.lockOf(file)
  }

  get idle(): boolean {
    return this.#waiting === 0 && this.#syncSoon === undefined
  }

  append(entries: NewEntries): Promise<TranscriptEntry[]> {
    checkBodies(entries.bodies)
    return new Promise((resolve, reject) => {
      this.#appends.push({ entries, resolve, reject })
      if (this.#appends.length === 1) void this.#inTurn(() => this.#writeWaiting())
    })
  }

  /** Does something else to the file while nobody writes to it. */
  exclusive<T>(op: string, fn: (confirm: () => void) => Promise<T>): Promise<T> {
    return this.#inTurn(() => {
      this.#end = undefined
      return this.#hold(op, (held) => fn(() => held.confirm()))
    })
  }

  async #hold<T>(op: string, fn: (held: HeldLock) => Promise<T>): Promise<T> {
    await ensureDirectory(dirname(this.#file))
    return this.#lock.hold(op, fn)
  }

  #inTurn<T>(fn: () => Promise<T>): Promise<T> {
    this.#waiting++
    const turn = this.#last.then(fn).finally(() => this.#waiting--)
    // Whoever asked is told of the failure; the next one in the queue is not stopped by it.
    this.#last = turn.catch(() => {})
    return turn
  }

  async #writeWaiting(): Promise<void> {
    let group: WaitingAppend[] = []
    try {
      const written = await this.#hold('append', (held) => {
        group = this.#appends.splice(0)
        return appendEntries(
          this.#file,
          group.map((append) => append.entries),
          {
            known: this.#end,
            clock: this.#options.clock,
            sync: this.#options.durability === 'full',
            confirm: () => held.confirm(),
          },
        )
      })
      this.#end = written.end
      this.#syncLater()
      group.forEach((append, index) => append.resolve(written.entries[index]!))
    } catch (error) {
      this.#end = undefined
      if (group.length === 0) group = this.#appends.splice(0)
      for (const append of group) append.reject(error)
    }
  }

  #syncLater(): void {
    if (this.#options.durability === 'full' || this.#syncSoon) return
    this.#syncSoon = this.#options.clock.after(relaxedSyncMs, () => {
      this.#syncSoon = undefined
      // Relaxed durability promises a try; the next append would report a failing disk.
      void syncFile(this.#file).catch(() => {})
    })
  }
}

async function syncFile(file: string): Promise<void> {
  const handle = await open(file, 'r+')
  try {
    await handle.datasync()
  } finally {
    await handle.close()
  }
}
