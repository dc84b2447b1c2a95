// The dependencies of coding sessions, split by their users. src/compose/coding.ts constructs it.
import type { Agent, AgentKind, AgentRuntime, ToolServer } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { CodingSession, RepositoryBase } from '../domain/coding-session.ts'
import type { CodingConfig } from '../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { TrimLevel, TrimSaving } from '../domain/trim.ts'
import type { Usage } from '../domain/turn.ts'
import type { UsageWindow } from '../domain/usage-window.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import type { SpendStore } from '../store/sqlite/spend-store.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { Owners } from './machines/owner.ts'
import type { NotificationRouter } from './notifications.ts'
import type { Choice } from './queue/choose.ts'
import type { RepoGate } from './queue/repo-queue.ts'

/** Dependencies of all files in this folder. */
export interface CodingBase {
  store: CodingStore
  /** The configuration in force. A reload replaces it, so read it at each use. */
  readonly config: CodingConfig
  clock: Clock
  log: Log
  events: Events
}

/** Dependencies of a running session. */
export interface SessionParts extends CodingBase {
  agents: AgentParts
  budget: BudgetParts
  approvals: Approvals
  notifications: NotificationRouter
  repos: RepoGate
  /** The repository before the first turn; undefined outside of git. */
  readBase: (workdir: string) => Promise<RepositoryBase | undefined>
  /** Chooses the conversation for a queued task; `queue` when the task must wait longer. */
  choose: (session: CodingSession) => Promise<Choice>
}

/** Further dependencies of the pool. */
export interface CodingParts extends SessionParts {
  owners: Owners
  /** Finds a session that an agent made without us, by its id or a prefix of it. */
  findNative: (ref: string, visibleTo?: string) => Promise<NativeSession | undefined>
}

export interface AgentParts {
  /** The agent that takes the turns. Opened for the first session: lists and answers need no runtime. */
  runtime: (kind: AgentKind) => Promise<AgentRuntime>
  agentOf: (agentId: string) => Agent
  /** Writes a trimmed copy of a conversation under a new id; undefined if there is nothing to cut. */
  trim: (sdkSessionId: string, level: TrimLevel, newId: string) => Promise<TrimSaving | undefined>
  /** The tools that every coding session gets: the bridge. */
  toolsFor: (session: CodingSession) => ToolServer[]
}

interface BudgetParts {
  spend: SpendStore
  priceOf: (model: string, usage: Usage) => number
  /** The usage windows of the subscription that have not reset. */
  usageWindows: (now: number) => UsageWindow[]
  /** The day in the configured time zone, YYYY-MM-DD. */
  dayOf: (at: number) => string
}

export type NativeSession = Pick<
  DiscoveredSession,
  'sessionId' | 'repoPath' | 'isRunning' | 'agentId' | 'label' | 'pid'
> &
  Partial<
    Pick<
      DiscoveredSession,
      'agentKind' | 'source' | 'entrypoint' | 'model' | 'permissionMode' | 'title' | 'firstMessage'
    >
  >
