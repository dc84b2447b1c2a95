// All changes of a transcript file go through this queue: one at a time in this process, and under the lock of the file between
// processes. Waiting appends become one write.
import { open } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { Clock } from '../../domain/clock.ts'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import { ensureDirectory } from '../disk/atomic-file.ts'
import type { HeldLock, Lock } from '../disk/file-lock.ts'
import { appendEntries, bodyTexts, openToAppend } from './transcript-append.ts'
import { repairForOtherPrograms } from './transcript-repair.ts'
import type { FileEnd, NewEntries, OpenTranscript } from './transcript-append.ts'

interface QueueOptions {
  clock: Clock
  durability: 'full' | 'relaxed'
  lockOf: (file: string) => Lock
}

interface WaitingAppend {
  entries: NewEntries
  resolve: (entries: TranscriptEntry[]) => void
  reject: (error: unknown) => void
}

/** With relaxed durability a crash of the machine may lose the writes of this time. */
const relaxedSyncMs = 1_000

/** Appends in quicker succession than this are a burst: then the lock is kept for this long, unless another process waits. */
const rushMs = 2_000
const lingerMs = 300
const lookEveryMs = 75

/** Passing the lock on takes tens of milliseconds, so a holder keeps writing for this long, even if another process waits. */
const sliceMs = 60
const politeLingerMs = 4

export class TranscriptQueue {
  readonly #file: string
  readonly #options: QueueOptions
  readonly #lock: Lock
  #appends: WaitingAppend[] = []
  #last: Promise<unknown> = Promise.resolve()
  #end: FileEnd | undefined
  #syncSoon: (() => void) | undefined
  #waiting = 0
  /** Number of waiting changes that are not appends. */
  #others = 0
  #lastWrite = -Infinity
  /** The last two writes came in quick succession. */
  #isBurst = false
  #wake: (() => void) | undefined
  #looking: NodeJS.Timeout | undefined

  constructor(file: string, options: QueueOptions) {
    this.#file = file
    this.#options = options
    this.#lock = options.lockOf(file)
  }

  get idle(): boolean {
    return this.#waiting === 0 && this.#syncSoon === undefined
  }

  append(entries: Omit<NewEntries, 'texts'>): Promise<TranscriptEntry[]> {
    const texts = bodyTexts(entries.bodies)
    return new Promise((resolve, reject) => {
      this.#appends.push({ entries: { ...entries, texts }, resolve, reject })
      if (this.#wake) this.#wake()
      else if (this.#appends.length === 1) void this.#inTurn(() => this.#writeWaiting())
    })
  }

  /** Resolves when everything that was appended is on disk, including entries that are also kept elsewhere. */
  async sync(): Promise<void> {
    if (this.#options.durability === 'full') await syncFile(this.#file)
  }

  /** Writes what waits, then releases the lock. */
  async settle(): Promise<void> {
    this.#others++
    this.#wake?.()
    await this.#last
    this.#others--
  }

  /** Runs another change of the file while no append runs. */
  exclusive<T>(op: string, fn: (confirm: () => void) => Promise<T>): Promise<T> {
    this.#others++
    this.#wake?.()
    return this.#inTurn(() => {
      this.#others--
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
    // The caller gets the error; the next task in the queue runs anyway.
    this.#last = turn.catch(() => {})
    return turn
  }

  async #writeWaiting(): Promise<void> {
    // They were written together with earlier ones.
    if (this.#appends.length === 0) return
    const answers: Array<() => void> = []
    const answerAll = (): void => answers.splice(0).forEach((answer) => answer())
    try {
      await this.#hold('append', async (held) => {
        if (held.wasAbandoned) this.#end = undefined
        if (!this.#end) await repairForOtherPrograms(this.#file, held, this.#options.clock)
        const file = await openToAppend(this.#file)
        const sliceEnd = this.#options.clock.monotonic() + sliceMs
        try {
          // In a burst the lock costs more than the write, so it is kept from one write to the next.
          do {
            answers.push(await this.#writeGroup(held, file))
            if (this.#mustRelease(held, sliceEnd)) break
            const next = this.#appends.length === 0 && this.#isBurst ? this.#nextAppend(held) : undefined
            if (next) {
              answerAll()
              await next
            }
          } while (this.#appends.length > 0)
        } finally {
          clearInterval(this.#looking)
          this.#looking = undefined
          await file.handle.close()
        }
      })
    } catch (error) {
      this.#end = undefined
      for (const append of this.#appends.splice(0)) append.reject(error)
    } finally {
      answerAll()
    }
  }

  /** Resolves to a function that settles the callers; it is called after the lock is released if nothing else waits. */
  async #writeGroup(held: HeldLock, file: OpenTranscript): Promise<() => void> {
    const group = this.#appends.splice(0)
    const entries = group.map((append) => append.entries)
    const { clock, durability } = this.#options
    const options = { known: this.#end, clock, durability, confirm: () => held.confirm() }
    try {
      const written = await appendEntries(file, entries, options)
      this.#end = written.end
      this.#syncLater()
      return () => group.forEach((append, index) => append.resolve(written.entries[index]!))
    } catch (error) {
      this.#end = undefined
      return () => group.forEach((append) => append.reject(error))
    } finally {
      const now = clock.monotonic()
      this.#isBurst = now - this.#lastWrite < rushMs
      this.#lastWrite = now
    }
  }

  /** Another change waits here, or another process has waited for as long as a holder may go on. */
  #mustRelease(held: HeldLock, sliceEnd: number): boolean {
    return this.#others > 0 || (held.isWanted() && this.#lastWrite >= sliceEnd)
  }

  /** Resolves at the next append, when another process waits, or after a while. One timer serves all pauses of a burst. */
  #nextAppend(held: HeldLock): Promise<void> {
    if (held.isWanted()) setTimeout(() => this.#wake?.(), politeLingerMs)
    this.#looking ??= setInterval(() => {
      const pause = this.#options.clock.monotonic() - this.#lastWrite
      if (pause >= lingerMs || held.isWanted()) this.#wake?.()
    }, lookEveryMs)
    return new Promise((resolve) => {
      this.#wake = () => {
        this.#wake = undefined
        resolve()
      }
    })
  }

  #syncLater(): void {
    if (this.#options.durability === 'full' || this.#syncSoon) return
    this.#syncSoon = this.#options.clock.after(relaxedSyncMs, () => {
      this.#syncSoon = undefined
      // Relaxed durability promises an attempt; the next append reports a failing disk.
      void syncFile(this.#file).catch(() => {})
    })
  }
}

async function syncFile(file: string): Promise<void> {
  await using handle = await open(file, 'r+')
  await handle.datasync()
}
