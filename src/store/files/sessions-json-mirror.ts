// Keeps sessions.json beside the database, in the format that OpenClaw and its tools read.
// The database is the truth. The file is written soon after a change, many changes at once; what somebody else
// wrote into it is brought into the database first, so nobody's edit is overwritten unseen.
import { rename } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { setImmediate as turn } from 'node:timers/promises'
import type { Clock } from '../../domain/clock.ts'
import { asRockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import {
  fileIdentity,
  readFileSafely,
  removeAbandonedFiles,
  writeFileAtomically,
} from '../disk/atomic-file.ts'
import type { FileIdentity } from '../disk/atomic-file.ts'
import type { Database } from '../sqlite/database.ts'
import { wholeEntry } from '../sqlite/entry-columns.ts'
import { FileLock } from '../disk/file-lock.ts'
import type { HeldLock } from '../disk/file-lock.ts'
import { importSessions } from './import-sessions.ts'
import { timestamp } from './recover-sessions.ts'
import { readStoreState, wholeRow } from '../sqlite/session-table.ts'
import type { SessionRow, StoreState } from '../sqlite/session-table.ts'
import { formatEntry, formatSessions, parseSessions } from './sessions-text.ts'
import type { Member, SessionsContent } from './sessions-text.ts'

export interface MirrorOptions {
  agentId: string
  db: Database
  path: string
  clock: Clock
  log: Log
}

const soonMs = 200
/** Writing takes longer the more sessions there are; it may use a tenth of the time, not more. */
const restFactor = 10
const longestRestMs = 30_000

export class SessionsJsonMirror {
  readonly #options: MirrorOptions
  readonly #lock: FileLock
  /** The version of the file that is in the database, or that we gave up on. */
  #known: FileIdentity | undefined
  #isFailing = false
  #restMs = soonMs
  #cancelTimer: (() => void) | undefined
  #writing: Promise<void> = Promise.resolve()
  /** We hold the lock to write: what changes in the file now is our own doing. */
  #isHolding = false
  #importing: Promise<void> | undefined
  #closed = false

  constructor(options: MirrorOptions) {
    this.#options = options
    this.#lock = new FileLock(options.path, { clock: options.clock })
  }

  async open(): Promise<void> {
    await this.catchUp()
    if (this.#isStale()) this.schedule()
  }

  /** Brings in what somebody else wrote to the file. Costs one stat when nobody did. */
  async catchUp(): Promise<void> {
    const identity = fileIdentity(this.#options.path)
    if (identity === undefined || identity === this.#known || this.#isHolding) return
    if (identity === this.#state().mirror_identity) {
      this.#known = identity
      return
    }
    // Everybody who asks at this moment waits for one look.
    this.#importing ??= this.#importLocked().finally(() => (this.#importing = undefined))
    await this.#importing
  }

  async #importLocked(): Promise<void> {
    try {
      await this.#lock.hold('import sessions.json', () => this.#import())
    } catch (error) {
      // Another program is busy with the file. Its edit is still there the next time we look.
      if (asRockpoolError(error).code !== 'locked') throw error
      this.#options.log.warn({ path: this.#options.path }, asRockpoolError(error).message)
    }
  }

  /** Something changed: the file will follow. */
  schedule(): void {
    if (this.#closed) return
    this.#cancelTimer ??= this.#options.clock.after(this.#restMs, () => {
      this.#cancelTimer = undefined
      this.#writing = this.#writing.then(() => this.#write())
    })
  }

  /** What has changed is in the file when this resolves. */
  async writeNow(): Promise<void> {
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    this.#writing = this.#writing.then(() => this.#write())
    await this.#writing
  }

  async close(): Promise<void> {
    const wasWaiting = this.#cancelTimer !== undefined
    this.#cancelTimer?.()
    this.#cancelTimer = undefined
    await this.#writing
    this.#closed = true
    if (wasWaiting) await this.#write()
  }

  /** A failure here loses nothing: the rows are in the database, and the file is tried again. */
  async #write(): Promise<void> {
    const { clock, log, path } = this.#options
    const started = clock.monotonic()
    try {
      await this.#lock.hold('write sessions.json', async (held) => {
        this.#isHolding = true
        try {
          await this.#writeHeld(held)
        } finally {
          this.#isHolding = false
        }
      })
      this.#isFailing = false
    } catch (error) {
      // Said once: a disk may stay full for days.
      if (!this.#isFailing)
        log.warn(
          { path, error: asRockpoolError(error).message },
          'sessions.json could not be written; will try again',
        )
      this.#isFailing = true
      this.schedule()
    }
    const took = clock.monotonic() - started
    this.#restMs = Math.min(longestRestMs, Math.max(soonMs, took * restFactor))
  }

  async #writeHeld(held: HeldLock): Promise<void> {
    const { db, path } = this.#options
    await removeAbandonedFiles(dirname(path))
    await this.#import()
    const before = fileIdentity(path)
    const { revision } = this.#state()
    if (!this.#isStale() && before !== undefined) return
    // The rows of a damaged database would replace better ones in the file.
    db.checkOnce()
    const identity = await writeFileAtomically(path, formatSessions(membersOf(db)), {
      beforeCommit: () => {
        held.confirm()
        if (fileIdentity(path) !== before) throw new Error('somebody else is writing it at the same time')
      },
    })
    await db.write((q) => {
      q.run('UPDATE store_state SET mirror_revision = ?, mirror_identity = ?', revision, identity)
      q.run('DELETE FROM deleted_session WHERE revision <= ?', revision)
    })
    this.#known = identity
  }

  /** Called with the lock held. */
  async #import(): Promise<void> {
    const { agentId, db, path, clock, log } = this.#options
    // It may be large: what we wrote ourselves is not read only to find that out.
    if (this.#isOurs(fileIdentity(path))) return
    const file = readFileSafely(path)
    if (!file || this.#isOurs(file.identity)) return
    const content = await this.#parseOrSetAside(file.text)
    if (content) {
      const report = await db.write((q) => {
        const report = importSessions(q, agentId, content, clock.now())
        q.run('UPDATE store_state SET mirror_identity = ?', file.identity)
        return report
      })
      log.info(
        { event: 'sessions-json-imported', path, ...report },
        'Imported a foreign edit of sessions.json.',
      )
      this.#known = file.identity
    }
    if (this.#isStale()) this.schedule()
  }

  /** Only the text decides whether the file is unreadable: a damaged database says nothing against its copy. */
  async #parseOrSetAside(text: string): Promise<SessionsContent | undefined> {
    try {
      return parseSessions(text, this.#options.path)
    } catch (error) {
      if (asRockpoolError(error).code !== 'damaged') throw error
      await this.#setAside(error)
      return undefined
    }
  }

  async #setAside(error: unknown): Promise<void> {
    const { path, clock, log } = this.#options
    const aside = `${path}.corrupt-${timestamp(clock.now())}`
    await rename(path, aside)
    log.error(
      { path, aside, error: asRockpoolError(error).message },
      `${path} could not be read and was set aside as ${basename(aside)}; the sessions are as they were.`,
    )
    this.schedule()
  }

  #isOurs(identity: FileIdentity | undefined): boolean {
    return identity === this.#known || identity === this.#state().mirror_identity
  }

  #isStale(): boolean {
    const { revision, mirror_revision: written } = this.#state()
    return revision !== written
  }

  #state(): StoreState {
    return this.#options.db.read(readStoreState)
  }
}

/** A few rows at a time, so that a large store does not hold up the updates that come meanwhile. */
async function* membersOf(db: Database): AsyncGenerator<Member[]> {
  for (let last = 0; ;) {
    const rows = db.read((q) =>
      q.all<SessionRow>(`${wholeRow} WHERE session.id > ? ORDER BY session.id LIMIT 10`, last),
    )
    if (rows.length === 0) break
    yield rows.map((row) => [row.key, formatEntry(wholeEntry(row))])
    last = rows.at(-1)!.id
    await turn()
  }
  const unusable = db.read((q) => q.all<{ key: string; raw: string }>('SELECT key, raw FROM unusable'))
  yield unusable.map(({ key, raw }) => [key, raw])
}
