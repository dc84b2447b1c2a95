// The notes of agents in the shared database. Notes stay files in the workspace, where agents and people edit them. Changes of
// other machines are fetched before a turn, and changes of this machine are sent after it.
import { randomUUID } from 'node:crypto'
import { SharedRun } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError, asRockpoolError } from '../../domain/errors.ts'
import type { Log } from '../../domain/log.ts'
import { isSameNote, mergeNotes, type Merged, type NoteBody } from '../notes/merge-notes.ts'
import { NoteBases } from '../notes/note-bases.ts'
import {
  keptVersionName,
  createNote,
  notePath,
  notesIn,
  readNoteFile,
  replaceNote,
  noteVersion,
} from '../notes/note-files.ts'
import type { NotePlaces } from '../notes/note-files.ts'
import { StoreUnavailable } from '../store-unavailable.ts'
import type { Postgres } from './connection.ts'
import type { Members } from './members.ts'
import { fromHex } from './sql.ts'

export interface SharedNotesParts {
  postgres: Postgres
  members?: Pick<Members, 'on'>
  /** The last common version of each note: the base of a three-way merge. It can be deleted. */
  bases: string
  machine: string
  agentIds: () => string[]
  placesOf: (agentId: string) => NotePlaces
  clock: Clock
  log: Log
}

interface ListedNote {
  origin: string
  /** Null in the row that stands for an agent without notes. */
  name: string | null
  revision: number
  gone: boolean
}

interface StoredNote {
  revision: number
  body: NoteBody
  at: number
  /** The stamp of this machine's last write that arrived. */
  stamp: string | null
}

const maxAttempts = 20
const maxNoteBytes = 8 * 1_048_576
/** How often local files are checked for changes, and how often the database is polled. */
const checkFilesMs = 2_000
const pollMs = 30_000

export class SharedNotes {
  #parts: SharedNotesParts
  #bases: NoteBases
  /** One for each agent. */
  #syncs = new Map<string, SharedRun>()
  #stopListening: (() => void) | undefined
  #cancelCheck = (): void => {}
  #lastPoll = 0
  #problems = new Set<string>()
  #isClosed = false

  constructor(parts: SharedNotesParts) {
    this.#parts = parts
    this.#bases = NoteBases.open(parts.bases)
  }

  /** Merges the notes of this machine and of the database. Resolves when both have everything that was written before. */
  sync(agentId: string): Promise<void> {
    const syncs = this.#syncs.get(agentId) ?? new SharedRun(() => this.#sync(agentId))
    this.#syncs.set(agentId, syncs)
    return syncs.start()
  }

  /** Sends what was changed on this machine; no query when nothing was. */
  async give(agentId: string): Promise<void> {
    const here = notesIn(this.#parts.placesOf(agentId))
    const known = this.#bases.of(agentId)
    const isNew = [...here].some(([name, path]) => known.get(name)?.seen !== noteVersion(path))
    if (isNew || known.size !== here.size) await this.sync(agentId)
  }

  /** For readers: during an outage they get the last known state without waiting. */
  async refresh(agentIds: string[]): Promise<void> {
    if (this.#parts.postgres.health.state === 'lost') return
    for (const agentId of agentIds) await this.#orLog(() => this.sync(agentId))
  }

  problems(): string[] {
    return [...this.#problems]
  }

  /** Keeps the notes of this machine and of the database equal, until `close`. */
  follow(): void {
    if (this.#stopListening || this.#isClosed) return
    this.#stopListening =
      this.#parts.members?.on(({ kind }) => {
        if (kind === 'memory') void this.refresh(this.#parts.agentIds())
      }) ?? (() => {})
    this.#checkLater()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#stopListening?.()
    this.#cancelCheck()
    for (const syncs of this.#syncs.values()) await syncs.idle()
    await this.#bases.close()
  }

  /** The pause after a check is 50 times as long as the check, so that many notes do not keep the process busy. */
  #checkLater(tookMs = 0): void {
    if (this.#isClosed) return
    const { clock } = this.#parts
    this.#cancelCheck = clock.after(Math.max(checkFilesMs, 50 * tookMs), () => {
      const began = clock.monotonic()
      void this.#check().then(() => this.#checkLater(clock.monotonic() - began))
    })
  }

  async #check(): Promise<void> {
    const now = this.#parts.clock.monotonic()
    const isPollDue = now - this.#lastPoll >= pollMs
    if (isPollDue) this.#lastPoll = now
    for (const agentId of this.#parts.agentIds())
      await this.#orLog(() => (isPollDue ? this.sync(agentId) : this.give(agentId)))
  }

  async #orLog(work: () => Promise<void>): Promise<void> {
    if (this.#isClosed) return
    await work().catch((error: unknown) =>
      this.#parts.log.debug(
        { event: 'notes-share-failed', error: String(error) },
        'Could not share notes; retrying.',
      ),
    )
  }

  async #sync(agentId: string): Promise<void> {
    const { postgres, placesOf } = this.#parts
    const places = placesOf(agentId)
    const rows = await postgres.read<ListedNote>(
      `SELECT id AS origin, name, revision, body IS NULL AS gone FROM record_origin LEFT JOIN memory_file ON agent = $1`,
      [agentId],
    )
    await this.#bases.checkOrigin(rows[0]!.origin)
    const here = notesIn(places)
    // All notes missing at once means a lost workspace, not deletions.
    if (here.size === 0 && this.#bases.of(agentId).size > 0) await this.#bases.forget(agentId)
    const known = this.#bases.of(agentId)
    const there = new Map(rows.flatMap((row) => (row.name === null ? [] : [[row.name, row]])))
    for (const name of new Set([...here.keys(), ...known.keys(), ...there.keys()])) {
      const [path, base, row] = [here.get(name), known.get(name), there.get(name)]
      const isGone = path === undefined && !base && row?.gone !== false
      const isUnchanged =
        path !== undefined && base?.revision === row?.revision && base?.seen === noteVersion(path)
      if (!isGone && !isUnchanged) await this.#mergeOrLog(agentId, places, name)
    }
  }

  /** A note that cannot be shared does not stop the others. */
  async #mergeOrLog(agentId: string, places: NotePlaces, name: string): Promise<void> {
    try {
      await this.#merge(agentId, places, name)
    } catch (error) {
      if (error instanceof StoreUnavailable) throw error
      const problem = `note ${name} of ${agentId}: ${asRockpoolError(error).message}`
      if (this.#problems.has(problem)) return
      this.#problems.add(problem)
      this.#parts.log.warn(
        { event: 'note-not-shared', agentId, name, error: String(error) },
        'Could not share a note; the other machines do not get its last version.',
      )
    }
  }

