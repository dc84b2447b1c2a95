// Puts coding sessions together: stores, the gate of the repositories, approvals, notifications, the pool.
import { randomUUID } from 'node:crypto'
import { Approvals } from '../coding/approvals/approvals.ts'
import { NotificationRouter } from '../coding/notifications.ts'
import type { NotificationParts } from '../coding/notifications.ts'
import type { Choice } from '../coding/coding-parts.ts'
import { CodingPool } from '../coding/pool.ts'
import { ownership } from '../coding/session/run-state.ts'
import { RepoGate } from '../coding/queue/repo-queue.ts'
import { bridgeServer } from '../discovery/bridge.ts'
import { callCost } from '../discovery/price-table.ts'
import { formatOriginChannel } from '../domain/address.ts'
import type { ToolServer } from '../domain/agent.ts'
import type { CodingSession } from '../domain/coding-session.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { asRockpoolError } from '../domain/errors.ts'
import type { App } from '../operations/app.ts'
import { bridgeWorld } from '../operations/cc/bridge-world.ts'
import { choiceOf } from '../operations/coding/coding-launch.ts'
import { chooseSession } from '../operations/cc/select-session.ts'
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
  const config = app.config.coding
  const { store, spend, approvalStore } = codingStores(app)
  const timeoutMs = config.approvalTimeoutMinutes * 60_000
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
  const atOnce = config.perRepo.running
  const repos = new RepoGate({ store, clock, atOnce, isOwned: ownerLives, machine })
  const pool = new CodingPool({
    store,
    spend,
    runtime: () => app.runtime(),
    approvals,
    notifications,
    repos,
    config,
    clock,
    log,
    events,
    machine,
    self: identifyProcess(process.pid)!,
    ownerLives,
    agentOf: (agentId) => agentFrom(app.config, app.paths, agentId),
    toolsFor: (session) => bridgeFor(app, session),
    findNative: (ref) => findNative(app, ref),
    choose: (session) => chooseFor(app, session),
    priceOf: callCost,
    dayOf: (at) => dayIn(app.config.timeZone, at),
  })
  const isTaken = (session: CodingSession): boolean => !repos.isFree(session.request.workdir, session.id)
  const select: CodingWorld['select'] = ({ task, workdir: repo, agentId, label, maxBudgetUsd, asAgent }) =>
    chooseSession(app, { task, repo, label, maxBudgetUsd, ...(asAgent ? { agentId } : {}) })
  const today = (): string => dayIn(app.config.timeZone, app.clock.now())
  return { pool, machines, notifications, approvals, approvalStore, store, spend, today, isTaken, select }
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

/** The choice that a launch would have made, made now. `cc why` finds it by the session that came of it. */
async function chooseFor(app: App, { id, request, budgetUsd }: CodingSession): Promise<Choice> {
  const { prompt: task, workdir: repo, label, agentId, originSessionKey } = request
  const own = originSessionKey === undefined ? {} : { agentId }
  const { selection, decisionId } = await chooseSession(app, {
    task,
    repo,
    label,
    maxBudgetUsd: budgetUsd,
    ...own,
  })
  await app.decisions().became(decisionId, id)
  return { ...choiceOf(selection), sdkSessionId: selection.sessionId }
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
  return async ({ text, agentId, sessionKey, key: once }) => {
    const key = sessionKey ?? `agent:${agentId}:${app.config.session.mainKey}`
    const conversations = await app.conversations()
    await conversations.wake({ text, agentId, sessionKey: key, key: once, later: app.gateway === undefined })
  }
}

function bridgeFor(app: App, session: CodingSession): ToolServer[] {
  const { agentId, workdir, originSessionKey } = session.request
  const seat = { agentId, repoPath: workdir, codingId: session.id, sessionKey: originSessionKey }
  const server = bridgeServer(bridgeWorld(app, seat), app.config.mcpBridge)
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

/** YYYY-MM-DD in the configured time zone, or the machine's. */
function dayIn(timeZone: string | undefined, at: number): string {
  return new Intl.DateTimeFormat('en-CA', {
    timeZone,
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
  }).format(at)
}
