// Keeps sessions.json beside the database, in the format that OpenClaw and its tools read. The database is the truth. One of the
// processes that have the database open writes the file soon after a change, many changes at once. Edits by other programs are
// imported into the database first, so that none is overwritten.
import { existsSync, lstatSync, statSync, type Stats } from 'node:fs'
import { rename } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import {
  fileIdentity,
  readFileSafely,
  removeAbandonedFiles,
  writeFileAtomically,
} from '../disk/atomic-file.ts'
import type { FileIdentity } from '../disk/atomic-file.ts'
import { startBackgroundWriter } from './background-writer.ts'
import type { Database } from '../sqlite/database.ts'
import type { Queries } from '../sqlite/queries.ts'
import { wholeEntry } from '../sqlite/entry-columns.ts'
import { FileLock, type HeldLock } from '../disk/file-lock.ts'
import { importSessions, type ImportReport } from './import-sessions.ts'
import { timestamp } from './recover-sessions.ts'
import { pagesOf, readStoreState, type StoreState } from '../sqlite/session-table.ts'
import { formatEntry, formatSessions, parseSessions } from './sessions-text.ts'
import type { Member, SessionsContent } from './sessions-text.ts'

interface MirrorOptions {
  /** Undefined if several agents share the file. */
  agentId: string | undefined
  db: Database
  path: string
  clock: Clock
  log: Log
}

const soonMs = 200
/** Writing takes longer with more sessions; it may use at most a tenth of the time. */
const restFactor = 10
const longestRestMs = 30_000
/** The assumed duration of a write before the first one is measured. */
const bytesWrittenPerMs = 50_000
/** A process that ends writes a file of up to this size itself, which is faster than starting another process. */
const smallBytes = 2_000_000
const writing = 'write sessions.json'

export class SessionsJsonMirror {
  readonly #options: MirrorOptions
  readonly #lock: FileLock
  /** The version of the file that was imported, or that could not be. */
  #known: FileIdentity | undefined
  /** The file when `#known` was last compared with it. */
  #seen: Stats | undefined
  #isFailing = false
  #tookMs = 0
  #cancelTimer: (() => void) | undefined
  #writing: Promise<unknown> = Promise.resolve()
  /** We hold the lock to write: a change of the file now is our own. */
  #isHolding = false
  #importing: Promise<void> | undefined
  #isChecked = false
  #closed = false

  constructor(options: MirrorOptions) {
    this.#options = options
    this.#lock = new FileLock(options.path, { clock: options.clock })
  }

  async open(): Promise<void> {
    await this.catchUp()
    if (this.isStale()) this.schedule()
  }