  async #merge(agentId: string, places: NotePlaces, name: string): Promise<void> {
    const path = notePath(places, name)
    if (path === undefined) throw notShared(`${JSON.stringify(name)} is no name of a note here`)
    for (let attempt = 1; attempt <= maxAttempts; attempt++) {
      const here = readNoteFile(path)
      if ((here?.body.length ?? 0) > maxNoteBytes) throw notShared(`it is larger than ${maxNoteBytes} bytes`)
      const there = await this.#read(agentId, name)
      // A process that was killed, or that lost the reply, may have written more than its base says.
      const written = this.#bases.bodyOfStamp(agentId, name, there.stamp)
      const known = this.#bases.get(agentId, name)
      // A database older than our base was restored from a backup: its missing notes are not deletions.
      const isBehind = known !== undefined && known.revision > there.revision
      const base = written ?? (isBehind ? undefined : known?.body)
      const merged = mergeNotes(base, here?.body, there.body)
      if (merged.beside) await this.#keepBeside(agentId, places, name, merged.beside)
      const at = isSameNote(merged.body, there.body) ? there.at : (here?.changedAt ?? this.#parts.clock.now())
      const revision = await this.#write(agentId, name, { here: here?.body, there, merged, at })
      if (revision === undefined) continue
      // The database has our version; our file does not have theirs yet.
      if (here && !merged.beside)
        await this.#bases.set(agentId, name, { revision: there.revision, body: here.body })
      if (!isSameNote(here?.body, merged.body) && !replaceNote(path, here?.body, merged.body, at)) continue
      return this.#saveBase(agentId, name, path, revision, merged.body)
    }
    throw new RockpoolError('busy', `Other processes keep changing the note ${name} of ${agentId}.`)
  }

  async #saveBase(
    agentId: string,
    name: string,
    path: string,
    revision: number,
    body: NoteBody,
  ): Promise<void> {
    if (body === undefined) return this.#bases.remove(agentId, name)
    const now = readNoteFile(path)
    const seen = isSameNote(now?.body, body) ? now!.seen : undefined
    await this.#bases.set(agentId, name, { revision, body, seen })
  }

  async #read(agentId: string, name: string): Promise<StoredNote> {
    const [row] = await this.#parts.postgres.read<Omit<StoredNote, 'body'> & { body: string | null }>(
      'SELECT revision, body, at, stamps->>$3 AS stamp FROM memory_file WHERE agent = $1 AND name = $2',
      [agentId, name, this.#bases.machineId],
    )
    if (!row) return { revision: 0, body: undefined, at: 0, stamp: null }
    const { body, ...rest } = row
    return { ...rest, body: body === null ? undefined : fromHex(body) }
  }

  /** Resolves to the note's revision; undefined on a conflict. */
  async #write(
    agentId: string,
    name: string,
    { here, there, merged, at }: { here: NoteBody; there: StoredNote; merged: Merged; at: number },
  ): Promise<number | undefined> {
    const { postgres, machine } = this.#parts
    const { body } = merged
    if (isSameNote(body, there.body)) return there.revision
    const stamp = randomUUID()
    if (here) await this.#bases.recordSent(agentId, name, stamp, here)
    const [put] = await postgres.write<{ revision: number | null }>(
      'SELECT put_memory($1, $2, $3, $4, $5, $6, $7, $8) AS revision',
      [agentId, name, there.revision, body ?? null, Math.round(at), machine, this.#bases.machineId, stamp],
    )
    return put?.revision ?? undefined
  }

  async #keepBeside(agentId: string, places: NotePlaces, name: string, body: Buffer): Promise<void> {
    const { clock, machine, log } = this.#parts
    const beside = keptVersionName(name, machine, clock.now())
    const path = notePath(places, beside)
    if (path === undefined || !createNote(path, body))
      throw notShared('its versions cannot be kept side by side')
    log.warn(
      { event: 'note-conflict', agentId, name, beside },
      "A note was rewritten on two machines; kept this machine's version beside it.",
    )
    await this.#merge(agentId, places, beside)
  }
}

function notShared(why: string): RockpoolError {
  return new RockpoolError('refused', `A note stays on this machine only: ${why}.`)
}
