// All coding sessions: launch, find, answer, kill, resume, recover. The library calls it SessionManager, as the seeds do.
import { setTimeout as sleep } from 'node:timers/promises'
import { isDeepStrictEqual } from 'node:util'
import type { CodingOwner, CodingRequest, CodingSession, OutputBlock } from '../domain/coding.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { CodingFilter } from '../store/coding-store.ts'
import { CodingRun, goesOnElsewhere } from './coding-session.ts'
import { codingMetrics } from './metrics.ts'
import type { CodingMetrics } from './metrics.ts'
import { giveAway } from './hand-over.ts'
import type { HandOver } from './hand-over.ts'
import { askOwner, OwnerDesk } from './owner-requests.ts'
import type { CodingParts, NativeSession } from './parts.ts'
import { closeSession, recoverOrphans } from './recovery.ts'
import { isAtWork, isStillRunning, noRoom, notRunning, repoTaken } from './refusals.ts'
import { Repeating } from './repeating.ts'
import { checkResumable, nativeOrigin, ownOrigin } from './resume-origin.ts'
import { asOwner, isOn, isRunning, isWorking, ownerSignMs } from './run-state.ts'
import { launched } from './session-changes.ts'
import type { Beginning } from './session-changes.ts'
import { SignOfLife } from './sign-of-life.ts'
import { nothingToSay, unsaidIn } from './unsaid.ts'
import { bringToForeground, putToBackground } from './watching.ts'
import { checkWorkdir, isDirectory } from './workdir.ts'

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
  #live = new Map<string, CodingRun>()
  #desk: OwnerDesk
  #me: CodingOwner
  #upkeep: Repeating[]
  #sign: SignOfLife

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.#desk = new OwnerDesk(parts, {
      kill: (id) => this.#runOf(id).kill('user'),
      interrupt: (id) => this.#runOf(id).interrupt(),
      release: (id) => this.#runOf(id).release(),
      send: (id, input) => this.#runOf(id).send(String(input['text'])),
      // What `handOver` below has left.
      handOver: (id, input) => this.#runOf(id).handOver(input['to'] as HandOver),
    })
    this.#me = asOwner(parts.self)
    this.#upkeep = [
      new Repeating(parts, cleanupEveryMs, () => this.cleanup()),
      // An owner that we cannot see is known to be gone only after a while.
      new Repeating(parts, ownerSignMs, () => this.recoverOrphans().then(() => this.#beginQueued())),
    ]
    this.#sign = new SignOfLife(parts, this.#me, () => this.#live.size > 0)
  }

  /** Starts a session in the background, or queues it when its repository is taken. */
  async spawn(asked: LaunchRequest, beginning: Beginning = {}): Promise<CodingSession> {
    const workdir = checkWorkdir(asked.workdir, this.#parts.config.workspaceRoots)
    const request = { ...asked, workdir, spawnDepth: asked.spawnDepth ?? 0 }
    const session = await this.#create(request, beginning)
    this.#begin(session)
    return session
  }

  list(filter: CodingFilter = {}): CodingSession[] {
    return this.#parts.store.list(filter)
  }

  /** By id, name, Claude's id or a prefix. Throws when there is none, or more than one. */
  resolve(ref: string): CodingSession {
    const found = this.#parts.store.resolve(ref)
    if (found.length === 1) return found[0]!
    if (found.length === 0) {
      throw new RockpoolError(
        'not-found',
        `There is no coding session ${JSON.stringify(ref.slice(0, 80))}.`,
        {
          hint: '`rockpool cc list` shows them all.',
        },
      )
    }
    const names = found.map((session) => `${session.id} (${session.name})`).join(', ')
    throw new RockpoolError('ambiguous', `${ref} may be ${names}.`, { hint: 'Give more of the id.' })
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
    if (autoResponds > max) {
      throw new RockpoolError(
        'refused',
        `⚠️ Auto-respond limit reached (${max}/${max}) for ${session.name}.`,
        {
          hint: 'A person must look at it and answer.',
        },
      )
    }
    if (options.interrupt) await this.interrupt(session.id)
    await this.#tell(session, text)
    await this.#countResponds(session.id, autoResponds)
    await this.#parts.notifications.onResponded(session, text)
    return this.resolve(session.id)
  }

  /** Stops the turn that runs; the session waits for what is said next. */
  async interrupt(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (!isRunning(session)) throw notRunning(session)
    if (session.owner) await this.#owner(session, 'interrupt', {})
    return this.resolve(session.id)
  }

  /** Lets go of a session that waits for its next message, so that somebody goes on with it elsewhere. */
  async release(ref: string): Promise<CodingSession> {
    const session = await this.#present(ref)
    if (isWorking(session)) throw isAtWork(session)
    if (isRunning(session) && !(session.owner && (await this.#owner(session, 'release', {}))))
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
    if (!session.owner || !(await this.#owner(session, 'kill', {})))
      await closeSession(this.#parts, await this.#present(session.id), 'ended', 'user', '')
    return { session: this.resolve(session.id), killed: true }
  }

  /** Goes on from an earlier session: a new one that resumes Claude's conversation, or forks it. */
  async resume(ref: string, prompt: string, options: ResumeOptions = {}): Promise<CodingSession> {
    const fork = options.fork === true
    const earlier = this.#parts.store.resolve(ref).length > 0 ? await this.#present(ref) : undefined
    if (!fork && earlier && isRunning(earlier)) throw isStillRunning(earlier)
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
    if (!session.owner || !(await this.#owner(session, 'handOver', { to })))
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
      await this.#sign.give()
      const taken = await this.#parts.store.update(id, (session) => (session.owner ??= this.#me))
      if (isDeepStrictEqual(taken.owner, this.#me)) this.#begin(taken)
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
  async killAll(): Promise<void> {
    const live = [...this.#live.values()]
    await Promise.all(live.map((run) => run.kill('shutdown', 'Rockpool was stopped. It can be resumed.')))
  }

  /** Before the process ends. */
  async drain(): Promise<void> {
    this.#desk.close()
    for (const upkeep of [...this.#upkeep, this.#sign]) upkeep.stop()
    await this.killAll()
    await this.#parts.notifications.close()
  }

  async #create(request: CodingRequest, beginning: Beginning): Promise<CodingSession> {
    const { machine, clock } = this.#parts
    const wanted = launched(request, beginning, { owner: this.#me, machine, now: clock.now() })
    const [session] = await Promise.all([
      this.#parts.store.add(wanted, () => this.#checkRoom(request.workdir)),
      this.#sign.give(),
    ])
    await this.#parts.notifications.onLaunched(session)
    return session
  }

  #begin(session: CodingSession): void {
    const run = new CodingRun(this.#parts, session)
    this.#live.set(session.id, run)
    this.#desk.watch(session.id)
    void run.over.then(() => {
      this.#live.delete(session.id)
      this.#desk.forget(session.id)
    })
    run.start()
  }

  #checkRoom(workdir: string): void {
    const { ownerLives, repos, config, machine } = this.#parts
    const { maxSessions, perRepo } = config
    const running = this.list({ running: true }).filter(
      (session) => isRunning(session) && isOn(machine, session) && ownerLives(session),
    )
    if (running.length >= maxSessions) throw noRoom(running, maxSessions)
    const working = repos.workingIn(workdir)
    const queued = repos.queuedIn(workdir)
    // Those that were launched a moment ago still count as queued.
    const [first] = [...working, ...queued]
    const isFull = working.length + queued.length >= perRepo.running + perRepo.queued
    if (first && isFull) throw repoTaken(first, working.length + queued.length - 1)
  }

  /** As it is now: what its owner left when it died is dealt with first. */
  async #present(ref: string): Promise<CodingSession> {
    const session = this.resolve(ref)
    const isOurs = this.#live.has(session.id)
    if (isOurs || !session.owner || this.#parts.ownerLives(session)) return session
    await this.recoverOrphans()
    return this.resolve(session.id)
  }

  async #tell(session: CodingSession, text: string): Promise<void> {
    // It waits for the next gateway, and so does the message.
    if (!session.owner) await this.#parts.store.update(session.id, ({ inbox }) => inbox.push(text))
    else if (!(await this.#owner(session, 'send', { text })))
      throw notRunning(await this.#present(session.id))
  }

  /** False when the owner died before it did so. */
  async #owner(
    session: CodingSession,
    action: 'kill' | 'interrupt' | 'release' | 'send' | 'handOver',
    input: Record<string, unknown>,
  ): Promise<boolean> {
    if (!this.#live.has(session.id)) return askOwner(this.#parts, session, action, input)
    await this.#desk.perform(session.id, action, input)
    return true
  }

  #runOf(id: string): CodingRun {
    const run = this.#live.get(id)
    if (!run) throw notRunning(this.resolve(id))
    return run
  }

  async #countResponds(id: string, autoResponds: number): Promise<void> {
    const run = this.#live.get(id)
    if (run) run.session.autoResponds = autoResponds
    await this.#parts.store.update(id, (session) => (session.autoResponds = autoResponds))
  }
}
