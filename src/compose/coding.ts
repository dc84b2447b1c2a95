// Constructs background coding sessions: approvals, notifications, the queue of each repository, the pool.
import { randomUUID } from 'node:crypto'
import { mkdirSync } from 'node:fs'
import { findCredential } from '../agent/credentials.ts'
import { Approvals } from '../coding/approvals/approvals.ts'
import { SessionChoice } from '../coding/queue/choose.ts'
import { notifyDevices } from '../coding/device-notices.ts'
import { NotificationRouter } from '../coding/notifications.ts'
import type { NotificationParts } from '../coding/notifications.ts'
import { readBase } from '../coding/review.ts'
import { CodingPool } from '../coding/pool.ts'
import { ownerCheck } from '../coding/machines/owner.ts'
import { Machines } from '../coding/machines/machines.ts'
import { RepoGate } from '../coding/queue/repo-queue.ts'
import { possibleRepositories } from '../coding/queue/repositories.ts'
import { makeBridge } from '../discovery/bridge.ts'
import type { Bridge } from '../discovery/bridge.ts'
import { callCost } from '../discovery/price-table.ts'
import { trimSession } from '../discovery/trim/write-trim.ts'
import { formatOriginChannel } from '../domain/address.ts'
import type { ToolServer } from '../domain/agent.ts'
import type { CodingSession } from '../domain/coding-session.ts'
import type { Device } from '../domain/device.ts'
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { asRockpoolError, attempt } from '../domain/errors.ts'
import { dayIn } from '../domain/local-time.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import type { AskStructured } from '../domain/selection.ts'
import type { UsageWindow } from '../domain/usage-window.ts'
import type { App } from '../operations/app.ts'
import { isUntrustedEvent } from '../rights/author.ts'
import { mayReceive } from '../rights/chat-rights.ts'
import { readersOf } from '../rights/owners.ts'
import type { Readers } from '../rights/owners.ts'
import { mayReadSession } from '../rights/rights.ts'
import { authorOfSession } from '../flow/turn-rights.ts'
import { bridgeWorld } from '../operations/cc/bridge-world.ts'
import type { CodingWorld } from '../operations/coding/coding-world.ts'
import { openCheckedPool } from '../operations/coding/steering.ts'
import { readDevices } from '../store/device-file.ts'
import { identifyProcess } from '../store/disk/process-identity.ts'
import { configuredAgent } from '../store/agents.ts'
import { openclawAgentOf } from '../store/openclaw/openclaw-report.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'

export { openScheduleRunner } from '../operations/schedules/schedule-world.ts'
export { openMail } from '../operations/mail/mail-delivery.ts'

export function openCodingWorld(app: App): CodingWorld {
  const { clock, events, log } = app
  const { coding: store, spend } = app.storage
  const timeoutMs = (): number => app.config.coding.approvalTimeoutMinutes * 60_000
  const approvals = new Approvals({ store: app.storage.approvals, clock, events, timeoutMs })
  const notifications = new NotificationRouter({
    store,
    clock,
    log,
    deliver: deliverFor(app),
    wake: wakeFor(app),
    asksToContinue: () => app.config.coding.continueAfterLimit === undefined,
    note: noteFor(app),
  })
  const usageWindows = (now: number): UsageWindow[] => app.storage.usage.current(now)
  const machines = machinesOf(app, store)
  const owners = {
    machine: machines?.name,
    self: identifyProcess(process.pid)!,
    ownerLives: ownerCheck(store, clock),
  }
  const repos = new RepoGate({
    store,
    clock,
    owners,
    usageWindows,
    get config() {
      return app.config.coding
    },
  })
  const choice = choiceIn(app, repos)
  const bridge = makeBridge()
  const pool = new CodingPool({
    store,
    agents: {
      runtime: (kind) => app.runtime(kind),
      agentOf: (agentId) => configuredAgent(app.config, app.paths, agentId),
      trim: async (id, level, newId) => trimSession(app.discovery(), id, level, newId),
      toolsFor: (session) => bridgeFor(app, bridge, session),
    },
    budget: { spend, usageWindows, priceOf: callCost, dayOf: (at) => dayIn(app.config.timeZone)(at) },
    approvals,
    notifications,
    repos,
    get config() {
      return app.config.coding
    },
    clock,
    log,
    events,
    owners,
    findNative: (ref, visibleTo) => findNative(app, ref, visibleTo),
    readBase: (workdir) => readBase(workdir, app.environment.variables),
    choose: (session) => choice.chooseFor(session),
  })
  const isTaken = (session: CodingSession): boolean => !repos.isFree(session.request.workdir, session.id)
  const today = (): string => dayIn(app.config.timeZone)(app.clock.now())
  const givenBy: CodingWorld['givenBy'] = (...givers) => openCheckedPool(app, pool, givers)
  return { pool, givenBy, machines, notifications, approvals, today, isTaken, choice }
}

/** Sends notifications to the owner's devices until the returned function is called. Only the gateway calls this. */
export function notifyOwnersDevices(app: App): () => void {
  const { coding: store, approvals, work } = app.storage
  const devices = (): Device[] => readDevices(app.paths.root)
  return notifyDevices({ ...app, store, approvals, devices, leave: (all) => work.outbox.leave(all) })
}

