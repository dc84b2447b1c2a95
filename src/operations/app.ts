// Everything that operations work with, put together by src/app.ts. Heavy parts are functions that make the part at the first
// call, so that a small command starts fast.
import type { OpenClawLink } from '../channels/openclaw-link.ts'
import type { AgentKind, AgentRuntime } from '../domain/agent.ts'
import type { ClaudeHooks } from '../claude-hooks/answers.ts'
import type { CacheOpinions } from '../domain/cache-opinion.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { LiveReports } from '../discovery/live-reports.ts'
import type { Discovery } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Redactor } from '../domain/redact.ts'
import type { SearchPart } from '../domain/search.ts'
import type { Conversations } from '../flow/conversations.ts'
import type { AskStructured } from '../domain/selection.ts'
import type { MailPart } from '../mail/mail-carrier.ts'
import type { ScheduleRunner } from '../schedules/schedule-runner.ts'
import type { Environment } from '../store/config-file.ts'
import type { StatePaths } from '../store/paths.ts'
import type { Storage } from '../store/storage.ts'
import type { SharedVault } from '../vault/shared-vault.ts'
import type { Vault } from '../vault/vault.ts'
import type { Repositories } from '../why/open-repository.ts'
import type { CodingWorld } from './coding/coding-world.ts'

export interface App {
  environment: Environment
  config: Config
  paths: StatePaths
  clock: Clock
  log: Log
  events: Events
  version: string
  /** `rockpool demo`: an offline agent plays sample sessions. */
  isDemo: boolean
  /** Removes known secrets from texts that leave the program or go to the model. */
  redactor(): Redactor
  /** When this process started, wall time. */
  startedAt: number
  /** Called with the progress of a long copy: how many of each kind are done. */
  onCopyProgress?: (copied: Record<string, unknown>) => void
  /** Configured agents and those that have a directory. */
  agentIds: () => string[]
  /** Everything that is kept: sessions, transcripts, messages, coding sessions, people. */
  storage: Storage
  /** The gateway of this process, when it is one. */
  gateway?: GatewayPart
  /** Loads the code of these heavy parts, or of all. Awaited before every operation. */
  prepare(needs?: readonly HeavyPart[]): Promise<void>
  /** Reports of terminal sessions about their state, in the gateway. */
  liveReports: LiveReports
  /** Every Claude Code session of this machine. */
  discovery: () => Discovery
  /** Full-text search over transcripts and notes. */
  search(): SearchPart
  /** A small model for quick judgements; undefined when there are no credentials. */
  smallModel(): AskStructured | undefined
  /** The agent that takes turns: Claude, or the offline agent; for coding sessions also the program of another agent. */
  runtime(kind?: AgentKind): Promise<AgentRuntime>
  /** The turns of chat sessions, and in the gateway the channels. */
  conversations(): Promise<Conversations>
  /** Claude Code's own predictions of the cache of sessions that were resumed in a terminal. */
  cacheOpinions: CacheOpinions
  /** The connection to the plugin in OpenClaw. */
  openclaw: OpenClawLink
  /** Answers what terminal sessions of Claude Code report; see domain/claude-hook.ts. */
  claudeHooks: () => Promise<ClaudeHooks>
  /** Copies of every session's files. */
  vault(): Promise<Vault>
  /** The copy of the vault that other machines reach, and theirs; undefined unless `vault.shared` names a place. */
  sharedVault(): Promise<SharedVault | undefined>
  /** Git repositories of earlier questions (`why`). */
  repositories(): Promise<Repositories>
  /** Background Claude Code sessions. */
  coding(): CodingWorld
  /** Runs schedules at their times, in the gateway. */
  schedules(): ScheduleRunner
  /** The post office, and in the gateway the delivery of mail. */
  mail(): MailPart
  close(): Promise<void>
}

/** Parts whose code is loaded for the operations that need it. */
export type HeavyPart = 'discovery' | 'search' | 'coding'

interface GatewayPart {
  url: string
  /** A code that opens the dashboard once: at an address of this machine, or, if a page asks for it, also at a public name. */
  loginCode(isForPage: boolean): { code: string; expiresInMs: number }
}
