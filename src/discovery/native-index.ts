// The sessions of all agents on disk and what is known of them: stored in the index, and brought up to date by scanning what was
// added since.
import { hash } from 'node:crypto'
import { statSync } from 'node:fs'
import { KeyedQueue } from '../domain/async.ts'
import type { ScanProgress, UnreadablePath } from '../domain/discovered-session.ts'
import { attempt } from '../domain/errors.ts'
import type { Log } from '../domain/log.ts'
import type { DiscoveryIndex, FilePlace, IndexedFile, ScannedFile } from '../store/sqlite/discovery-index.ts'
import type { AgentHomes } from './agents/agent-homes.ts'
import { ListFactsReader, type ListFacts } from './list-facts.ts'
import type { Listing, SideFiles, TranscriptFile } from './list-files.ts'
import { pricesAsOf } from './model-prices.ts'
import type { RegistryRow } from './registries.ts'
import { scanAll, scanWorkerFile, type ScanJob, type ScanOutcome } from './scan.ts'
import type { TranscriptFacts } from './transcript-facts.ts'
import { UsageTable } from './usage-table.ts'

/** Changes with the stored facts, and with the prices, because costs are stored. */
export const indexFormat = `12 ${pricesAsOf}`

/** A transcript on disk and what lists need to know of it. */
export interface KnownFile {
  file: TranscriptFile
  listFacts: ListFacts
  torn: boolean
}

export interface UsageOfFile {
  known: KnownFile
  usage: UsageTable
  /** Names of the models in the usage table, by number. */
  models: string[]
}

export class NativeIndex {
  /** By path; replaced, never mutated, so that a holder of an old map keeps a consistent view. */
  readonly files = new Map<string, KnownFile>()
  side = new Map<string, SideFiles>()
  /** The paths that the last refresh could not read, with the reasons. */
  readonly #unreadable = new Map<string, string>()
  readonly #index: DiscoveryIndex
  readonly #agents: AgentHomes
  readonly #log: Log
  readonly #listFacts = new ListFactsReader()
  /** Rows of the index that are not in `files`: not compared with the disk yet, or damaged. */
  readonly #stored = new Map<string, IndexedFile>()
  #isLoaded = false
  readonly #refreshes = new KeyedQueue()

  constructor(index: DiscoveryIndex, agents: AgentHomes, log: Log) {
    this.#index = index
    this.#agents = agents
    this.#log = log
  }

