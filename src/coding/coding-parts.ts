// What coding sessions work with; put together by src/compose/coding.ts.
import type { Agent, AgentRuntime, ToolServer } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { CodingRequest, CodingSession } from '../domain/coding-session.ts'
import type { CodingConfig } from '../domain/config/coding-settings.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import type { Usage } from '../domain/turn.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import type { ProcessIdentity } from '../store/disk/process-identity.ts'
import type { SpendStore } from '../store/sqlite/spend-store.ts'
import type { Approvals } from './approvals/approvals.ts'
import type { NotificationRouter } from './notifications.ts'
import type { RepoGate } from './queue/repo-queue.ts'

export type NativeSession = Pick<
  DiscoveredSession,
  'sessionId' | 'repoPath' | 'isRunning' | 'agentId' | 'label' | 'pid'
> &
  Partial<Pick<DiscoveredSession, 'source' | 'entrypoint' | 'model' | 'permissionMode'>>

export interface Choice {
  action: 'resume' | 'fork' | 'fresh' | 'queue'
  resume?: CodingRequest['resume']
  /** The one to wait for. */
  sdkSessionId?: string
}

export interface CodingParts {
  store: CodingStore
  spend: SpendStore
  /** Made when the first session starts: lists and answers need none. */
  runtime: () => Promise<AgentRuntime>
  approvals: Approvals
  notifications: NotificationRouter
  repos: RepoGate
  /** The configuration in force: a reload replaces it, so it is read at each use and never kept. */
  readonly config: CodingConfig
  clock: Clock
  log: Log
  events: Events
  /** How others call this machine, where several see these sessions; each has repositories of its own. */
  machine?: string
  /** This process: the owner of the sessions that it runs. */
  self: ProcessIdentity
  /** Does the process that owns a session still live? */
  ownerLives: (session: CodingSession) => boolean
  agentOf: (agentId: string) => Agent
  /** A session that Claude Code made without us, by its id or the beginning of it. */
  findNative: (ref: string) => Promise<NativeSession | undefined>
  /** The tools that every coding session gets: the bridge. */
  toolsFor: (session: CodingSession) => ToolServer[]
  /** Which conversation should take a task that had to wait; `queue` when it has to wait still. */
  choose: (session: CodingSession) => Promise<Choice>
  priceOf: (model: string, usage: Usage) => number
  /** The day in the configured time zone, YYYY-MM-DD. */
  dayOf: (at: number) => string
}
