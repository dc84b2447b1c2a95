// All coding sessions: launch, find, answer, kill, resume, recover. The library calls it SessionManager.
import { setTimeout as sleep } from 'node:timers/promises'
import { KeyedQueue, repeat } from '../domain/async.ts'
import { isClaudeId, isOn, isRunning, isWorking, kindOf } from '../domain/coding-session.ts'
import type { CodingRequest, CodingSession, OutputBlock } from '../domain/coding-session.ts'
import { wasCutOff } from '../domain/coding-state.ts'
import type { CodingFilter } from '../store/sqlite/coding-store.ts'
import type { CodingParts, NativeSession } from './coding-parts.ts'
import { codingMetrics } from './listing.ts'
import type { CodingMetrics } from './listing.ts'
import { closeSession, recoverOrphans, reopenSession, requeueSuspended } from './machines/recovery.ts'
import type { QueuePlace } from './queue/repo-queue.ts'
import { checkWorkdir, isDirectory } from './queue/repositories.ts'
import {
  ambiguousSession,
  conversationTaken,
  noSuchSession,
  notRunning,
  noTurnToStop,
  sessionAtWork,
  tooManyResponds,
} from './refusals.ts'
import { LimitedSessions } from './session/limited-sessions.ts'
import { checkResumable, nativeOrigin, ownOrigin } from './session/resume-origin.ts'
import { resumeAnswered, resumeSession } from './session/resume-session.ts'
import type { ResumeOptions } from './session/resume-session.ts'
import { continuedElsewhere } from './session/running-session.ts'
import { RunningSessions } from './session/running-sessions.ts'
import { choosingLater, handedOver, launched, seen } from './session/session-changes.ts'
import type { HandOver, LaunchOptions } from './session/session-changes.ts'
import { bringToForeground, sendToBackground } from './watching.ts'

export type LaunchRequest = Omit<CodingRequest, 'spawnDepth'> & { spawnDepth?: number }

const keepOutputMs = 30 * 24 * 3_600_000
const cleanupEveryMs = 3_600_000
/** How often to look for sessions whose owner is gone. */
const recoverEveryMs = 2_000