  /** Checks all files, or only these; resolves to the paths that changed. Refreshes run one after another. */
  refresh(onProgress?: (progress: ScanProgress) => void, paths?: readonly string[]): Promise<string[]> {
    const known = paths?.map((path) => this.files.get(path)?.file)
    return this.#refreshes.run('', () =>
      known === undefined || known.includes(undefined)
        ? this.#refresh(onProgress)
        : this.#refreshKnown(known.filter((file) => file !== undefined)),
    )
  }

  /** The paths that the last refresh could not read. */
  get unreadable(): UnreadablePath[] {
    return [...this.#unreadable].map(([path, reason]) => ({ path, reason }))
  }

  /** Names, sizes and times; reads no transcript. */
  list(): Listing {
    return this.#agents.list()
  }

  /** Brings the index up to date with this listing. */
  refreshTo(listing: Listing, onProgress?: (progress: ScanProgress) => void): Promise<string[]> {
    return this.#refreshes.run('', () => this.#refresh(onProgress, listing))
  }

  /** The files of these sessions, without loading all others; undefined if the index is not up to date with the listing. Files
   *  whose name does not tell their session are included. */
  some(listing: Listing, sessionIds: ReadonlySet<string>): KnownFile[] | undefined {
    const files = listing.files.filter(
      ({ sessionId }) => sessionId === undefined || sessionIds.has(sessionId),
    )
    const stored = new Map(this.#index.filesAt(files.map(({ path }) => path)).map((row) => [row.path, row]))
    if (!files.every((file) => isCurrent(file, stored.get(file.path)))) return undefined
    this.side = listing.side
    const known = files.map((file) => this.#knownFrom(file, stored.get(file.path)!))
    return known.includes(undefined) ? undefined : (known as KnownFile[])
  }

  /** The usage in files that were written since a time (ms), or in all files. */
  *usage(since = 0): Generator<UsageOfFile> {
    for (const { path, usage, models } of this.#index.allUsage()) {
      const known = this.files.get(path)
      if (known && lastWritten(known) >= since)
        yield { known, usage: new UsageTable(usage), models: JSON.parse(models) as string[] }
    }
  }

  /** The facts of these files by path, read from the index. A file whose facts are missing or damaged there is read again. */
  async facts(files: readonly KnownFile[]): Promise<Map<string, TranscriptFacts>> {
    const found = this.#storedFacts(files)
    const missing = files.filter(({ file }) => !found.has(file.path))
    if (missing.length === 0) return found
    await this.#refreshes.run('', () => this.#scan(missing.map(({ file }) => file)))
    return new Map([...found, ...this.#storedFacts(missing)])
  }

  #storedFacts(files: readonly KnownFile[]): Map<string, TranscriptFacts> {
    const rows = this.#index.factsAt(files.map(({ file }) => file.path))
    return new Map(
      rows.flatMap(({ path, facts }): Array<[string, TranscriptFacts]> => {
        const parsed = attempt(() => JSON.parse(facts) as TranscriptFacts)
        return parsed ? [[path, parsed]] : []
      }),
    )
  }

  editedNames(some?: readonly Uint8Array[]): ReturnType<DiscoveryIndex['editedNames']> {
    return this.#index.editedNames(some)
  }

  editsAt(paths: string[]): ReturnType<DiscoveryIndex['edits']> {
    return this.#index.edits(paths)
  }

  /** The facts of a transcript, from memory or from the index. */
  listFactsOf(file: TranscriptFile): ListFacts | undefined {
    const known = this.files.get(file.path)
    if (known) return known.listFacts
    const [stored] = this.#index.filesAt([file.path])
    return stored && this.#knownFrom(file, stored)?.listFacts
  }

  /** True if the index has every file of this listing as it is now. */
  isUpToDate({ files }: Listing): boolean {
    const stored = new Map(this.#index.places().map((row) => [row.path, row]))
    return files.every((file) => isCurrent(file, stored.get(file.path)))
  }

  /** Rewrites the index, so that no byte of deleted files is left in it. */
  rewrite(): Promise<void> {
    return this.#index.rewrite()
  }

  close(): Promise<void> {
    return this.#index.close()
  }

  async #refresh(onProgress?: (progress: ScanProgress) => void, listing = this.list()): Promise<string[]> {
    const found = new Map(listing.files.map((file) => [file.path, file]))
    this.#load(found)
    this.#unreadable.clear()
    for (const { path, reason } of listing.unreadable) this.#noteUnreadable(path, reason)
    this.side = listing.side
    const indexed = [...this.files.keys(), ...this.#stored.keys()]
    const gone = indexed.filter((path) => !found.has(path) && this.#isConfigured(path))
    const changed: TranscriptFile[] = []
    for (const file of listing.files) {
      if (!this.#isCurrent(file) || !this.#keep(file)) changed.push(file)
    }
    await this.#scan(changed, onProgress)
    for (const path of gone) this.#forget(path)
    if (gone.length > 0) await this.#index.remove(gone)
    return [...changed.map((file) => file.path), ...gone]
  }

  /** Checks only sizes and times of files that are known. */
  async #refreshKnown(files: TranscriptFile[]): Promise<string[]> {
    const now = files.map((file) => ({ ...file, ...sizeAndTime(file.path) }))
    if (now.some((file) => file.inode === 0)) return this.#refresh()
    const changed = now.filter((file) => !this.#isCurrent(file))
    await this.#scan(changed)
    return changed.map((file) => file.path)
  }

  /** A row of a file that has not changed is parsed and dropped at once, so that the texts of all rows are never in memory. */
  #load(found: ReadonlyMap<string, TranscriptFile>): void {
    if (this.#isLoaded) return
    for (const stored of this.#index.files()) {
      const file = found.get(stored.path)
      const known = file && isCurrent(file, stored) ? this.#knownFrom(file, stored) : undefined
      if (known) this.files.set(known.file.path, known)
      else this.#stored.set(stored.path, stored)
    }
    this.#isLoaded = true
  }

  /** Files of config directories that are not configured now stay in the index. */
  #isConfigured(path: string): boolean {
    return this.#agents.has(path)
  }

  #isCurrent(file: TranscriptFile): boolean {
    return isCurrent(file, this.#placeOf(file.path))
  }

  /** The size and the time of a file when it was last read. */
  #placeOf(path: string): FilePlace | undefined {
    return this.files.get(path)?.file ?? this.#stored.get(path)
  }

  /** The content is unchanged; the kind or the directory may have changed. False if the index has a damaged row of it. */
  #keep(file: TranscriptFile): boolean {
    const known = this.files.get(file.path)
    if (known) known.file = file
    return known !== undefined || this.#remember(file, this.#stored.get(file.path)!)
  }

  #remember(file: TranscriptFile, stored: IndexedFile): boolean {
    const known = this.#knownFrom(file, stored)
    this.#stored.delete(file.path)
    if (known) this.files.set(file.path, known)
    else this.files.delete(file.path)
    return known !== undefined
  }

  #knownFrom(file: TranscriptFile, stored: IndexedFile): KnownFile | undefined {
    const listFacts = attempt(() => this.#listFacts.read(stored.listFacts, file.sessionId))
    return listFacts && { file, listFacts, torn: stored.torn === 1 }
  }

  #forget(path: string): void {
    this.#stored.delete(path)
    this.files.delete(path)
  }

  async #scan(changed: TranscriptFile[], onProgress?: (progress: ScanProgress) => void): Promise<void> {
    if (changed.length === 0) return
    const jobs = changed.map((file) => this.#jobFor(file))
    const files = new Map(changed.map((file) => [file.path, file]))
    const progress = { files: jobs.length, filesDone: 0, bytes: sum(jobs), bytesDone: 0 }
    const saver = new Saver(this.#index)
    await scanAll(jobs, scanWorkerFile(), (outcomes) => {
      saver.add(this.#take(outcomes, files))
      progress.filesDone += outcomes.length
      progress.bytesDone += sum(outcomes)
      onProgress?.({ ...progress })
    })
    await saver.finish()
  }

  /** Continues where the last scan ended, if the file only grew. */
  #jobFor(file: TranscriptFile): ScanJob {
    const { path, agentKind } = file
    const last = this.#placeOf(path)
    const agent = agentKind && { file: { ...file, agentKind } }
    const scanned =
      last?.inode === file.inode && file.size > last.size ? this.#index.scanned(path) : undefined
    if (!last || !scanned) return { path, bytes: file.size, ...agent }
    const edits = this.#index.edits([path])[0]?.edits ?? new Uint8Array()
    return { path, bytes: file.size - last.size, before: { ...scanned, edits }, ...agent }
  }

  #take(outcomes: ScanOutcome[], files: Map<string, TranscriptFile>): ScannedFile[] {
    const scanned: ScannedFile[] = []
    for (const outcome of outcomes) {
      if ('scanned' in outcome) {
        scanned.push(outcome.scanned)
        const { inode, size, mtimeMs } = outcome.scanned
        const file = { ...files.get(outcome.path)!, inode, size, mtimeMs }
        // The name of a transcript has priority: the records of a copy may name the original.
        outcome.scanned.sessionId = file.sessionId ?? outcome.scanned.sessionId
        this.#remember(file, outcome.scanned)
        this.#unreadable.delete(outcome.path)
      } else if (outcome.failed !== undefined) this.#noteUnreadable(outcome.path, outcome.failed)
    }
    return scanned
  }

  #noteUnreadable(path: string, reason: string): void {
    this.#unreadable.set(path, reason)
    this.#log.warn(
      { event: 'transcript-unreadable', path, reason },
      'Could not read a transcript or its folder; its sessions are missing or out of date.',
    )
  }
}

