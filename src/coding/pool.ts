// All coding sessions: launch, find, answer, kill, resume, recover. The library calls it SessionManager, as the seeds do.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { CodingRequest, CodingSession, OutputBlock } from '../domain/coding-session.ts'
import type { CodingFilter } from '../store/sqlite/coding-store.ts'
import { goesOnElsewhere } from './session/coding-session.ts'
import { codingMetrics } from './metrics.ts'
import type { CodingMetrics } from './metrics.ts'
import { giveAway } from './machines/hand-over.ts'
import type { HandOver } from './machines/hand-over.ts'
import { LiveRuns } from './session/live-runs.ts'
import type { CodingParts, NativeSession } from './coding-parts.ts'
import { closeSession, recoverOrphans } from './machines/recovery.ts'
import { isAmbiguous, isAtWork, isStillRunning, noSuchSession } from './refusals.ts'
import { notRunning, tooManyResponds } from './refusals.ts'
import { Repeating } from './repeating.ts'
import { checkResumable, nativeOrigin, ownOrigin } from './session/resume-origin.ts'
import { checkRoom } from './queue/capacity.ts'
import { isOn, isRunning, isWorking, orphansMs } from './session/run-state.ts'
import { launched } from './session/session-changes.ts'
import type { Beginning } from './session/session-changes.ts'
import { nothingToSay, unsaidIn } from './session/pending-messages.ts'
import { bringToForeground, putToBackground } from './session/watchers.ts'
import { checkWorkdir, isDirectory } from './queue/workdir.ts'

export type LaunchRequest = Omit<CodingRequest, 'spawnDepth'> & { spawnDepth?: number }

export interface ResumeOptions {
  fork?: boolean
  atMessage?: string
  multiTurn?: boolean
  /** Where it is gone on with: the chat, and the session when an agent does so. As before when absent. */
  origin?: Pick<CodingRequest, 'originChannel' | 'originThreadId' | 'originSessionKey'>
  /** Its repository on this machine, when it was on another one before, and what Claude is told about that. */
  moved?: { workdir: string; aside: string }
  /** The id of the new session. */
  id?: string
}

const keepOutputMs = 30 * 24 * 3_600_000
const cleanupEveryMs = 3_600_000

export class CodingPool {
  #parts: CodingParts
  #runs: LiveRuns
  #upkeep: Repeating[]

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.#runs = new LiveRuns(parts)
    this.#upkeep = [
      new Repeating(parts, cleanupEveryMs, () => this.cleanup()),
      // An owner that we cannot see is known to be gone only after a while.
      new Repeating(parts, orphansMs, () => this.recoverOrphans().then(() => this.#beginQueued())),
    ]
  }

