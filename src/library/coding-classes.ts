// The classes Session, SessionManager and NotificationRouter, for programs that run coding sessions as a library. The sessions
// run in the same pool, with the same store, limits and notices as in the gateway.
import { systemClock } from '../domain/clock.ts'
import type { PermissionMode } from '../domain/agent.ts'
import type { CodingRequest, CodingSession, CodingStatus } from '../domain/coding-session.ts'
import { defaultAgentId } from '../domain/session-key.ts'
import { asRockpoolError, RockpoolError } from '../domain/errors.ts'
import { ownerGives } from '../domain/giver.ts'
import type { RockpoolEvent } from '../domain/events.ts'
import type { CodingMetrics } from '../coding/listing.ts'
import { generateSessionName, newCodingId } from '../coding/session/names.ts'
import { resolveOriginChannel } from '../coding/session/origin.ts'
import type { App } from '../operations/app.ts'
import type { CodingWorld } from '../operations/coding/coding-world.ts'

export interface SessionConfig {
  prompt: string
  workdir: string
  name?: string
  model?: string
  maxBudgetUsd?: number
  systemPrompt?: string
  allowedTools?: string[]
  permissionMode?: PermissionMode
  /** True when absent: the session waits for the next message after each turn. */
  multiTurn?: boolean
  resumeSessionId?: string
  forkSession?: boolean
  originChannel?: string
  agentId?: string
}

export type OpenApp = () => Promise<App>

/** The maximum number of text blocks that `getOutput` returns. */
const outputBufferMax = 200
const keepEndedMs = 3_600_000

export class Session {
  readonly id = newCodingId()
  readonly config: SessionConfig
  readonly startedAt = systemClock.now()
  readonly foregroundChannels = new Set<string>()
  onOutput?: (text: string) => void
  onToolUse?: (tool: string) => void
  onWaitingForInput?: (session: Session) => void
  onBudgetExhausted?: (session: Session) => void
  onComplete?: (session: Session) => void
  #name: string
  #open: OpenApp
  #app: App | undefined
  #starting: Promise<void> | undefined
  #failure: RockpoolError | undefined
  #lastWaitTurn = 0
  #hasEnded = false

  constructor(config: SessionConfig, name: string, open: OpenApp) {
    this.config = config
    this.#name = name
    this.#open = open
  }

  get name(): string {
    return this.row?.name ?? this.#name
  }

  get status(): CodingStatus {
    return this.#failure ? 'failed' : (this.row?.status ?? 'starting')
  }

  get claudeSessionId(): string | undefined {
    return this.row?.sdkSessionId
  }

  get costUsd(): number {
    return this.row?.costUsd ?? 0
  }

  get completedAt(): number | undefined {
    return this.row?.end?.at
  }

  /** Why the session failed or was ended. */
  get error(): string | undefined {
    return this.#failure?.message ?? this.row?.end?.message
  }

  /** The stored row; undefined until the session is launched. */
  get row(): CodingSession | undefined {
    return this.#app?.storage.coding.get(this.id)
  }

  /** Launches the session in the background; await `started`, and use the callbacks for what follows. */
  start(): void {
    this.#starting ??= this.#launch().catch((error: unknown) => {
      this.#failure = asRockpoolError(error)
      this.#end()
    })
  }

  /** Resolves when the session is launched. If the launch failed, `status` is `failed` and `error` tells why. */
  async started(): Promise<void> {
    await this.#starting
  }

  /** Sends a message: it joins the running turn or starts the next one. */
  async sendMessage(text: string): Promise<void> {
    await this.#starting
    await this.#required().coding().givenBy(ownerGives).respond(this.id, text, { userInitiated: true })
  }

  /** The last text blocks, at most 200. */
  getOutput(lines = outputBufferMax): string[] {
    const blocks = this.#app?.storage.coding.lastOutput(this.id, 1_000) ?? []
    return textsOf(blocks).slice(-Math.min(lines, outputBufferMax))
  }

  /** Text blocks since this channel last saw output. */
  getCatchupOutput(channelId: string): string[] {
    const store = this.#app?.storage.coding
    const watch = store?.watches(this.id).find(({ channel }) => channel === channelId)
    return textsOf(store?.outputAfter(this.id, watch?.seenSeq ?? 0, 10_000) ?? [])
  }

  async markFgOutputSeen(channelId: string): Promise<void> {
    this.foregroundChannels.add(channelId)
    await this.#setSeen(channelId, true)
  }

  async saveFgOutputOffset(channelId: string): Promise<void> {
    this.foregroundChannels.delete(channelId)
    await this.#setSeen(channelId, false)
  }

  /** False if the session had ended already. */
  async kill(): Promise<boolean> {
    await this.#starting
    if (this.#hasEnded || !this.#app) return false
    return (await this.#app.coding().pool.kill(this.id)).killed
  }

  /** For a session without a manager: suspends it and closes its stores. */
  async close(): Promise<void> {
    await this.#starting
    await this.#app?.close()
  }

  async #launch(): Promise<void> {
    const app = await this.#open()
    this.#app = app
    app.events.on((event) => this.#onEvent(event))
    await app
      .coding()
      .givenBy(ownerGives)
      .spawn(requestOf(app, this.config, this.#name), { id: this.id })
  }

  #onEvent(event: RockpoolEvent): void {
    if (!('id' in event) || event.id !== this.id || this.#hasEnded) return
    if (event.type === 'coding-output') this.#onOutput(event.seq)
    if (event.type !== 'coding-changed' || !this.row) return
    const { lifecycle, end, turns } = this.row
    if (lifecycle === 'awaiting-input' && turns > this.#lastWaitTurn) {
      this.#lastWaitTurn = turns
      this.onWaitingForInput?.(this)
    }
    if (end === undefined) return
    if (end.reason === 'budget') this.onBudgetExhausted?.(this)
    this.#end()
  }

  #onOutput(seq: number): void {
    const [block] = this.#app?.storage.coding.outputAfter(this.id, seq - 1, 1) ?? []
    if (block?.kind === 'text') this.onOutput?.(block.text)
    if (block?.kind === 'tool') this.onToolUse?.(block.text)
  }

  #end(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    this.onComplete?.(this)
  }

  async #setSeen(channel: string, foreground: boolean): Promise<void> {
    const seenSeq = this.row?.lastSeq ?? 0
    await this.#required().storage.coding.setWatch({ codingId: this.id, channel, seenSeq, foreground })
  }

  #required(): App {
    if (this.#app && !this.#failure) return this.#app
    throw this.#failure ?? new RockpoolError('not-found', `The session ${this.#name} is not started.`)
  }
}