export class CodingPool {
  #parts: CodingParts
  #running: RunningSessions
  #stopUpkeep: Array<() => void> = []
  #answers = new KeyedQueue()
  #limited: LimitedSessions

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.#running = new RunningSessions(parts)
    this.#limited = new LimitedSessions(parts, this.#running)
  }

  /** Starts a session in the background, or queues it when its repository is taken. */
  async spawn(asked: LaunchRequest, options: LaunchOptions = {}): Promise<CodingSession> {
    const { owners, clock, store, repos, notifications, config } = this.#parts
    const workdir = checkWorkdir(asked.workdir, config.workspaceRoots)
    const request = { ...asked, workdir, spawnDepth: asked.spawnDepth ?? 0 }
    const by = { owner: this.#running.self, machine: owners.machine, now: clock.now() }
    const row = launched(request, options, by)
    const check = (holder?: CodingSession): CodingSession => {
      repos.checkRoom(workdir, request.agentId)
      if (holder && !options.isChosen) throw conversationTaken(holder, options.viewer)
      return holder ? choosingLater(row) : row
    }
    const [session] = await Promise.all([store.add(row, check), this.#running.startHeartbeat()])
    await notifications.onLaunched(session)
    this.#running.start(session)
    return session
  }

  /** Our session that has this conversation of Claude's open and waits for its next message. */
  awaitingInput(sdkSessionId: string): CodingSession | undefined {
    const [found] = this.#parts.store.resolve(sdkSessionId)
    if (found?.sdkSessionId !== sdkSessionId || found.lifecycle !== 'awaiting-input') return undefined
    const { machine, ownerLives } = this.#parts.owners
    return isOn(machine, found) && ownerLives(found) ? found : undefined
  }

  list(filter: CodingFilter = {}): CodingSession[] {
    return this.#parts.store.list(filter)
  }

  /** Sessions that were interrupted in their turn when Rockpool stopped, the latest first. */
  cutOff(visibleTo?: string): CodingSession[] {
    return this.list({ open: true, visibleTo }).filter(wasCutOff)
  }

  /** By id, name, Claude's id or a prefix. Throws when no session that this agent may see matches, or more than one. */
  resolve(ref: string, visibleTo?: string): CodingSession {
    const found = this.#parts.store.resolve(ref, visibleTo)
    if (found.length === 1) return found[0]!
    throw found.length === 0 ? noSuchSession(ref) : ambiguousSession(ref, found)
  }

  /** Claude's id for a reference: a live or stored session, or the id itself when it is one. */
  resolveClaudeSessionId(ref: string): string | undefined {
    const found = this.#parts.store.resolve(ref)
    if (found.length === 1 && found[0]!.sdkSessionId) return found[0]!.sdkSessionId
    return isClaudeId(ref) ? ref : undefined
  }

  /** A session that an agent made without us. */
  findNative(ref: string, visibleTo?: string): Promise<NativeSession | undefined> {
    return this.#parts.findNative(ref, visibleTo)
  }

  /** Sends a message to a session. Agents may send only a limited number in a row without a person. */
  async respond(
    ref: string,
    text: string,
    options: { interrupt?: boolean; userInitiated?: boolean } = {},
  ): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (!isRunning(session) && session.lifecycle !== 'suspended') throw notRunning(session)
    const autoResponds = options.userInitiated ? 0 : session.autoResponds + 1
    const max = this.#parts.config.maxAutoResponds
    if (autoResponds > max) throw tooManyResponds(session, max)
    if (!isRunning(session)) return this.#resumeWith(session, text, autoResponds)
    if (options.interrupt) await this.#running.ask(session, 'interrupt')
    await this.#send(session, text, autoResponds)
    await this.#parts.notifications.onResponded(session, text)
    return this.resolve(session.id)
  }

  /** A suspended session accepts messages, too: the message resumes it. */
  async #resumeWith(session: CodingSession, text: string, autoResponds: number): Promise<CodingSession> {
    return resumeSession(this.#parts, this.#running, session, text, { autoResponds })
  }

  /** Stops the running turn; the session waits for its next message. */
  async interrupt(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    // A message that has just arrived begins a turn at once.
    const isIdle = session.lifecycle === 'awaiting-input' && session.inbox.length === 0
    if (!isRunning(session) || session.lifecycle === 'queued' || isIdle) throw noTurnToStop(session)
    await this.#running.ask(session, 'interrupt')
    return this.resolve(session.id)
  }

  /** Closes a session that waits for its next message, so that another process can continue it. */
  async release(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (isWorking(session)) throw sessionAtWork(session)
    if (isRunning(session) && !(await this.#running.ask(session, 'release'))) {
      const present = await this.#present(session.id)
      await closeSession(this.#parts, present, 'suspended', 'released', continuedElsewhere)
    }
    return this.resolve(session.id)
  }

  /** A person has looked at the result or the failure. */
  async markSeen(ref: string): Promise<CodingSession> {
    const { store, events } = this.#parts
    const session = await this.#present(ref)
    if (!(await this.#running.ask(session, 'seen'))) {
      const { id, lifecycle } = await store.update(session.id, (stored) => Object.assign(stored, seen))
      events.emit({ type: 'coding-changed', id, why: lifecycle })
    }
    return this.resolve(session.id)
  }

  /** Ends a session; does nothing if it has ended already. */
  async kill(ref: string): Promise<{ session: CodingSession; killed: boolean }> {
    const session = await this.#present(ref)
    if (session.lifecycle === 'ended') return { session, killed: false }
    if (!(await this.#running.ask(session, 'kill')))
      await closeSession(this.#parts, await this.#present(session.id), 'ended', 'user', '')
    await this.#parts.approvals.expireOpen(({ codingId }) => codingId === session.id)
    return { session: this.resolve(session.id), killed: true }
  }

  /** Undoes `kill`: the session waits for its next message again. */
  async reopen(ref: string): Promise<CodingSession> {
    await reopenSession(this.#parts, await this.#present(ref))
    return this.resolve(ref)
  }

  /** Continues an earlier session under its own name. A fork, and a session that Claude Code made without us, get a new one. */
  async resume(ref: string, prompt: string, options: ResumeOptions = {}): Promise<CodingSession> {
    const { trim } = options
    const fork = options.fork === true || trim !== undefined
    const earlier = this.#parts.store.resolve(ref).length > 0 ? await this.#present(ref) : undefined
    if (earlier && !fork) return resumeSession(this.#parts, this.#running, earlier, prompt, options)
    const from = earlier ? ownOrigin(earlier) : await nativeOrigin(this.#parts, ref, { ...options, fork })
    await checkResumable(this.#parts.agents, kindOf(from), from.sdkSessionId, { session: earlier, fork })
    return this.spawn(
      {
        ...from.request,
        // Notifications go to the chat that resumed the session.
        ...options.origin,
        workdir: options.moved?.workdir ?? from.request.workdir,
        prompt,
        resume: { sdkSessionId: from.sdkSessionId, fork, atMessage: options.atMessage, trim },
        multiTurn: options.multiTurn ?? from.request.multiTurn,
      },
      { aside: options.moved?.aside ?? earlier?.aside, id: options.id, viewer: options.viewer },
    )
  }

  /** Gives a session to another machine that has its repository; that machine continues it. */
  async handOver(ref: string, to: HandOver): Promise<CodingSession> {
    const { store, events } = this.#parts
    const session = await this.#present(ref)
    if (!(await this.#running.ask(session, 'handOver', { to }))) {
      const { id } = await this.#present(session.id)
      const moved = await store.update(id, (stored) => Object.assign(stored, handedOver(stored, to)))
      events.emit({ type: 'coding-changed', id, why: moved.lifecycle })
    }
    return this.resolve(session.id)
  }

  /** Starts sessions that another machine has just handed over, without waiting for the next interval. */
  takeOver(): Promise<void> {
    return this.#startWaiting()
  }

  output(ref: string, lines: number): { session: CodingSession; blocks: OutputBlock[] } {
    const stored = this.resolve(ref)
    const running = this.#running.get(stored.id)
    const session = running ? { ...stored, writing: running.writing || undefined } : stored
    return { session, blocks: this.#parts.store.lastOutput(session.id, lines) }
  }

  /** For a session that waits in the queue. */
  placeInQueue(session: CodingSession, viewer: string | undefined): QueuePlace {
    return this.#parts.repos.placeOf(session, viewer)
  }

  /** Puts a session into a chat's foreground; returns the output since the chat last looked. */
  async foreground(
    ref: string,
    channel: string,
    lines: number,
  ): Promise<{ session: CodingSession; blocks: OutputBlock[] }> {
    const session = this.resolve(ref)
    return { session, blocks: await bringToForeground(this.#parts, session, channel, lines) }
  }

  /** Takes one session, or all of them, out of a chat's foreground. */
  async background(channel: string, ref?: string): Promise<string[]> {
    const ids = ref === undefined ? this.#parts.store.watchedBy(channel) : [this.resolve(ref).id]
    for (const id of ids) await sendToBackground(this.#parts, id, channel)
    return ids
  }

  /** Resolves when the current turn is over: the session waits, has ended or was suspended. */
  async whenQuiet(id: string): Promise<CodingSession> {
    for (;;) {
      const session = this.resolve(id)
      if (!isWorking(session)) return session
      await sleep(100)
    }
  }

  /** Suspends or queues again the sessions whose owner is gone. Every command does this first. */
  recoverOrphans(): Promise<CodingSession[]> {
    return recoverOrphans(this.#parts)
  }

  /** In the gateway: also starts queued sessions, now and whenever an owner is found dead. */
  async recover(): Promise<CodingSession[]> {
    const orphans = await this.recoverOrphans()
    const { clock, approvals, owners, events } = this.#parts
    // An interrupted turn of a chat starts again after a restart and asks again, so its old questions expire. With several machines
    // the open questions may belong to chats of another machine.
    if (owners.machine === undefined) await approvals.expireOpen(({ codingId }) => codingId === undefined)
    await this.#startWaiting()
    const cleanUp = (): Promise<void> => this.#logged(() => this.cleanup())
    const recover = (): Promise<void> =>
      this.#logged(async () => {
        await this.recoverOrphans()
        await this.#startWaiting()
        await this.#resumeAnswered()
        await this.#limited.continueNext()
      })
    void cleanUp()
    this.#stopUpkeep = [
      repeat(clock, cleanupEveryMs, cleanUp),
      repeat(clock, recoverEveryMs, recover),
      events.on((event) => {
        if (event.type === 'approval-changed' && event.state !== 'pending')
          void this.#logged(() => this.#resumeAnswered())
      }),
    ]
    return orphans
  }

  async #logged(work: () => Promise<unknown>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.#parts.log.error(
        { event: 'coding-upkeep-failed', error: String(error) },
        'Periodic maintenance of coding sessions failed; it runs again at the next interval.',
      )
    }
  }

  /** Runs one call after the other: the same answer arrives as an event and is found again at the next interval. */
  #resumeAnswered(): Promise<void> {
    return this.#answers.run('', () => resumeAnswered(this.#parts, this.#running))
  }

  /** Starts sessions of this machine that have no owner: queued here, or handed over by another machine. */
  async #startWaiting(): Promise<void> {
    const { store, owners } = this.#parts
    await requeueSuspended(this.#parts)
    const waiting = this.list({ running: true }).filter(
      (session) =>
        !session.owner &&
        (session.lifecycle === 'queued' || session.lifecycle === 'awaiting-input') &&
        isOn(owners.machine, session),
    )
    for (const { id, request, machine } of waiting.reverse()) {
      // This machine slept, and another one took the session from it. At a write the runner here notices that and ends; the next call
      // starts the session.
      const runner = this.#running.get(id)
      if (runner) {
        await runner.markSeen()
        continue
      }
      // Without a machine of its own the session waits for one that has its repository.
      if (owners.machine !== undefined && machine === undefined && !isDirectory(request.workdir)) continue
      await this.#running.startHeartbeat()
      let isTaken = false
      const session = await store.update(id, (stored) => {
        // Another process may have taken it meanwhile, and so may another call in this one.
        isTaken = stored.owner === undefined
        stored.owner ??= this.#running.self
      })
      if (isTaken) this.#running.start(session)
    }
  }

  /** Deletes the output of sessions that ended long ago; the sessions themselves stay and can be resumed. */
  cleanup(): Promise<number> {
    return this.#parts.store.forgetOutputBefore(this.#parts.clock.now() - keepOutputMs)
  }

  /** Figures of all sessions, or of those that one agent may see. */
  getMetrics(agentId?: string): CodingMetrics {
    const { store, budget, clock } = this.#parts
    return codingMetrics(store, budget.spend, clock.now(), agentId)
  }

  /** Ends every session that this process runs, also those in the queue. Those with a conversation are suspended, so that they can
   *  be resumed later. */
  killAll(): Promise<void> {
    return this.#running.killAll()
  }

  /** Before the process ends. */
  async drain(): Promise<void> {
    for (const stop of this.#stopUpkeep) stop()
    await this.#running.close()
    await this.#parts.notifications.close()
  }

  /** The session as it is now: if its owner died, it is recovered first. */
  async #present(ref: string): Promise<CodingSession> {
    const session = this.resolve(ref)
    const isOurs = this.#running.get(session.id) !== undefined
    if (isOurs || !session.owner || this.#parts.owners.ownerLives(session)) return session
    await this.recoverOrphans()
    return this.resolve(session.id)
  }

  /** The owner stores the message. Without an owner the message waits in the row for the next gateway. */
  async #send(session: CodingSession, text: string, autoResponds: number): Promise<void> {
    if (!session.owner)
      await this.#parts.store.update(session.id, (stored) =>
        Object.assign(stored, { inbox: [...stored.inbox, text], autoResponds }),
      )
    else if (!(await this.#running.ask(session, 'send', { text, autoResponds })))
      throw notRunning(await this.#present(session.id))
  }
}
