// The contract for session rows and transcripts. SQLite, files and PostgreSQL implement it, and one contract test checks all of
// them (test/support/session-store-contract.ts). A store belongs to one agent and has no access to other agents.
import type { Session, SessionEntry } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry, TranscriptHeader } from '../domain/transcript.ts'

export interface ListFilter {
  limit?: number
  offset?: number
  /** Only sessions active since this time (ms). */
  activeSince?: number
  /** Substring of key, label, display name, subject or session id; case-insensitive. */
  search?: string
  label?: string
  spawnedBy?: string
  /** Only archived sessions; otherwise only those that are not archived. */
  archived?: boolean
}

export interface SessionPage {
  /** How many match, independent of the limit. */
  total: number
  /** Newest first, without the large fields. */
  sessions: Session[]
}

/** Gets a copy of the entry (undefined if new); returns the entry to store, or undefined for no change. */
export type Change = (entry: SessionEntry | undefined) => SessionEntry | undefined

export interface Update {
  key: string
  change: Change
}

export interface SessionStore {
  readonly agentId: string
  /** The whole entry, including the large fields. */
  get(key: string): Promise<SessionEntry | undefined>
  /** The entry without its large fields: enough for most readers, and much faster. Sees edits of sessions.json by other
   *  programs a moment later than `get`. */
  peek(key: string): Promise<SessionEntry | undefined>
  list(filter?: ListFilter): Promise<SessionPage>
  /** Sessions whose id, id prefix, label or key is `ref`. Several results mean that `ref` is ambiguous. */
  find(ref: string): Promise<Session[]>
  /** Reads, changes and writes one entry atomically. Resolves to the stored entry when it is on disk. `known` is an entry that
   *  `get` returned and that was not modified since: if it is still the stored one, `change` may get it, and no copy. */
  update(key: string, change: Change, known?: SessionEntry): Promise<SessionEntry | undefined>
  /** Like `update` for many entries; a refused one does not affect the others. Results are in order. */
  updateAll(updates: Update[]): Promise<Array<PromiseSettledResult<SessionEntry | undefined>>>
  delete(key: string): Promise<SessionEntry | undefined>
  /** Removes the row and all traces of it, including free pages and older copies. */
  purge(key: string): Promise<void>
  /** Changes the key of a row atomically. Resolves to the row with key `to`; if that key exists, both rows stay unchanged. */
  move(from: string, to: string): Promise<SessionEntry | undefined>
  /** Every entry in full, for export and import; in any order. */
  entries(): AsyncIterable<Session>
  /** Descriptions of rows that could not be read or were set aside; empty if there are none. */
  damage(): Promise<string[]>
  close(): Promise<void>
}

/** Identifies a transcript: a session id, and the topic if a thread has its own file. */
export interface TranscriptRef {
  sessionId: string
  topicId?: string
  /** The file that the session's row names; wins over the name that follows from the id. */
  file?: string
}

export interface TranscriptPage {
  header: TranscriptHeader | undefined
  /** In file order. */
  entries: TranscriptEntry[]
  /** Present if there are earlier entries: pass it as `before` for the previous page. */
  before?: number
  /** Descriptions of damage: `line 4 is not JSON`. Reading never changes the file. */
  damage: string[]
}

/** Called with a description of each part that could not be read. */
export type OnDamage = (what: string) => void

export interface AppendOptions {
  cwd: string
  parentSession?: string
  key?: string
  /** The entry is also in the inbox, so a crash cannot lose it: it need not be on disk before the next append or sync. */
  isKeptElsewhere?: boolean
}

export interface NewHeader {
  cwd: string
  /** Now when absent. */
  timestamp?: string
  parentSession?: string
}

export type Entries = AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>

export interface Truncated {
  kept: number
  dropped: number
  /** The name of the archive with the whole transcript; absent if nothing was dropped. */
  archived?: string
}

export interface TranscriptStore {
  readonly agentId: string
  /** Appends entries below the current leaf in one durable write; creates the transcript if there is none. */
  append(ref: TranscriptRef, bodies: EntryBody[], options: AppendOptions): Promise<TranscriptEntry[]>
  /** Resolves when all appended entries are on disk, including those that are also kept elsewhere. */
  sync(ref: TranscriptRef): Promise<void>
  /** The last `limit` entries, or those before the `before` of another page. Reads only the needed part of the file. */
  tail(ref: TranscriptRef, limit: number, before?: number): Promise<TranscriptPage>
  /** Every entry of all branches, in the order of writing. */
  read(ref: TranscriptRef, onDamage?: OnDamage): AsyncIterable<TranscriptEntry>
  /** The entries from the root to `leafId` (default: the current leaf): the conversation. */
  path(ref: TranscriptRef, leafId?: string, onDamage?: OnDamage): AsyncIterable<TranscriptEntry>
  header(ref: TranscriptRef): Promise<TranscriptHeader | undefined>
  exists(ref: TranscriptRef): Promise<boolean>
  /** Creates a whole transcript, for imports. Refused if it exists. */
  create(ref: TranscriptRef, header: NewHeader, entries: Entries): Promise<void>
  /** Creates a transcript with the path from the root to `leafId` (default: the current leaf). */
  fork(ref: TranscriptRef, to: { sessionId: string; leafId?: string }): Promise<TranscriptRef>
  /** Keeps only the last entries of the current path; the whole transcript becomes an archive. */
  truncate(ref: TranscriptRef, keep: number): Promise<Truncated>
  /** Archives the transcript under a name with reason and time; resolves to that name. */
  archive(ref: TranscriptRef, reason: 'reset' | 'deleted' | 'bak'): Promise<string | undefined>
  /** Newest first. */
  archives(): Promise<TranscriptArchive[]>
  /** Refers to an archive as a transcript, for reading only. */
  archiveRef(name: string): Promise<TranscriptRef>
  unarchive(name: string): Promise<TranscriptRef>
  discard(name: string): Promise<void>
  /** All transcripts, also those without a session. */
  list(): Promise<Array<TranscriptRef & { bytes: number; changedAt: number }>>
  /** Resolves when every append is on disk and all files are closed. */
  close(): Promise<void>
}

export interface TranscriptArchive {
  name: string
  sessionId: string
  topicId?: string
  reason: 'reset' | 'deleted' | 'bak'
  at: number
  bytes: number
}