/** A copied file may have an older time than its last record. */
function lastWritten({ file, listFacts }: KnownFile): number {
  return Math.max(file.mtimeMs, Date.parse(listFacts.lastTimestamp ?? '') || 0)
}

/** Differs whenever a transcript or the owner of a session has changed. */
export function stampOf({ files }: Listing, rows: ReadonlyMap<string, RegistryRow>): string {
  const seen = files.map(({ path, inode, size, mtimeMs }) => `${path}|${inode}|${size}|${mtimeMs}`)
  const owners = [...rows].map(([id, { agentId, repoPath, chat }]) => `${id}|${agentId}|${repoPath}|${chat}`)
  return hash('sha1', [indexFormat, ...seen, ...owners].join('\n'))
}

function isCurrent(file: TranscriptFile, stored: FilePlace | undefined): boolean {
  return stored?.size === file.size && stored.mtimeMs === file.mtimeMs && stored.inode === file.inode
}

/** A transaction for each file would take longer than reading them; one of many more would not fit into the page cache. */
const savedAtOnce = 200

/** Writes files into the index some hundred at a time. */
class Saver {
  readonly #index: DiscoveryIndex
  readonly #saving: Array<Promise<void>> = []
  #waiting: ScannedFile[] = []

  constructor(index: DiscoveryIndex) {
    this.#index = index
  }

  add(scanned: ScannedFile[]): void {
    this.#waiting.push(...scanned)
    if (this.#waiting.length >= savedAtOnce) this.#save()
  }

  async finish(): Promise<void> {
    if (this.#waiting.length > 0) this.#save()
    await Promise.all(this.#saving)
  }

  #save(): void {
    this.#saving.push(this.#index.save(this.#waiting))
    this.#waiting = []
  }
}

function sum(jobs: ReadonlyArray<{ bytes: number }>): number {
  return jobs.reduce((total, job) => total + job.bytes, 0)
}

function sizeAndTime(path: string): { inode: number; size: number; mtimeMs: number } {
  const stat = statSync(path, { throwIfNoEntry: false })
  return { inode: stat?.ino ?? 0, size: stat?.size ?? 0, mtimeMs: stat?.mtimeMs ?? 0 }
}
