// Everything that Rockpool keeps, behind one interface. Callers do not know which database or which files hold it: `open.ts`
// chooses that by the configuration. Each part is opened at its first use.
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Decisions } from '../domain/selection.ts'
import type { Repository } from '../domain/machine.ts'
import type { SessionStore as ClaudeSessionStore, SessionStoreEntry } from '../domain/sdk-contract.ts'
import type { Environment } from './config-file.ts'
import type { StatePaths } from './paths.ts'
import type { Health, Postgres } from './postgres/connection.ts'
import type { SharedMedia } from './postgres/media.ts'
import type { Members } from './postgres/members.ts'
import type { SharedNotes } from './postgres/note-store.ts'
import type { TranscriptCopies } from './postgres/transcript-copies.ts'
import type { SessionStore, TranscriptStore } from './session-store.ts'
import type { ApprovalStore } from './sqlite/approval-store.ts'
import type { CodingStore } from './sqlite/coding-store.ts'
import type { ScheduleStore } from './sqlite/schedule-store.ts'
import type { SpendStore } from './sqlite/spend-store.ts'
import type { UsageStore } from './sqlite/usage-store.ts'
import type { Answers } from './tables/answers.ts'
import type { MailStore } from './tables/mail.ts'
import type { People } from './tables/pairing.ts'
import type { PurgedSession } from './tables/purge-rows.ts'
import type { ReplyMap } from './tables/reply-map.ts'
import type { WorkStore } from './work-store.ts'

export interface Storage {
  readonly sessions: (agentId: string) => SessionStore
  readonly transcripts: (agentId: string) => TranscriptStore
  /** Pending work: inbox, turns, outbox. */
  readonly work: WorkStore
  readonly people: People
  readonly coding: CodingStore
  /** `coding`, or undefined while this machine has no database: a list must not create one. */
  existingCoding(): CodingStore | undefined
  readonly approvals: ApprovalStore
  readonly spend: SpendStore
  /** The usage windows of the Claude subscription. */
  readonly usage: UsageStore
  readonly schedules: ScheduleStore
  /** Messages between sessions, chats and people. */
  readonly mail: MailStore
  readonly decisions: Decisions
  readonly answers: Answers
  readonly replyMap: ReplyMap
  readonly notes: NoteExchange
  readonly media: MediaExchange
  /** Removes messages, replies, approvals and answers of a session. Resolves to the files that were sent with the replies. */
  purge(session: PurgedSession): Promise<string[]>
  /** Present where several machines share one database. */
  readonly cluster?: Cluster
  close(): Promise<void>
}

/** Exchanges the notes of agents with other machines. Without a cluster the files are the only copy, and nothing happens. */
export type NoteExchange = Pick<SharedNotes, 'sync' | 'give' | 'refresh'>

/** Exchanges the files of messages and replies with other machines. Without a cluster nothing is copied. */
type MediaExchange = Pick<SharedMedia, 'give' | 'bring' | 'remove' | 'forget'>

/** The parts for several machines on one database. */
export interface Cluster {
  /** The processes that share the database, this one among them. */
  readonly members: Members
  readonly machines: MachineDirectory
  /** Maintenance jobs that one of the machines runs. */
  openChores(): Chores
  /** Claude's transcripts in the shared database; `configDir` is Claude's directory on this machine. */
  claudeTranscripts(configDir: string): SharedClaudeTranscripts
  /** Transcripts of the shared database as files of this machine, for the search index. */
  openTranscriptCopies(): TranscriptCopies
  /** Updates the local copy of coding sessions, approvals, spending and decisions. */
  readonly refresh: () => Promise<void>
  /** In a gateway: keeps notes and media up to date until the storage is closed. */
  followFiles(): Promise<void>
  /** Removes Claude's entries of a session from the shared database and tells all machines to remove their files. */
  purgeClaude(sdkSessionId: string): Promise<void>
  /** Ids of Claude's sessions that were purged within an interval of PostgreSQL, such as `10 minutes`. */
  purgedClaudeIds(since: string): Promise<string[]>
  /** Removes machines from the directory that were last seen before this time. */
  forgetMachines(before: number): Promise<unknown>
  /** Where the database is, and whether it answers. */
  health(): { place: string } & Health
  /** Writes all shared tables into a folder; resolves to the names of the files. */
  readonly dump: (folder: string) => Promise<string[]>
  /** The connection itself, only for the `db` operations. */
  readonly connection: Postgres
}

/** The machines that share a database: labels and repositories of each, and which of them run a gateway. */
export interface MachineDirectory {
  readonly name: string
  announce(repositories: Repository[]): Promise<void>
  list(): Promise<KnownMachine[]>
  lives(name: string): Promise<boolean>
}

interface KnownMachine {
  name: string
  labels: string[]
  repositories: Repository[]
  /** A gateway runs there. */
  lives: boolean
  /** When the machine last announced its repositories, wall time. */
  seenAt: number
}

/** Claude's own transcripts on several machines. */
export interface SharedClaudeTranscripts {
  /** The store that the SDK mirrors each transcript to. */
  readonly sdkStore: ClaudeSessionStore
  /** The conversation as the other machines have it; null if they do not. */
  entries(sdkSessionId: string): Promise<SessionStoreEntry[] | null>
}

export interface StorageParts {
  environment: Environment
  config: Config
  paths: StatePaths
  clock: Clock
  log: Log
  events: Events
  agentIds: () => string[]
  /** This process takes work of other machines; a command that asks one thing does not. */
  serves: boolean
}

/** Maintenance jobs without an order, such as clean-up. In a cluster each occurrence is run by one of the machines. */
export interface Chores {
  /** Runs `work` about every `ms` milliseconds, once for all machines, until `stop`. */
  every(name: string, ms: number, work: () => Promise<void>): void
  stop(): Promise<void>
}