  /** Starts a session in the background, or queues it when its repository is taken. */
  async spawn(asked: LaunchRequest, beginning: Beginning = {}): Promise<CodingSession> {
    const workdir = checkWorkdir(asked.workdir, this.#parts.config.workspaceRoots)
    const request = { ...asked, workdir, spawnDepth: asked.spawnDepth ?? 0 }
    const session = await this.#create(request, beginning)
    this.#runs.begin(session)
    return session
  }

  /** Our session that has this conversation of Claude's open and waits for its next message. */
  awaitingInput(sdkSessionId: string): CodingSession | undefined {
    const [found] = this.#parts.store.resolve(sdkSessionId)
    if (found?.sdkSessionId !== sdkSessionId || found.lifecycle !== 'awaiting-input') return undefined
    return isOn(this.#parts.machine, found) && this.#parts.ownerLives(found) ? found : undefined
  }

  list(filter: CodingFilter = {}): CodingSession[] {
    return this.#parts.store.list(filter)
  }

  /** By id, name, Claude's id or a prefix. Throws when there is none, or more than one. */
  resolve(ref: string): CodingSession {
    const found = this.#parts.store.resolve(ref)
    if (found.length === 1) return found[0]!
    throw found.length === 0 ? noSuchSession(ref) : isAmbiguous(ref, found)
  }

  /** Claude's id for a reference: a live or stored session, or the id itself when it is one. */
  resolveClaudeSessionId(ref: string): string | undefined {
    const found = this.#parts.store.resolve(ref)
    if (found.length === 1 && found[0]!.sdkSessionId) return found[0]!.sdkSessionId
    return /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i.test(ref) ? ref : undefined
  }

  /** A session that Claude Code made without us. */
  findNative(ref: string): Promise<NativeSession | undefined> {
    return this.#parts.findNative(ref)
  }

  /** A message for a session. Agents may send only so many in a row without a person. */
  async respond(
    ref: string,
    text: string,
    options: { interrupt?: boolean; userInitiated?: boolean } = {},
  ): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (!isRunning(session)) throw notRunning(session)
    const autoResponds = options.userInitiated ? 0 : session.autoResponds + 1
    const max = this.#parts.config.maxAutoResponds
    if (autoResponds > max) throw tooManyResponds(session, max)
    if (options.interrupt) await this.interrupt(session.id)
    await this.#tell(session, text, autoResponds)
    await this.#parts.notifications.onResponded(session, text)
    return this.resolve(session.id)
  }

  /** Stops the turn that runs; the session waits for what is said next. */
  async interrupt(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (!isRunning(session)) throw notRunning(session)
    await this.#runs.ask(session, 'interrupt')
    return this.resolve(session.id)
  }

  /** Lets go of a session that waits for its next message, so that somebody goes on with it elsewhere. */
  async release(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (isWorking(session)) throw isAtWork(session)
    if (isRunning(session) && !(await this.#runs.ask(session, 'release')))
      await closeSession(
        this.#parts,
        await this.#present(session.id),
        'suspended',
        'released',
        goesOnElsewhere,
      )
    return this.resolve(session.id)
  }

  /** Ends a session. One that is over already is left as it is. */
  async kill(ref: string): Promise<{ session: CodingSession; killed: boolean }> {
    const session = await this.#present(ref)
    if (session.lifecycle === 'ended') return { session, killed: false }
    if (!(await this.#runs.ask(session, 'kill')))
      await closeSession(this.#parts, await this.#present(session.id), 'ended', 'user', '')
    return { session: this.resolve(session.id), killed: true }
  }

  /** Goes on from an earlier session: a new one that resumes Claude's conversation, or forks it. */
  async resume(ref: string, prompt: string, options: ResumeOptions = {}): Promise<CodingSession> {
    const fork = options.fork === true
    const earlier = this.#parts.store.resolve(ref).length > 0 ? await this.#present(ref) : undefined
    if (!fork && earlier && isRunning(earlier))
      throw this.#runs.get(earlier.id)?.writes.failure ?? isStillRunning(earlier)
    const from = earlier ? ownOrigin(earlier) : await nativeOrigin(this.#parts, ref, fork)
    if (!fork) await checkResumable(this.#parts, from.sdkSessionId)
    const unsaid = earlier && !fork ? await unsaidIn(this.#parts, earlier) : []
    const session = await this.spawn(
      {
        ...from.request,
        // Whoever resumes it from elsewhere is told there, in all that belongs to a place.
        ...options.origin,
        workdir: options.moved?.workdir ?? from.request.workdir,
        prompt,
        resume: { sdkSessionId: from.sdkSessionId, fork, atMessage: options.atMessage },
        multiTurn: options.multiTurn ?? from.request.multiTurn,
      },
      { unsaid, aside: options.moved?.aside ?? earlier?.aside, id: options.id },
    )
    if (!fork && earlier) await this.#goneOnAs(earlier, session)
    return session
  }

  async #goneOnAs(earlier: CodingSession, { name }: CodingSession): Promise<void> {
    await this.#parts.store.update(earlier.id, (stored) => Object.assign(stored, nothingToSay()))
    if (earlier.lifecycle === 'suspended')
      await closeSession(this.#parts, earlier, 'ended', 'done', `Resumed as ${name}.`)
  }

  /** Gives a session to another machine that has its repository; it goes on there when that one takes it. */
  async handOver(ref: string, to: HandOver): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (!(await this.#runs.ask(session, 'handOver', { to })))
      await giveAway(this.#parts, (await this.#present(session.id)).id, to)
    return this.resolve(session.id)
  }

  /** Begins now what was given to this machine, and does not wait for the next look. */
  takeOver(): Promise<void> {
    return this.#beginQueued()
  }

  output(ref: string, lines: number): { session: CodingSession; blocks: OutputBlock[] } {
    const session = this.resolve(ref)
    return { session, blocks: this.#parts.store.lastOutput(session.id, lines) }
  }

  /** Puts a session into a chat's foreground; gives what the chat has missed since it last looked. */
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
    for (const id of ids) await putToBackground(this.#parts, id, channel)
    return ids
  }

  /** Resolves when the session's present turn is over: it waits, ended or was suspended. */
  async whenQuiet(id: string): Promise<CodingSession> {
    for (;;) {
      const session = this.resolve(id)
      if (!isWorking(session)) return session
      await sleep(100)
    }
  }

  /** What ran under an owner that is gone becomes suspended. Every command does this first. */
  recoverOrphans(): Promise<CodingSession[]> {
    return recoverOrphans(this.#parts)
  }

  /** In the gateway: also begins what was queued, now and whenever an owner turns out to be gone. */
  async recover(): Promise<CodingSession[]> {
    const orphans = await this.recoverOrphans()
    await this.#beginQueued()
    for (const upkeep of this.#upkeep) upkeep.start()
    return orphans
  }

  /** Begins what waits for this machine and nobody runs: queued here, or handed over by another one. */
  async #beginQueued(): Promise<void> {
    const { machine } = this.#parts
    const waiting = this.list({ running: true }).filter(
      (session) =>
        !session.owner &&
        (session.lifecycle === 'queued' || session.lifecycle === 'awaiting-input') &&
        isOn(machine, session),
    )
    for (const { id, request, machine: its } of waiting.reverse()) {
      // It waits for a machine that has its repository.
      if (machine !== undefined && its === undefined && !isDirectory(request.workdir)) continue
      await this.#runs.signOfLife()
      const taken = await this.#parts.store.update(id, (session) => (session.owner ??= this.#runs.me))
      if (isDeepStrictEqual(taken.owner, this.#runs.me)) this.#runs.begin(taken)
    }
  }

  /** Forgets the output of sessions that ended long ago; the sessions themselves stay, and can still be resumed. */
  cleanup(): Promise<number> {
    return this.#parts.store.forgetOutputBefore(this.#parts.clock.now() - keepOutputMs)
  }

  /** Figures over all sessions, or over those that one agent may see. */
  getMetrics(agentId?: string): CodingMetrics {
    const { store, spend, clock } = this.#parts
    return codingMetrics(store, spend, clock.now(), agentId)
  }

  /** Everything that this process runs is suspended, so that it can go on later. */
  killAll(): Promise<void> {
    return this.#runs.killAll()
  }

  /** Before the process ends. */
  async drain(): Promise<void> {
    for (const upkeep of this.#upkeep) upkeep.stop()
    await this.#runs.close()
    await this.#parts.notifications.close()
  }

  async #create(request: CodingRequest, beginning: Beginning): Promise<CodingSession> {
    const { machine, clock } = this.#parts
    const wanted = launched(request, beginning, { owner: this.#runs.me, machine, now: clock.now() })
    const [session] = await Promise.all([
      this.#parts.store.add(wanted, () => checkRoom(this.#parts, request.workdir)),
      this.#runs.signOfLife(),
    ])
    await this.#parts.notifications.onLaunched(session)
    return session
  }

  /** As it is now: what its owner left when it died is dealt with first. */
  async #present(ref: string): Promise<CodingSession> {
    const session = this.resolve(ref)
    const isOurs = this.#runs.get(session.id) !== undefined
    if (isOurs || !session.owner || this.#parts.ownerLives(session)) return session
    await this.recoverOrphans()
    return this.resolve(session.id)
  }

  /** Its owner stores the message; while it has none, the message waits in the row for the next gateway. */
  async #tell(session: CodingSession, text: string, autoResponds: number): Promise<void> {
    if (!session.owner)
      await this.#parts.store.update(session.id, (stored) =>
        Object.assign(stored, { inbox: [...stored.inbox, text], autoResponds }),
      )
    else if (!(await this.#runs.ask(session, 'send', { text, autoResponds })))
      throw notRunning(await this.#present(session.id))
  }
}
