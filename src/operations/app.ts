// Everything that operations work with, put together by src/app.ts. Heavy parts are functions: they are made when
// they are first asked for, so that a small command starts fast.
import type { AgentRuntime } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Redactor } from '../domain/redact.ts'
import type { SearchPart } from '../domain/search.ts'
import type { Conversations } from '../flow/conversations.ts'
import type { AskStructured, Decisions } from '../domain/selection.ts'
import type { Environment } from '../store/config-file.ts'
import type { Database } from '../store/sqlite/database.ts'
import type { StatePaths } from '../store/paths.ts'
import type { SessionStore, TranscriptStore } from '../store/session-store.ts'
import type { People } from '../store/sqlite/people.ts'
import type { Postgres } from '../store/postgres/connection.ts'
import type { SharedRecords } from '../store/postgres/records.ts'
import type { Members } from '../store/postgres/members.ts'
import type { SharedMedia } from '../store/postgres/media.ts'
import type { SharedMemory } from '../store/postgres/note-store.ts'
import type { WorkStore } from '../store/work-store.ts'
import type { CodingWorld } from './coding/coding-world.ts'

export interface App {
  environment: Environment
  config: Config
  paths: StatePaths
  clock: Clock
  log: Log
  events: Events
  version: string
  /** Takes out the secrets that this process knows: of what leaves the program, and of what goes to the model. */
  redactor(): Redactor
  /** When this process began, wall time. */
  startedAt: number
  /** Told how far a long copy is: how many of what. */
  onCopyProgress?: (copied: Record<string, unknown>) => void
  /** Configured agents and those that have a directory. */
  agentIds(): string[]
  sessions(agentId: string): SessionStore
  transcripts(agentId: string): TranscriptStore
  /** What must happen with messages: inbox, turns, outbox. */
  work(): WorkStore
  /** Who may talk, and who asks to. */
  people(): People
  /** The database that several machines share, when `store` is `postgres`. */
  postgres?: Postgres
  /** This process among those that share it. */
  members?: Members
  /** What all machines know of coding sessions, approvals, spending and decisions, with `store: "postgres"`. */
  records?(): SharedRecords
  /** The notes of agents that all machines share, with `store: "postgres"`. */
  memory?(): SharedMemory
  /** The files of messages and replies that all machines share, with `store: "postgres"`. */
  media?(): SharedMedia
  /** Coding sessions, approvals, people, answers to repeated requests: the tables of this machine, or its copy of them. */
  database(): Database
  /** The gateway of this process, when it is one. */
  gateway?: GatewayPart
  /** Loads the code of these heavy parts, or of all. The door awaits it before every operation. */
  prepare(needs?: readonly HeavyPart[]): Promise<void>
  /** Every Claude Code session of this machine. */
  discovery(): Discovery
  /** Everything that was said and noted, findable. */
  search(): SearchPart
  /** Why sessions were chosen. */
  decisions(): Decisions
  /** A small model for quick judgements; undefined when there are no credentials. */
  smallModel(): AskStructured | undefined
  /** Who takes turns here: Claude, or the offline agent. */
  runtime(): Promise<AgentRuntime>
  /** The turns of sessions, and in the gateway the channels that they come from. */
  conversations(): Promise<Conversations>
  /** Background Claude Code sessions. */
  coding(): CodingWorld
  close(): Promise<void>
}

/** Parts whose code is loaded for the operations that need it. */
export type HeavyPart = 'discovery' | 'search' | 'coding'

export interface GatewayPart {
  url: string
  /** A code that opens the dashboard once. */
  loginCode(): { code: string; expiresInMs: number }
}
