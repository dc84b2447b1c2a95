// Transcripts as files in the agent's sessions folder, in pi's session format: one JSON object per line. Reading never changes a
// file; all changes go through the queue and the lock of the file.
import { link, lstat, rename, rm, type FileHandle } from 'node:fs/promises'
import { basename, join, normalize, sep } from 'node:path'
import { systemClock, type Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Events } from '../../domain/events.ts'
import type { EntryBody, TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import type {
  AppendOptions,
  Entries,
  NewHeader,
  OnDamage,
  TranscriptArchive,
  TranscriptPage,
  TranscriptRef,
  TranscriptStore,
  Truncated,
} from '../session-store.ts'
import { asFileError, errorCode, syncDirectory, temporaryName, unlessMissing } from '../disk/atomic-file.ts'
import { FileLock, type Lock } from '../disk/file-lock.ts'
import { readHeader, writeNewTranscript } from './transcript-append.ts'
import { readPage } from './transcript-read.ts'
import {
  archiveName,
  forkName,
  listNames,
  noArchive,
  noEntry,
  parseArchiveName,
  parseTranscriptName,
  transcriptFile,
  transcriptName,
} from './transcript-paths.ts'
import type { ArchiveReason } from './transcript-paths.ts'
import { TranscriptQueue } from './transcript-queue.ts'
import { entriesAt, entriesOf, pathTo, readTree } from './transcript-tree.ts'
import { lastEntries } from './transcript-truncate.ts'
import { openForeignHandle } from '../disk/foreign-file.ts'

export interface TranscriptOptions {
  agentId: string
  /** The agent's sessions folder. */
  dir: string
  clock?: Clock
  events?: Pick<Events, 'emit'>
  durability?: 'full' | 'relaxed'
  lockOf?: (file: string) => Lock
}

const mostQueues = 1_000
/** OpenClaw holds the lock of a transcript for a whole turn, so a lock without a holder's name becomes stale late. */
const staleLockMs = 30 * 60_000
const lockOfTranscript = (file: string): Lock =>
  new FileLock(file, { staleMs: staleLockMs, pollIntervalMs: 5 })

export class FileTranscripts implements TranscriptStore {
  readonly agentId: string
  readonly #dir: string
  readonly #options: Required<Pick<TranscriptOptions, 'clock' | 'durability' | 'lockOf'>>
  readonly #events: TranscriptOptions['events']
  readonly #queues = new Map<string, TranscriptQueue>()

  constructor({
    agentId,
    dir,
    events,
    clock = systemClock,
    durability = 'full',
    lockOf = lockOfTranscript,
  }: TranscriptOptions) {
    this.agentId = agentId
    this.#dir = normalize(dir)
    this.#events = events
    this.#options = { clock, durability, lockOf }
  }

  async append(ref: TranscriptRef, bodies: EntryBody[], options: AppendOptions): Promise<TranscriptEntry[]> {
    const { key, cwd, parentSession, isKeptElsewhere = false } = options
    const file = this.#fileOf(ref)
    const added = { bodies, header: { id: ref.sessionId, cwd, parentSession }, isKeptElsewhere }
    const entries = await this.#queueOf(file).append(added)
    this.#tell(ref.sessionId, file, key)
    return entries
  }

  async sync(ref: TranscriptRef): Promise<void> {
    await this.#queueOf(this.#fileOf(ref)).sync()
  }

  async close(): Promise<void> {
    await Promise.all([...this.#queues.values()].map((queue) => queue.settle()))
  }

  tail(ref: TranscriptRef, limit: number, before?: number): Promise<TranscriptPage> {
    return this.#reading(ref, (handle) => readPage(handle, limit, before))
  }

  async *read(ref: TranscriptRef, onDamage: OnDamage = () => {}): AsyncGenerator<TranscriptEntry> {
    await using handle = await this.#open(ref)
    for await (const { entry } of entriesOf(handle, onDamage)) yield entry
  }

  async *path(ref: TranscriptRef, leafId?: string, onDamage?: OnDamage): AsyncGenerator<TranscriptEntry> {
    await using handle = await this.#open(ref)
    const tree = await readTree(handle)
    if (leafId !== undefined && !tree.nodes.has(leafId)) throw noEntry(leafId, ref)
    const { path, damage } = pathTo(tree, leafId ?? tree.leafId)
    for (const what of [...tree.damage, ...damage]) onDamage?.(what)
    yield* entriesAt(handle, path)
  }

  header(ref: TranscriptRef): Promise<TranscriptHeader | undefined> {
    return this.#reading(ref, readHeader)
  }

  async exists(ref: TranscriptRef): Promise<boolean> {
    return (await lstat(this.#fileOf(ref)).catch(unlessMissing))?.isFile() ?? false
  }

  async create(ref: TranscriptRef, header: NewHeader, entries: Entries): Promise<void> {
    const file = this.#fileOf(ref)
    const timestamp = header.timestamp ?? new Date(this.#options.clock.now()).toISOString()
    await writeNewTranscript(file, { ...header, id: ref.sessionId, timestamp }, entries)
    this.#tell(ref.sessionId, file)
  }

  async fork(ref: TranscriptRef, to: { sessionId: string; leafId?: string }): Promise<TranscriptRef> {
    const parentSession = this.#fileOf(ref)
    const header = await this.header(ref)
    const timestamp = new Date(this.#options.clock.now()).toISOString()
    const file = join(this.#dir, forkName(to.sessionId, timestamp))
    const forked = { sessionId: to.sessionId, file }
    await this.create(forked, { cwd: header?.cwd ?? '', timestamp, parentSession }, this.path(ref, to.leafId))
    return forked
  }

  async truncate(ref: TranscriptRef, keep: number): Promise<Truncated> {
    const file = this.#fileOf(ref)
    return this.#queueOf(file).exclusive('truncate', async (confirm) => {
      const { header, entries, dropped } = await this.#reading(ref, (handle) => lastEntries(handle, keep))
      if (dropped === 0) return { kept: entries.length, dropped }
      const shorter = temporaryName(file)
      const fallback = { id: ref.sessionId, timestamp: entries[0]?.timestamp ?? '', cwd: '' }
      await writeNewTranscript(shorter, { ...fallback, ...header }, entries)
      confirm()
      // The whole transcript gets the archive's name before the shorter one takes its place.
      const archived = await this.#setAside(file, 'bak', link)
      await rename(shorter, file)
      await syncDirectory(this.#dir)
      return { kept: entries.length, dropped, archived }
    })
  }

  async archive(ref: TranscriptRef, reason: ArchiveReason): Promise<string | undefined> {
    const file = this.#fileOf(ref)
    if (!(await this.exists(ref))) return undefined
    return this.#queueOf(file).exclusive('archive', async (confirm) => {
      confirm()
      const name = await this.#setAside(file, reason, rename)
      await syncDirectory(this.#dir)
      return name
    })
  }

  async archives(): Promise<TranscriptArchive[]> {
    const found = listNames(this.#dir).flatMap((name) => {
      const parts = parseArchiveName(name)
      return parts ? [{ name, parts }] : []
    })
    const archives = await Promise.all(
      found.map(async ({ name, parts: { original: _original, ...parts } }) => {
        const stats = await lstat(join(this.#dir, name)).catch(unlessMissing)
        return stats?.isFile() ? [{ name, ...parts, bytes: stats.size }] : []
      }),
    )
    return archives.flat().sort((a, b) => b.at - a.at)
  }

  async archiveRef(name: string): Promise<TranscriptRef> {
    const { sessionId } = this.#archiveParts(name)
    return { sessionId, file: join(this.#dir, name) }
  }

  async unarchive(name: string): Promise<TranscriptRef> {
    const { original, sessionId, topicId } = this.#archiveParts(name)
    const file = join(this.#dir, original)
    return this.#queueOf(file).exclusive('unarchive', async (confirm) => {
      confirm()
      // A link fails if the transcript exists; a rename would replace it.
      await link(join(this.#dir, name), file).catch((error: unknown) => {
        throw errorCode(error) === 'EEXIST' ? isThere(file) : asFileError(error, file)
      })
      await rm(join(this.#dir, name))
      await syncDirectory(this.#dir)
      return { sessionId, topicId, file }
    })
  }

  async discard(name: string): Promise<void> {
    this.#archiveParts(name)
    await rm(join(this.#dir, name), { force: true })
    await syncDirectory(this.#dir)
  }

  async list(): Promise<Array<TranscriptRef & { bytes: number; changedAt: number }>> {
    const found = listNames(this.#dir).map(async (name) => {
      const parts = parseTranscriptName(name)
      const file = join(this.#dir, name)
      const stats = parts && (await lstat(file).catch(unlessMissing))
      return parts && stats?.isFile() ? [{ ...parts, file, bytes: stats.size, changedAt: stats.mtimeMs }] : []
    })
    return (await Promise.all(found)).flat()
  }

  #fileOf(ref: TranscriptRef): string {
    if (ref.file === undefined && ref.topicId === undefined) {
      // An open transcript with its usual name is not searched for among the forks.
      const named = `${this.#dir}${sep}${transcriptName(ref.sessionId)}`
      if (this.#queues.has(named)) return named
    }
    return transcriptFile(this.#dir, this.agentId, ref)
  }

  #queueOf(file: string): TranscriptQueue {
    let queue = this.#queues.get(file)
    if (queue) return queue
    if (this.#queues.size >= mostQueues)
      for (const [known, other] of this.#queues) if (other.idle) this.#queues.delete(known)
    queue = new TranscriptQueue(file, this.#options)
    this.#queues.set(file, queue)
    return queue
  }

  async #open(ref: TranscriptRef): Promise<FileHandle> {
    const file = this.#fileOf(ref)
    try {
      return await openForeignHandle(file, { noLink: true })
    } catch (error) {
      if (errorCode(error) !== 'ENOENT') throw asFileError(error, file)
      throw new RockpoolError('not-found', `The session ${ref.sessionId} has no transcript (${file}).`, {
        cause: error,
      })
    }
  }

  async #reading<T>(ref: TranscriptRef, fn: (handle: FileHandle) => Promise<T>): Promise<T> {
    await using handle = await this.#open(ref)
    return await fn(handle)
  }

  async #setAside(file: string, reason: ArchiveReason, move: typeof link | typeof rename): Promise<string> {
    const name = archiveName(file, reason, this.#options.clock.now())
    const taken = new Set(listNames(this.#dir))
    let free = name
    for (let n = 2; taken.has(free); n++) free = `${name}-${n}`
    await move(file, join(this.#dir, free))
    return free
  }

  #archiveParts(name: string): NonNullable<ReturnType<typeof parseArchiveName>> {
    const parts = basename(name) === name ? parseArchiveName(name) : undefined
    if (parts && listNames(this.#dir).includes(name)) return parts
    throw noArchive(name, this.agentId)
  }

  #tell(sessionId: string, file: string, key?: string): void {
    const where = { agentId: this.agentId, sessionId, file }
    this.#events?.emit({ type: 'transcript-appended', ...where, key })
  }
}

function isThere(file: string): RockpoolError {
  const message = `${file} exists: there is a transcript in the place of the archived one.`
  return new RockpoolError('conflict', message, { hint: 'Archive that one first.' })
}