/** Undefined without a cluster. */
function machinesOf(app: App, store: CodingStore): Machines | undefined {
  const directory = app.storage.cluster?.machines
  if (!directory) return undefined
  return new Machines({
    ...app,
    store,
    directory,
    variables: app.environment.variables,
    async possible() {
      const { sessions } = await app.discovery().list({ limit: 2_000 })
      const ours = store.list({ limit: 500 }).filter(({ machine }) => machine === directory.name)
      const used = [
        ...ours.map(({ request }) => request.workdir),
        ...sessions.map(({ repoPath }) => repoPath),
      ]
      return possibleRepositories(app.config.coding, used)
    },
  })
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
    decisions: () => app.storage.decisions,
    smallModel: () => app.smallModel(),
    openclawSettings: (agentId) => openclawAgentOf(app.paths, agentId)?.claudeCode.sessionSelection,
    search: () => app.search(),
    mayContinue: (request, sdkSessionId) => mayContinue(app, request, sdkSessionId),
  })
}

/** May the caller that launched a queued task continue this conversation? */
function mayContinue(app: App, request: CodingSession['request'], sdkSessionId: string): boolean {
  const { agentId, originSessionKey, byProgram, withoutApprove } = request
  const isBound = originSessionKey !== undefined || byProgram === true
  const giver = { agentId: isBound ? agentId : undefined, mayApprove: withoutApprove !== true }
  const check = (): boolean => {
    app.coding().givenBy(giver).checkConversation(sdkSessionId)
    return true
  }
  return attempt(check, false)
}

/** Enqueues a notification; the gateway sends it. Notifications of one chat stay in order; each key is delivered once. */
function deliverFor(app: App): NotificationParts['deliver'] {
  return async (address, reply, idempotencyKey, codingId, isOutput) => {
    const lane = `notices:${formatOriginChannel(address)}`
    const sessionKey = `coding:${codingId}`
    const isProgram = app.storage.coding.get(codingId)?.request.byProgram
    const delivery = {
      id: randomUUID(),
      lane,
      address,
      reply,
      idempotencyKey,
      sessionKey,
      createdAt: app.clock.now(),
      ...(isOutput ? { continues: sessionKey } : { mirror: true }),
      writer: isProgram ? ('program' as const) : undefined,
    }
    await app.storage.people.ready()
    if (mayReceive(delivery, readersIn(app))) await app.storage.work.outbox.leave([delivery])
    else logWithheld(app, codingId, formatOriginChannel(address))
  }
}

function readersIn(app: App): Readers {
  return readersOf(() => app.config.channels, app.storage.people)
}

function logWithheld({ log }: App, codingId: string, from: string): void {
  log.info(
    { event: 'notice-withheld', codingId, from },
    "Sent nothing about a coding session to a chat that is no longer the owner's.",
  )
}

/** A turn in the session of a former owner would notify that person. */
async function isOwnersSession(app: App, agentId: string, key: string): Promise<boolean> {
  await app.storage.people.ready()
  const entry = await app.storage.sessions(agentId).get(key)
  return authorOfSession(key, entry, readersIn(app)) === 'owner'
}

function noteFor(app: App): NotificationParts['note'] {
  return async ({ sessionKey, text, instead }) => {
    const agentId = parseAgentSessionKey(sessionKey)?.agentId
    if (
      isUntrustedEvent(text) ||
      (agentId !== undefined && (await isOwnersSession(app, agentId, sessionKey)))
    )
      await app.storage.work.systemEvents.add(sessionKey, text, 20, instead)
  }
}

/** In the gateway the agent takes a turn at once; elsewhere the turn waits for the next gateway. */
function wakeFor(app: App): NotificationParts['wake'] {
  return async ({ text, agentId, sessionKey, key: once, askedBy }) => {
    const key = sessionKey ?? `agent:${agentId}:${app.config.session.mainKey}`
    if (askedBy === 'owner' && !(await isOwnersSession(app, agentId, key))) return logWithheld(app, once, key)
    const conversations = await app.conversations()
    const later = app.gateway === undefined
    await conversations.wake({ text, agentId, sessionKey: key, key: once, later, askedBy })
  }
}

function bridgeFor(app: App, bridge: Bridge, session: CodingSession): ToolServer[] {
  const { agentId, workdir, originSessionKey } = session.request
  const client = { agentId, repoPath: workdir, codingId: session.id, sessionKey: originSessionKey }
  const server = bridge(bridgeWorld(app, client), app.config.mcpBridge)
  return server ? [server] : []
}

/** Only among the sessions that the agent may read. */
async function findNative(
  app: App,
  ref: string,
  visibleTo: string | undefined,
): Promise<DiscoveredSession | undefined> {
  try {
    return await app.discovery().get(ref, (session) => mayReadSession(session, visibleTo))
  } catch (error) {
    if (asRockpoolError(error).code === 'not-found') return undefined
    throw error
  }
}

/** The small model that judges which session fits a task; undefined without a credential. Loaded at the first question. */
export function smallModelOf({ environment, config, paths, version }: App): AskStructured | undefined {
  const credential = findCredential(environment, config.claude.credential)
  if (!credential) return undefined
  return async (question, signal) => {
    const { makeAskStructured } = await import('../agent/ask-structured.ts')
    mkdirSync(paths.claudeTemporary, { recursive: true, mode: 0o700 })
    const ask = makeAskStructured({
      environment,
      credential,
      models: config.agents.defaults.models,
      temporaryDirectory: paths.claudeTemporary,
      binary: config.claude.binary,
      version,
    })
    return ask(question, signal)
  }
}