export class SessionManager {
  readonly sessions = new Map<string, Session>()
  #open: OpenApp
  #app: Promise<App> | undefined
  #maxSessions: number | undefined

  constructor(open: OpenApp, options: { maxSessions?: number } = {}) {
    this.#open = open
    this.#maxSessions = options.maxSessions
  }

  /** Launches a session in the background. The limits of the configuration apply, too. */
  spawn(config: SessionConfig): Session {
    const running = [...this.sessions.values()].filter(
      ({ status }) => status === 'starting' || status === 'running',
    )
    const active = running.length
    if (this.#maxSessions !== undefined && active >= this.#maxSessions)
      throw new RockpoolError('busy', `${active} sessions are active; the limit is ${this.#maxSessions}.`)
    const name = config.name ?? generateSessionName(config.prompt)
    const session = new Session(config, name, () => this.app())
    this.sessions.set(session.id, session)
    session.start()
    return session
  }

  /** By id, then by name. */
  resolve(idOrName: string): Session | undefined {
    return this.sessions.get(idOrName) ?? [...this.sessions.values()].find(({ name }) => name === idOrName)
  }

  async resolveClaudeSessionId(ref: string): Promise<string | undefined> {
    return (await this.#world()).pool.resolveClaudeSessionId(ref)
  }

  async kill(id: string): Promise<boolean> {
    return (await this.resolve(id)?.kill()) ?? false
  }

  async killAll(): Promise<void> {
    await (await this.#world()).pool.killAll()
  }

  /** Removes sessions that ended an hour ago, and old output. The sessions can still be resumed. */
  async cleanup(): Promise<void> {
    const before = systemClock.now() - keepEndedMs
    for (const session of this.sessions.values())
      if ((session.completedAt ?? Infinity) < before) this.sessions.delete(session.id)
    await (await this.#world()).pool.cleanup()
  }

  async getMetrics(): Promise<CodingMetrics> {
    return (await this.#world()).pool.getMetrics()
  }

  /** Notifies the chat or the agent that a session has ended. The engine also does this by itself; each notice is sent once. */
  async triggerAgentEvent(session: Session): Promise<void> {
    if (session.row) await (await this.#world()).notifications.onSessionComplete(session.row)
  }

  /** The same for a session that waits for input. */
  async triggerWaitingForInputEvent(session: Session): Promise<void> {
    if (session.row) await (await this.#world()).notifications.onWaitingForInput(session.row)
  }

  /** The open program, one for all sessions. */
  app(): Promise<App> {
    return (this.#app ??= this.#open())
  }

  /** Suspends running sessions, so that they can be resumed, and closes the stores. */
  async close(): Promise<void> {
    await (await this.#app)?.close()
  }

  async #world(): Promise<CodingWorld> {
    return (await this.app()).coding()
  }
}

/** Sends notices of sessions to the chat that a session came from, or to its agent if no chat can be reached. */
export class NotificationRouter {
  #manager: SessionManager

  constructor(manager: SessionManager) {
    this.#manager = manager
  }

  async onWaitingForInput(session: Session): Promise<void> {
    await this.#manager.triggerWaitingForInputEvent(session)
  }

  async onSessionComplete(session: Session): Promise<void> {
    await this.#manager.triggerAgentEvent(session)
  }

  /** The same label is sent once. */
  async routeEventMessage(session: Session, eventText: string, label: string): Promise<void> {
    const { notifications } = (await this.#manager.app()).coding()
    if (session.row) await notifications.routeEventMessage(session.row, eventText, label)
  }

  /** Sends buffered output to the chats that watch the session. */
  async flush(session: Session): Promise<void> {
    await (await this.#manager.app()).coding().notifications.flush(session.id)
  }
}

function requestOf(app: App, config: SessionConfig, name: string): Omit<CodingRequest, 'spawnDepth'> {
  const { coding } = app.config
  const { prompt, workdir, systemPrompt, resumeSessionId, originChannel } = config
  return {
    prompt,
    workdir,
    name,
    agentId: config.agentId ?? defaultAgentId(app.config),
    budgetUsd: config.maxBudgetUsd ?? coding.defaultBudgetUsd,
    allowedTools: config.allowedTools ?? [],
    permissionMode: config.permissionMode ?? coding.permissionMode,
    multiTurn: config.multiTurn ?? true,
    originChannel: resolveOriginChannel({ originChannel, workdir }, coding),
    model: config.model ?? coding.defaultModel,
    systemPrompt,
    resume:
      resumeSessionId === undefined
        ? undefined
        : { sdkSessionId: resumeSessionId, fork: config.forkSession === true },
  }
}

function textsOf(blocks: ReadonlyArray<{ kind: string; text: string }>): string[] {
  return blocks.flatMap(({ kind, text }) => (kind === 'text' ? [text] : []))
}
