// Everything that coding sessions need, in a temporary folder, with the offline agent (or another) and recorded notices.
import { mkdtempSync, realpathSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { makeOfflineAgent } from '../../src/agent/offline.ts'
import { Approvals } from '../../src/coding/approvals/approvals.ts'
import { NotificationRouter } from '../../src/coding/notifications.ts'
import type { NotificationParts, Progress } from '../../src/coding/notifications.ts'
import { CodingPool } from '../../src/coding/pool.ts'
import { readBase } from '../../src/coding/review.ts'
import type { AgentParts, CodingParts, NativeSession } from '../../src/coding/coding-parts.ts'
import type { LaunchRequest } from '../../src/coding/pool.ts'
import { ownerCheck } from '../../src/coding/machines/owner.ts'
import { RepoGate } from '../../src/coding/queue/repo-queue.ts'
import type { Address } from '../../src/domain/address.ts'
import type { AgentRuntime } from '../../src/domain/agent.ts'
import { systemClock } from '../../src/domain/clock.ts'
import type { Clock } from '../../src/domain/clock.ts'
import { codingConfig } from '../../src/domain/config/coding-settings.ts'
import type { CodingConfig } from '../../src/domain/config/coding-settings.ts'
import { makeEvents } from '../../src/domain/events.ts'
import type { Events } from '../../src/domain/events.ts'
import { silentLog } from '../../src/domain/log.ts'
import type { Reply } from '../../src/domain/reply.ts'
import { ApprovalStore } from '../../src/store/sqlite/approval-store.ts'
import { CodingStore } from '../../src/store/sqlite/coding-store.ts'
import { identifyProcess } from '../../src/store/disk/process-identity.ts'
import type { ProcessIdentity } from '../../src/store/disk/process-identity.ts'
import { SpendStore } from '../../src/store/sqlite/spend-store.ts'
import { UsageStore } from '../../src/store/sqlite/usage-store.ts'
import { openStateDatabase } from '../../src/store/sqlite/state-database.ts'
import { follow } from './in-flight.ts'

export interface CodingHouse {
  pool: CodingPool
  approvals: Approvals
  approvalStore: ApprovalStore
  store: CodingStore
  spend: SpendStore
  usage: UsageStore
  /** A change takes effect at once. */
  config: CodingConfig
  events: Events
  /** What went into the outbox, and which keys. */
  delivered: Array<{ address: Address; reply: Reply; key: string }>
  woken: Array<{ text: string; agentId: string; sessionKey?: string; key: string }>
  noted: Progress[]
  /** Output that was passed on, in order. */
  passed: string[]
  repo(name: string): string
  launch(prompt: string, more?: Partial<LaunchRequest>): ReturnType<CodingPool['spawn']>
  close(): Promise<void>
}

export interface HouseOptions {
  folder?: string
  clock?: Clock
  runtime?: AgentRuntime
  trim?: AgentParts['trim']
  config?: Partial<CodingConfig>
  self?: ProcessIdentity
  /** The name of the machine, where several share the sessions. */
  machine?: string
  priceOf?: (model: string) => number
  keepBlocks?: number
  findNative?: (ref: string) => Promise<NativeSession | undefined>
  choose?: CodingParts['choose']
  /** In place of the outbox. */
  deliver?: NotificationParts['deliver']
}

export function newFolder(): string {
  return realpathSync(mkdtempSync(join(tmpdir(), 'rockpool-coding-')))
}

export function openCodingHouse(options: HouseOptions = {}): CodingHouse {
  const folder = options.folder ?? newFolder()
  const clock = options.clock ?? systemClock
  const config = { ...codingConfig.parse({}), ...options.config }
  const database = openStateDatabase(join(folder, 'rockpool.sqlite'))
  const following = follow(database)
  const store = new CodingStore(database, { keepBlocks: options.keepBlocks })
  const spend = new SpendStore(database)
  const usage = new UsageStore(database)
  const events = makeEvents((error) => {
    throw error
  })
  const delivered: CodingHouse['delivered'] = []
  const woken: CodingHouse['woken'] = []
  const noted: CodingHouse['noted'] = []
  const passed: string[] = []
  events.on((event) => void (event.type === 'coding-output' && passed.push(event.text)))
  const seen = new Set<string>()
  const once = (key: string, act: () => void): void => {
    if (!seen.has(key)) act()
    seen.add(key)
  }
  const notifications = new NotificationRouter({
    store,
    clock,
    log: silentLog,
    deliver:
      options.deliver ??
      (async (address, reply, key) => once(key, () => delivered.push({ address, reply, key }))),
    wake: async (event) => once(event.key, () => woken.push(event)),
    asksToContinue: () => config.continueAfterLimit === undefined,
    note: async (progress) => void noted.push(progress),
  })
  const timeoutMs = (): number => config.approvalTimeoutMinutes * 60_000
  const approvalStore = new ApprovalStore(database)
  const approvals = new Approvals({ store: approvalStore, clock, events, timeoutMs })
  const runtime = options.runtime ?? makeOfflineAgent({ clock, directions: true })
  const self = options.self ?? identifyProcess(process.pid)!
  const owners = { machine: options.machine, self, ownerLives: ownerCheck(store, clock) }
  const pool = new CodingPool({
    store,
    agents: {
      runtime: async () => runtime,
      agentOf: (id) => ({ id, name: id, workspace: folder, settingSources: [] }),
      trim: options.trim ?? (async () => undefined),
      toolsFor: () => [],
    },
    budget: {
      spend,
      usageWindows: (now) => usage.current(now),
      priceOf: options.priceOf ?? (() => 0),
      dayOf: (at) => new Date(at).toISOString().slice(0, 10),
    },
    approvals,
    notifications,
    repos: new RepoGate({ store, clock, config, owners, usageWindows: (now) => usage.current(now) }),
    config,
    clock,
    log: silentLog,
    events,
    owners,
    findNative: options.findNative ?? (async () => undefined),
    readBase: (workdir) => readBase(workdir, process.env),
    choose: options.choose ?? (async () => ({ action: 'fresh' })),
  })
  let isClosed = false
  const repo = (name: string): string => mkdtempSync(join(folder, `${name}-`))
  return {
    pool,
    config,
    approvals,
    approvalStore,
    store,
    spend,
    usage,
    events,
    delivered,
    woken,
    noted,
    passed,
    repo,
    launch: (prompt, more = {}) =>
      pool.spawn({
        prompt,
        workdir: more.workdir ?? repo('repo'),
        agentId: 'main',
        budgetUsd: 5,
        allowedTools: [],
        permissionMode: 'default',
        multiTurn: true,
        originChannel: 'telegram|42',
        ...more,
      }),
    async close() {
      if (isClosed) return
      isClosed = true
      await pool.drain()
      if (!options.runtime) await runtime.close()
      following.closed()
      await database.close()
      if (!options.folder) rmSync(folder, { recursive: true, force: true })
    },
  }
}