  /** Has another program edited the file? Costs one stat, for all calls of this moment. */
  isBehind(): boolean {
    if (this.#isChecked) return false
    const isBehind = this.#isUnknown()
    if (!isBehind) this.#trustForNow()
    return isBehind
  }

  /** Imports edits of the file by other programs. */
  async catchUp(): Promise<void> {
    if (!this.isBehind()) return
    // Concurrent callers share one import.
    this.#importing ??= this.#importLocked().finally(() => (this.#importing = undefined))
    await this.#importing
  }

  /** Until the event loop has handled everything that is ready now. */
  #trustForNow(): void {
    this.#isChecked = true
    setImmediate(() => (this.#isChecked = false))
  }

  /** Synchronous import. Skipped until the next call if another process uses the file or the database. */
  catchUpNow(): void {
    if (this.#isUnknown()) this.#lock.tryNow('import sessions.json', () => this.#importNow())
  }

  #isUnknown(): boolean {
    // Every read and update of a session asks, so the file is first compared with the one of the last answer.
    const stats = lstatSync(this.#options.path, { throwIfNoEntry: false })
    if (!stats || this.#isHolding || isSameVersion(stats, this.#seen)) return false
    const identity = fileIdentity(this.#options.path)
    if (identity === undefined) return false
    if (identity === this.#known || identity === this.#state().mirror_identity) {
      this.#known = identity
      this.#seen = stats
      return false
    }
    // Another Rockpool has just replaced the file and is about to record that.
    return this.#lock.heldFor() !== writing
  }

  async #importLocked(): Promise<void> {
    try {
      await this.#lock.hold('import sessions.json', () => this.#import())
    } catch (error) {
      // Another program uses the file. Its edit is imported at the next call.
      if (asRockpoolError(error).code !== 'locked') throw error
      this.#options.log.warn(
        { event: 'sessions-json-refused', path: this.#options.path, error: asRockpoolError(error).message },
        'Another program uses sessions.json; its edit is imported at the next call.',
      )
    }
  }

  schedule(): void {
    if (this.#closed) return
    this.#cancelTimer ??= this.#options.clock.after(Math.max(soonMs, this.restMs()), () => {
      this.#cancelTimer = undefined
      try {
        if (!this.isStale()) return
        // Another process may have written the file meanwhile.
        if (this.restMs() > 0) return this.schedule()
      } catch {
        // The database cannot be read; the next read or write of a session reports that.
        return
      }
      this.#writing = this.#writing.then(() => this.#write())
    })
  }

  /** Resolves to true when the file has all changes; to false if it could not be written. */
  writeNow(): Promise<boolean> {
    this.#unschedule()
    const written = this.#writing.then(() => this.#write())
    this.#writing = written
    return written
  }

  /** Called before the process ends. A large file is written by a background process, so that the command does not wait. */
  async finish(): Promise<void> {
    const wasWaiting = this.#unschedule()
    await this.#writing
    if (!wasWaiting || !this.isStale()) return
    const { db, path, agentId } = this.#options
    const databaseBytes = sizeOf(db.path) + sizeOf(`${db.path}-wal`)
    if (Math.max(databaseBytes, sizeOf(path)) <= smallBytes) await this.#write()
    else startBackgroundWriter({ database: db.path, path, agentId })
  }

  async close(): Promise<void> {
    this.#closed = true
    await this.finish()
  }

  /** Called when the database was removed: the file is not written any more. Resolves when the database is unused. */
  async drop(): Promise<void> {
    this.#closed = true
    this.#unschedule()
    await this.#writing
  }

  /** Cancels the scheduled write; returns whether there was one. */
  #unschedule(): boolean {
    const cancel = this.#cancelTimer
    this.#cancelTimer = undefined
    cancel?.()
    return cancel !== undefined
  }

  /** How long to wait before the next write. All processes use the time of the last write. */
  restMs(): number {
    const { path, clock } = this.#options
    const stats = statSync(path, { throwIfNoEntry: false })
    // A file that another program wrote is replaced soon.
    if (!stats || fileIdentity(path) !== this.#state().mirror_identity) return 0
    const tookMs = Math.max(this.#tookMs, stats.size / bytesWrittenPerMs)
    const restMs = Math.min(longestRestMs, Math.max(soonMs, tookMs * restFactor))
    return Math.max(0, restMs - Math.max(0, clock.now() - stats.mtimeMs))
  }

  /** A failure loses nothing: the rows are in the database, and the write is retried. */
  async #write(): Promise<boolean> {
    const { clock, log, path } = this.#options
    const started = clock.monotonic()
    try {
      await this.#lock.hold(writing, async (held) => {
        this.#isHolding = true
        try {
          await this.#writeHeld(held)
        } finally {
          this.#isHolding = false
        }
      })
      this.#isFailing = false
    } catch (error) {
      // Logged once, because a disk may stay full for days.
      if (!this.#isFailing)
        log.warn(
          { event: 'sessions-json-write-failed', path, error: asRockpoolError(error).message },
          'Could not write sessions.json; retrying.',
        )
      this.#isFailing = true
      this.schedule()
    }
    this.#tookMs = clock.monotonic() - started
    return !this.#isFailing
  }

  async #writeHeld(held: HeldLock): Promise<void> {
    const { db, path } = this.#options
    await removeAbandonedFiles(dirname(path))
    await this.#import()
    const before = fileIdentity(path)
    const { revision } = this.#state()
    if (!this.isStale()) return
    // The rows of a damaged database would replace good ones in the file.
    db.checkOnce()
    const identity = await writeFileAtomically(path, formatSessions(membersOf(db)), {
      beforeCommit: () => {
        held.confirm()
        if (fileIdentity(path) !== before) throw new Error('another program writes it at the same time')
      },
    })
    await db.write((q) => {
      q.run('UPDATE store_state SET mirror_revision = ?, mirror_identity = ?', revision, identity)
      q.run('DELETE FROM deleted_session WHERE revision <= ?', revision)
    })
    this.#known = identity
  }

  /** Called with the lock held; other processes may write to the database meanwhile. */
  #importNow(): void {
    const { db, path } = this.#options
    const file = readFileSafely(path)
    if (!file || this.#isOurs(file.identity)) return
    const content = parseIfReadable(file.text, path)
    const isDamaged = content instanceof RockpoolError
    // A damaged file is set aside and logged by the next update; readers see the rows of the database.
    const report = isDamaged ? undefined : db.tryNow((q) => this.#merge(q, content, file.identity))
    if (report) this.#known = file.identity
    if (this.isStale()) this.schedule()
  }

  #merge(queries: Queries, content: SessionsContent, identity: FileIdentity): ImportReport {
    const report = importSessions(queries, this.#options.agentId, content, this.#options.clock.now())
    queries.run('UPDATE store_state SET mirror_identity = ?', identity)
    return report
  }

  /** Called with the lock held. */
  async #import(): Promise<void> {
    const { db, path, log } = this.#options
    // The file may be large, so a version that we wrote ourselves is not read.
    if (this.#isOurs(fileIdentity(path))) return
    const file = readFileSafely(path)
    if (!file || this.#isOurs(file.identity)) return
    const content = parseIfReadable(file.text, path)
    if (content instanceof RockpoolError) await this.#setAside(content)
    else {
      const report = await db.write((q) => this.#merge(q, content, file.identity))
      log.info(
        { event: 'sessions-json-imported', path, ...report },
        'Imported a foreign edit of sessions.json.',
      )
      this.#known = file.identity
    }
    if (this.isStale()) this.schedule()
  }

  async #setAside({ message }: RockpoolError): Promise<void> {
    const { path, clock, log } = this.#options
    const aside = `${path}.corrupt-${timestamp(clock.now())}`
    await rename(path, aside)
    log.error(
      { event: 'sessions-json-set-aside', path, aside, error: message },
      `${path} could not be read and was set aside as ${basename(aside)}; no session was changed.`,
    )
    this.schedule()
  }

  #isOurs(identity: FileIdentity | undefined): boolean {
    return identity === this.#known || identity === this.#state().mirror_identity
  }

  isStale(): boolean {
    const { revision, mirror_revision: written } = this.#state()
    return revision !== written || (revision > 0 && !existsSync(this.#options.path))
  }

  #state(): StoreState {
    return this.#options.db.read(readStoreState)
  }
}

/** The content, or the error that says how the text is damaged. */
function parseIfReadable(text: string, path: string): SessionsContent | RockpoolError {
  try {
    return parseSessions(text, path)
  } catch (error) {
    if (error instanceof RockpoolError && error.code === 'damaged') return error
    throw error
  }
}

function isSameVersion(one: Stats, other: Stats | undefined): boolean {
  return (
    one.ino === other?.ino &&
    one.size === other.size &&
    one.mtimeMs === other.mtimeMs &&
    one.ctimeMs === other.ctimeMs
  )
}

function sizeOf(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.size ?? 0
}

/** A few rows at a time, so that a large store does not block updates. */
async function* membersOf(db: Database): AsyncGenerator<Member[]> {
  for (const rows of pagesOf(db, 10)) {
    yield rows.map((row) => [row.key, formatEntry(wholeEntry(row))])
    await turn()
  }
  const unusable = db.read((q) => q.all<{ key: string; raw: string }>('SELECT key, raw FROM unusable'))
  yield unusable.map(({ key, raw }) => [key, raw])
}
