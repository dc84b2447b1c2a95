// Our transcripts in PostgreSQL: one row per line of a transcript file. A transcript has the name that its file would have, so
// sessions, archives and exports look the same with every store.
import { randomUUID } from 'node:crypto'
import { basename, join } from 'node:path'
import { KeyedQueue } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { RockpoolError } from '../../domain/errors.ts'
import type { Events } from '../../domain/events.ts'
import type { EntryBody, TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import { checkSessionId } from '../paths.ts'
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
import { bodyTexts } from '../transcripts/transcript-append.ts'
import {
  forkName,
  noArchive,
  noEntry,
  parseArchiveName,
  parseTranscriptName,
  transcriptName,
} from '../transcripts/transcript-paths.ts'
import type { ArchiveReason } from '../transcripts/transcript-paths.ts'
import { shortenPath } from '../transcripts/transcript-truncate.ts'
import type { Postgres, Statements } from './connection.ts'
import { inBatches } from './sql.ts'
import {
  archiveTranscript,
  asEntry,
  entriesFrom,
  headerOf,
  headerText,
  insertMore,
  insertTranscript,
  lineAppender,
  listArchives,
  listCurrent,
  pathIds,
  pieceRows,
} from './transcript-rows.ts'
import type { EntryRow, TranscriptRow } from './transcript-rows.ts'

export interface PostgresTranscriptsOptions {
  agentId: string
  /** The folder in which the files would be; names are shown with it. */
  dir: string
  clock: Clock
  events?: Pick<Events, 'emit'>
}

export class PostgresTranscripts implements TranscriptStore {
  readonly agentId: string
  #postgres: Postgres
  #options: PostgresTranscriptsOptions
  #appends = new KeyedQueue()
  #appendLines: ReturnType<typeof lineAppender>

  constructor(postgres: Postgres, options: PostgresTranscriptsOptions) {
    this.agentId = options.agentId
    this.#postgres = postgres
    this.#options = options
    this.#appendLines = lineAppender(postgres)
  }

  /** Appends to one transcript are queued here; the row lock orders those of other machines. */
  append(ref: TranscriptRef, bodies: EntryBody[], options: AppendOptions): Promise<TranscriptEntry[]> {
    const key = JSON.stringify([ref.file ?? ref.sessionId, ref.topicId])
    return this.#appends.run(key, () => this.#append(ref, bodies, options))
  }

  async sync(): Promise<void> {
    // Every append is a transaction, durable when it resolves.
  }

  async tail(ref: TranscriptRef, limit: number, before?: number): Promise<TranscriptPage> {
    const row = await this.#get(ref)
    const found = await this.#postgres.read<EntryRow>(
      `SELECT seq, id, parent_id, line FROM transcript_entry WHERE transcript = $1 AND ($2::bigint IS NULL OR seq < $2)
       ORDER BY seq DESC LIMIT $3`,
      [row.id, before ?? null, limit + 1],
    )
    const shown = found.slice(0, limit).reverse()
    const isMore = found.length > limit
    return {
      header: headerOf(row),
      entries: shown.map(asEntry),
      ...(isMore ? { before: shown[0]?.seq ?? before } : {}),
      damage: [],
    }
  }

  async *read(ref: TranscriptRef, _onDamage?: OnDamage): AsyncGenerator<TranscriptEntry> {
    const row = await this.#get(ref)
    yield* entriesFrom(this.#postgres, row.id)
  }

  async *path(ref: TranscriptRef, leafId?: string, onDamage?: OnDamage): AsyncGenerator<TranscriptEntry> {
    const row = await this.#get(ref)
    const { seqs, missing } = await pathIds(this.#postgres, row.id, leafId ?? row.leaf_id)
    if (leafId !== undefined && seqs.length === 0) throw noEntry(leafId, ref)
    if (missing !== undefined) onDamage?.(`the entry ${missing} is missing`)
    yield* entriesFrom(this.#postgres, row.id, seqs)
  }

  async header(ref: TranscriptRef): Promise<TranscriptHeader | undefined> {
    return headerOf(await this.#get(ref))
  }

  async exists(ref: TranscriptRef): Promise<boolean> {
    return (await this.#find(ref)) !== undefined
  }

  async create(ref: TranscriptRef, header: NewHeader, entries: Entries): Promise<void> {
    const now = this.#options.clock.now()
    const name = this.#nameOf(ref)
    const timestamp = header.timestamp ?? new Date(now).toISOString()
    const place = { agentId: this.agentId, name, ref, now }
    const pieces = inBatches(entries, pieceRows)
    const first = (await pieces.next()).value ?? []
    const insert = async (statements: Pick<Statements, 'rows'>): Promise<void> => {
      const id = await insertTranscript(statements, place, { ...header, timestamp }, first)
      for await (const piece of pieces) await insertMore(statements, id, piece)
    }
    // One statement is a transaction by itself. Several run once only, because `entries` can be read once only.
    if (first.length < pieceRows) await insert({ rows: (sql, values) => this.#postgres.write(sql, values) })
    else await this.#postgres.transaction(insert, { once: true })
    this.#emitAppended(ref.sessionId, name)
  }

  async fork(ref: TranscriptRef, to: { sessionId: string; leafId?: string }): Promise<TranscriptRef> {
    const parent = await this.#get(ref)
    const timestamp = new Date(this.#options.clock.now()).toISOString()
    const forked = { sessionId: to.sessionId, file: this.#fileOf(forkName(to.sessionId, timestamp)) }
    const header = { cwd: headerOf(parent).cwd, timestamp, parentSession: this.#fileOf(parent.name) }
    const entries: TranscriptEntry[] = []
    for await (const entry of this.path(ref, to.leafId)) entries.push(entry)
    await this.create(forked, header, entries)
    return forked
  }

  async truncate(ref: TranscriptRef, keep: number): Promise<Truncated> {
    const row = await this.#get(ref)
    const path: TranscriptEntry[] = []
    for await (const entry of this.path(ref)) path.push(entry)
    const { entries, isShorter } = shortenPath(path, keep)
    if (!isShorter) return { kept: entries.length, dropped: 0 }
    const now = this.#options.clock.now()
    return this.#postgres.transaction(async (statements) => {
      const archived = await archiveTranscript(statements, { agentId: this.agentId, ...row }, 'bak', now)
      const sql = 'SELECT entries FROM transcript WHERE id = $1'
      const [counted] = await statements.rows<{ entries: number }>(sql, [row.id])
      const place = { agentId: this.agentId, name: row.name, ref, now }
      const id = await insertTranscript(statements, place, headerOf(row), [])
      for await (const piece of inBatches(entries, pieceRows)) await insertMore(statements, id, piece)
      return { kept: entries.length, dropped: counted!.entries - entries.length, archived }
    })
  }

  async archive(ref: TranscriptRef, reason: ArchiveReason): Promise<string | undefined> {
    const row = await this.#find(ref)
    if (!row) return undefined
    return this.#postgres.transaction((statements) =>
      archiveTranscript(statements, { agentId: this.agentId, ...row }, reason, this.#options.clock.now()),
    )
  }

  archives(): Promise<TranscriptArchive[]> {
    return listArchives(this.#postgres, this.agentId)
  }

  async archiveRef(name: string): Promise<TranscriptRef> {
    const { sessionId } = await this.#archived(name)
    return { sessionId, file: this.#fileOf(name) }
  }

  async unarchive(name: string): Promise<TranscriptRef> {
    const { original, sessionId, topicId } = await this.#archived(name)
    const [done] = await this.#postgres.write(
      `UPDATE transcript SET name = $3, archived_at = NULL, reason = NULL WHERE agent = $1 AND name = $2
         AND NOT EXISTS (SELECT 1 FROM transcript WHERE agent = $1 AND name = $3) RETURNING id`,
      [this.agentId, name, original],
    )
    if (!done)
      throw new RockpoolError('conflict', `There is another transcript ${original} already.`, {
        hint: 'Archive that one first.',
      })
    return { sessionId, topicId, file: this.#fileOf(original) }
  }

  async discard(name: string): Promise<void> {
    await this.#archived(name)
    await this.#postgres.write('DELETE FROM transcript WHERE agent = $1 AND name = $2', [this.agentId, name])
  }

  async list(): Promise<Array<TranscriptRef & { bytes: number; changedAt: number }>> {
    const found = await listCurrent(this.#postgres, this.agentId)
    return found.map(({ name, ...ref }) => ({ ...ref, file: this.#fileOf(name) }))
  }

  async close(): Promise<void> {
    await this.#appends.idle()
  }

  async #append(ref: TranscriptRef, bodies: EntryBody[], options: AppendOptions): Promise<TranscriptEntry[]> {
    bodyTexts(bodies)
    const { key, isKeptElsewhere: _isKeptElsewhere, ...header } = options
    const now = this.#options.clock.now()
    const timestamp = new Date(now).toISOString()
    const place = { agentId: this.agentId, name: this.#nameOf(ref), ref, now }
    const text = headerText(ref.sessionId, timestamp, header)
    const ids = bodies.map(() => randomUUID())
    const lines = bodies.map((body) => JSON.stringify({ ...body, timestamp }))
    const { name, parent } = await this.#appendLines(place, text, { ids, lines })
    // Removed by another process in between: the session starts a new transcript.
    if (parent === null) return this.#append(ref, bodies, options)
    this.#emitAppended(ref.sessionId, name, key)
    return bodies.map((body, index) => {
      const parentId = index === 0 ? parent || null : ids[index - 1]!
      return { ...body, id: ids[index]!, parentId, timestamp }
    })
  }

  async #archived(name: string): Promise<NonNullable<ReturnType<typeof parseArchiveName>>> {
    const parts = basename(name) === name ? parseArchiveName(name) : undefined
    const sql = 'SELECT 1 FROM transcript WHERE agent = $1 AND name = $2 AND archived_at IS NOT NULL'
    const [row] = await this.#postgres.read(sql, [this.agentId, name])
    if (parts && row) return parts
    throw noArchive(name, this.agentId)
  }

  async #get(ref: TranscriptRef): Promise<TranscriptRow> {
    const row = await this.#find(ref)
    if (row) return row
    const message = `The session ${ref.sessionId} has no transcript (${this.#nameOf(ref)}).`
    throw new RockpoolError('not-found', message)
  }

  async #find(ref: TranscriptRef): Promise<TranscriptRow | undefined> {
    const name = this.#nameOf(ref)
    const named = 'SELECT id, name, header, leaf_id FROM transcript WHERE agent = $1 AND '
    const [row] = ref.file
      ? await this.#postgres.read<TranscriptRow>(`${named} name = $2`, [this.agentId, name])
      : await this.#postgres.read<TranscriptRow>(
          `${named} session_id = $2 AND topic_id IS NOT DISTINCT FROM $3 AND archived_at IS NULL
           ORDER BY name = $4 DESC LIMIT 1`,
          [this.agentId, ref.sessionId, ref.topicId ?? null, name],
        )
    return row
  }

  #nameOf(ref: TranscriptRef): string {
    checkSessionId(ref.sessionId)
    if (!ref.file) return transcriptName(ref.sessionId, ref.topicId)
    const name = basename(ref.file)
    if (parseTranscriptName(name) ?? parseArchiveName(name)) return name
    throw new RockpoolError('refused', `${JSON.stringify(ref.file)} names no transcript.`)
  }

  #fileOf(name: string): string {
    return join(this.#options.dir, name)
  }

  #emitAppended(sessionId: string, name: string, key?: string): void {
    const where = { agentId: this.agentId, sessionId, file: this.#fileOf(name) }
    this.#options.events?.emit({ type: 'transcript-appended', ...where, key })
  }
}
