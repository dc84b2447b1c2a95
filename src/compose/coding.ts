// Puts coding sessions together: stores, the gate of the repositories, approvals, notifications, the pool.
import { randomUUID } from 'node:crypto'
import { Approvals } from '../coding/approvals/approvals.ts'
import { SessionChoice } from '../coding/queue/choose.ts'
import { NotificationRouter } from '../coding/notifications.ts'
import type { NotificationParts } from '../coding/notifications.ts'
import { CodingPool } from '../coding/pool.ts'
import { ownership } from '../coding/session/run-state.ts'
import { RepoGate } from '../coding/queue/repo-queue.ts'
import { makeBridge } from '../discovery/bridge.ts'
import type { Bridge } from '../discovery/bridge.ts'
import { callCost } from '../discovery/price-table.ts'
import { formatOriginChannel } from '../domain/address.ts'
import type { ToolServer } from '../domain/agent.ts'
import type { CodingSession } from '../domain/coding-session.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { asRockpoolError } from '../domain/errors.ts'
import { dayIn } from '../domain/local-time.ts'
import type { App } from '../operations/app.ts'
import { bridgeWorld } from '../operations/cc/bridge-world.ts'
import type { CodingWorld } from '../operations/coding/coding-world.ts'
import { ApprovalStore } from '../store/sqlite/approval-store.ts'
import { CodingStore } from '../store/sqlite/coding-store.ts'
import { identifyProcess } from '../store/disk/process-identity.ts'
import { SharedApprovalStore, SharedSpendStore } from '../store/postgres/approval-store.ts'
import { SharedCodingStore } from '../store/postgres/coding-store.ts'
import { SpendStore } from '../store/sqlite/spend-store.ts'
import { agentFrom } from './configured-agents.ts'
import { machinesOf } from './this-machine.ts'

export function openCodingWorld(app: App): CodingWorld {
  const { clock, events, log } = app
  const { store, spend, approvalStore } = codingStores(app)
  const timeoutMs = (): number => app.config.coding.approvalTimeoutMinutes * 60_000
  const approvals = new Approvals({ store: approvalStore, clock, events, timeoutMs })
  const notifications = new NotificationRouter({
    store,
    clock,
    log,
    deliver: deliverFor(app),
    wake: wakeFor(app),
    note: ({ sessionKey, text, instead }) => app.work().systemEvents.add(sessionKey, text, 20, instead),
  })
  const ownerLives = ownership(store, clock)
  const machines = machinesOf(app, store)
  const machine = machines?.name
  const maxSessions = (): number => app.config.coding.maxSessions
  const atOnce = (): number => app.config.coding.perRepo.running
  const repos = new RepoGate({ store, clock, atOnce, isOwned: ownerLives, machine, maxSessions })
  const choice = choiceIn(app, repos)
  const bridge = makeBridge()
  const pool = new CodingPool({
    store,
    spend,
    runtime: () => app.runtime(),
    approvals,
    notifications,
    repos,
    get config() {
      return app.config.coding
    },
    clock,
    log,
    events,
    machine,
    self: identifyProcess(process.pid)!,
    ownerLives,
    agentOf: (agentId) => agentFrom(app.config, app.paths, agentId),
    toolsFor: (session) => bridgeFor(app, bridge, session),
    findNative: (ref) => findNative(app, ref),
    choose: (session) => choice.chooseFor(session),
    priceOf: callCost,
    dayOf: (at) => dayIn(app.config.timeZone)(at),
  })
  const isTaken = (session: CodingSession): boolean => !repos.isFree(session.request.workdir, session.id)
  const today = (): string => dayIn(app.config.timeZone)(app.clock.now())
  return { pool, machines, notifications, approvals, approvalStore, store, spend, today, isTaken, choice }
}

function choiceIn(app: App, repos: RepoGate): SessionChoice {
  return new SessionChoice({
    get config() {
      return app.config
    },
    clock: app.clock,
    log: app.log,
    variables: app.environment.variables,
    repos,
    discovery: () => app.discovery(),
    decisions: () => app.decisions(),
    smallModel: () => app.smallModel(),
    search: () => (app.gateway ? app.search() : undefined),
  })
}

function codingStores(app: App): Pick<CodingWorld, 'store' | 'spend' | 'approvalStore'> {
  const database = app.database()
  const records = app.records?.()
  if (!records)
    return {
      store: new CodingStore(database),
      spend: new SpendStore(database),
      approvalStore: new ApprovalStore(database),
    }
  records.follow()
  return {
    store: new SharedCodingStore(database, records),
    spend: new SharedSpendStore(database, records),
    approvalStore: new SharedApprovalStore(database, records),
  }
}

/** Notices of one chat stay in order; each key is said once. The deliverer of the gateway sends them. */
function deliverFor(app: App): NotificationParts['deliver'] {
  return async (address, reply, idempotencyKey, codingId, isOutput) => {
    const lane = `notices:${formatOriginChannel(address)}`
    const sessionKey = `coding:${codingId}`
    const delivery = {
      id: randomUUID(),
      lane,
      address,
      reply,
      idempotencyKey,
      sessionKey,
      createdAt: app.clock.now(),
      ...(isOutput ? { continues: sessionKey } : { mirror: true }),
    }
    await app.work().outbox.leave([delivery])
  }
}

/** In the gateway the agent takes a turn at once; elsewhere the turn waits for the next gateway. */
function wakeFor(app: App): NotificationParts['wake'] {
  return async ({ text, agentId, sessionKey, key: once, askedBy }) => {
    const key = sessionKey ?? `agent:${agentId}:${app.config.session.mainKey}`
    const conversations = await app.conversations()
    const later = app.gateway === undefined
    await conversations.wake({ text, agentId, sessionKey: key, key: once, later, askedBy })
  }
}

function bridgeFor(app: App, bridge: Bridge, session: CodingSession): ToolServer[] {
  const { agentId, workdir, originSessionKey } = session.request
  const seat = { agentId, repoPath: workdir, codingId: session.id, sessionKey: originSessionKey }
  const server = bridge(bridgeWorld(app, seat), app.config.mcpBridge)
  return server ? [server] : []
}

async function findNative(app: App, ref: string): Promise<DiscoveredSession | undefined> {
  try {
    return await app.discovery().get(ref)
  } catch (error) {
    if (asRockpoolError(error).code === 'not-found') return undefined
    throw error
  }
}
