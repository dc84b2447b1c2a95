// The contract for session rows and transcripts. SQLite, files and PostgreSQL keep it, and one contract test holds
// them to it (test/support/session-store-contract.ts). A store belongs to one agent: nothing in it reaches another's.
import type { Session, SessionEntry } from '../domain/session.ts'
import type { EntryBody, TranscriptEntry, TranscriptHeader } from '../domain/transcript.ts'

export interface ListFilter {
  limit?: number
  offset?: number
  /** Only sessions active since this time (ms). */
  activeSince?: number
  /** Substring of key, label, display name, subject or session id; upper and lower case alike. */
  search?: string
  label?: string
  spawnedBy?: string
  /** Archived ones instead of the others. */
  archived?: boolean
}

export interface SessionPage {
  /** How many match, whatever the limit. */
  total: number
  /** Newest first, without the bulky fields. */
  sessions: Session[]
}

/** Gets a copy of the entry (none if new); returns the entry to store, or undefined to leave things as they are. */
export type Change = (entry: SessionEntry | undefined) => SessionEntry | undefined

export interface Update {
  key: string
  change: Change
}

export interface SessionStore {
  readonly agentId: string
  /** The whole entry, bulky fields included. */
  get(key: string): Promise<SessionEntry | undefined>
  /** The entry without its bulky fields: what most readers need, and much faster. Another program's edit of
   *  sessions.json may be seen a moment later than by `get`. */
  peek(key: string): Promise<SessionEntry | undefined>
  list(filter?: ListFilter): Promise<SessionPage>
  /** Sessions whose id, id prefix, label or key is `ref`. More than one means that it is ambiguous. */
  find(ref: string): Promise<Session[]>
  /** Reads, changes and writes one entry as one step; resolves when it is on disk. Resolves to what is stored now. */
  update(key: string, change: Change): Promise<SessionEntry | undefined>
  /** Many at once, each as `update` would: one that is refused does not keep the others from it. Answers in order. */
  updateAll(updates: Update[]): Promise<Array<PromiseSettledResult<SessionEntry | undefined>>>
  /** Removes the row; resolves to what it was. */
  delete(key: string): Promise<SessionEntry | undefined>
  /** Removes the row so that nothing of it is left, neither in free pages nor in copies of before. */
  purge(key: string): Promise<void>
  /** Gives a row another key, as one step: it is never under both, nor under none. Resolves to the row under `to`;
   *  when there is one already, both stay as they are. */
  move(from: string, to: string): Promise<SessionEntry | undefined>
  /** Every entry in full, for export and import; in any order. */
  entries(): AsyncIterable<Session>
  /** What could not be read or was set aside, in words; empty when all is well. */
  damage(): Promise<string[]>
  close(): Promise<void>
}

/** Which transcript: a session id, and the topic when a thread has a file of its own. */
export interface TranscriptRef {
  sessionId: string
  topicId?: string
  /** Where the session's row says that it is; wins over the name made from the id. */
  file?: string
}

export interface TranscriptPage {
  header: TranscriptHeader | undefined
  /** In file order. */
  entries: TranscriptEntry[]
  /** Is there more before the first of these? Pass this as `before`. */
  before?: number
  /** What could not be read, in words: `line 4 is not JSON`. Reading never changes the file. */
  damage: string[]
}

/** What is left out of a reading, in words. */
export type OnDamage = (what: string) => void

export interface AppendOptions {
  cwd: string
  parentSession?: string
  key?: string
  /** A crash of the machine cannot lose it, as it is also in the inbox: it need not be on disk before the next append or sync. */
  isKeptElsewhere?: boolean
}

export interface TranscriptStore {
  readonly agentId: string
  /** Adds entries below the current leaf as one durable write; makes the transcript with its header when there is none. */
  append(ref: TranscriptRef, bodies: EntryBody[], options: AppendOptions): Promise<TranscriptEntry[]>
  /** What was appended is on disk, also what is kept elsewhere. */
  sync(ref: TranscriptRef): Promise<void>
  /** The last `limit` entries, or those before a mark of an earlier page. Reads only as much of the file as needed. */
  tail(ref: TranscriptRef, limit: number, before?: number): Promise<TranscriptPage>
  /** Every entry in the order of writing, branches and all, a piece at a time. */
  read(ref: TranscriptRef, onDamage?: OnDamage): AsyncIterable<TranscriptEntry>
  /** The entries from the root to `leafId` (default: the leaf): the conversation as it stands. */
  path(ref: TranscriptRef, leafId?: string, onDamage?: OnDamage): AsyncIterable<TranscriptEntry>
  header(ref: TranscriptRef): Promise<TranscriptHeader | undefined>
  exists(ref: TranscriptRef): Promise<boolean>
  /** A whole new transcript, for imports. Refused if there is one. */
  create(
    ref: TranscriptRef,
    header: { cwd: string; timestamp?: string; parentSession?: string },
    entries: AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>,
  ): Promise<void>
  /** A new transcript that holds the path from the root to `leafId` (default: the leaf). */
  fork(ref: TranscriptRef, to: { sessionId: string; leafId?: string }): Promise<TranscriptRef>
  /** Keeps the last entries of the current path below a valid header; the whole transcript becomes an archive. */
  truncate(ref: TranscriptRef, keep: number): Promise<{ kept: number; dropped: number; archived?: string }>
  /** Sets the transcript aside under a name that says why and when; resolves to the archive's name. */
  archive(ref: TranscriptRef, reason: 'reset' | 'deleted' | 'bak'): Promise<string | undefined>
  /** Newest first. */
  archives(): Promise<TranscriptArchive[]>
  /** An archive as a transcript, for reading only. */
  archiveRef(name: string): Promise<TranscriptRef>
  unarchive(name: string): Promise<TranscriptRef>
  /** Removes an archive for good. */
  discard(name: string): Promise<void>
  /** Every transcript there is, whether a session has it or not. */
  list(): Promise<Array<TranscriptRef & { bytes: number; changedAt: number }>>
  /** Lets go of everything; resolves when every append is on disk. */
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
