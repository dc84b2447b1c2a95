// All coding sessions: launch, find, answer, kill, resume, recover. The library calls it SessionManager, as the seeds do.
import { hostname } from 'node:os'
import { setTimeout as sleep } from 'node:timers/promises'
import type { CodingRequest, CodingSession, OutputBlock } from '../domain/coding.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { CodingFilter } from '../store/coding-store.ts'
import { CodingRun } from './coding-session.ts'
import { generateSessionName, newCodingId } from './names.ts'
import { askOwner, OwnerDesk } from './owner-requests.ts'
import type { CodingParts, NativeSession } from './parts.ts'
import { closeSession, recoverOrphans } from './recovery.ts'
import { isStillRunning, noRoom, notRunning, repoTaken } from './refusals.ts'
import { nativeOrigin, ownOrigin } from './resume-origin.ts'
import { isRunning, isWorking, ownerLives } from './run-state.ts'
import { bringToForeground, putToBackground } from './watching.ts'
import { checkWorkdir } from './workdir.ts'

export type LaunchRequest = Omit<CodingRequest, 'spawnDepth'> & { spawnDepth?: number }

const keepOutputMs = 30 * 24 * 3_600_000
const cleanupEveryMs = 3_600_000

export class CodingPool {
  #parts: CodingParts
  #live = new Map<string, CodingRun>()
  #desk: OwnerDesk
  #cancelCleanup = (): void => {}

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.#desk = new OwnerDesk(parts, {
      kill: (id) => this.#runOf(id).kill('user'),
      interrupt: (id) => this.#runOf(id).interrupt(),
      send: async (id, input) => this.#runOf(id).send(String(input['text'])),
    })
  }

  /** Starts a session in the background, or queues it when its repository is taken. */
  async spawn(asked: LaunchRequest): Promise<CodingSession> {
    const workdir = checkWorkdir(asked.workdir, this.#parts.config.workspaceRoots)
    this.#checkRoom(workdir)
    const session = await this.#create({ ...asked, workdir, spawnDepth: asked.spawnDepth ?? 0 })
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
    const session = this.resolve(ref)
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
    await this.#owner(session, 'send', { text })
    await this.#countResponds(session.id, autoResponds)
    await this.#parts.notifications.onResponded(session, text)
    return this.resolve(session.id)
  }

  /** Stops the turn that runs; the session waits for what is said next. */
  async interrupt(ref: string): Promise<CodingSession> {
    const session = this.resolve(ref)
    if (!isRunning(session)) throw notRunning(session)
    await this.#owner(session, 'interrupt', {})
    return this.resolve(session.id)
  }

  /** Ends a session. One that is over already is left as it is. */
  async kill(ref: string): Promise<{ session: CodingSession; killed: boolean }> {
    const session = this.resolve(ref)
    if (session.lifecycle === 'ended') return { session, killed: false }
    if (isRunning(session)) await this.#owner(session, 'kill', {})
    else await closeSession(this.#parts, session, 'ended', 'user', '')
    return { session: this.resolve(session.id), killed: true }
  }

  /** Goes on from an earlier session: a new one that resumes Claude's conversation, or forks it. */
  async resume(
    ref: string,
    prompt: string,
    options: { fork?: boolean; atMessage?: string; originChannel?: string; multiTurn?: boolean } = {},
  ): Promise<CodingSession> {
    const fork = options.fork === true
    const earlier = this.#parts.store.resolve(ref).length > 0 ? this.resolve(ref) : undefined
    if (!fork && earlier && isRunning(earlier)) throw isStillRunning(earlier)
    const from = earlier ? ownOrigin(earlier) : await nativeOrigin(this.#parts, ref, fork)
    const session = await this.spawn({
      ...from.request,
      prompt,
      resume: { sdkSessionId: from.sdkSessionId, fork, atMessage: options.atMessage },
      originChannel: options.originChannel ?? from.request.originChannel,
      multiTurn: options.multiTurn ?? from.request.multiTurn,
    })
    if (!fork && earlier?.lifecycle === 'suspended')
      await closeSession(this.#parts, earlier, 'ended', 'done', `Resumed as ${session.name}.`)
    return session
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

  /** At start: what ran under an owner that is gone becomes suspended, what was queued begins, open questions expire. */
  async recover(): Promise<CodingSession[]> {
    const orphans = await recoverOrphans(this.#parts)
    const queued = this.list({ open: true }).filter(
      (session) => session.lifecycle === 'queued' && !session.owner,
    )
    for (const { id } of queued.reverse()) {
      this.#begin(await this.#parts.store.update(id, (session) => (session.owner = this.#me())))
    }
    this.#cleanUpHourly()
    return orphans
  }

  #cleanUpHourly(): void {
    this.#cancelCleanup()
    this.#cancelCleanup = this.#parts.clock.after(cleanupEveryMs, () => this.#cleanUpHourly())
    this.cleanup().catch((error: unknown) =>
      this.#parts.log.error({ error: String(error) }, 'Old output could not be removed.'),
    )
  }

  /** Forgets the output of sessions that ended long ago; the sessions themselves stay, and can still be resumed. */
  cleanup(): Promise<number> {
    return this.#parts.store.forgetOutputBefore(this.#parts.clock.now() - keepOutputMs)
  }

  /** Before the process ends: everything that runs is suspended, so that it can go on later. */
  async drain(): Promise<void> {
    this.#desk.close()
    this.#cancelCleanup()
    const live = [...this.#live.values()]
    await Promise.all(live.map((run) => run.kill('shutdown', 'Rockpool was stopped. It can be resumed.')))
  }

  async #create(request: CodingRequest): Promise<CodingSession> {
    const now = this.#parts.clock.now()
    const session: CodingSession = {
      id: newCodingId(),
      name: this.#parts.store.uniqueName(request.name ?? generateSessionName(request.prompt)),
      request,
      status: 'starting',
      lifecycle: 'queued',
      owner: this.#me(),
      createdAt: now,
      lastActivityAt: now,
      budgetUsd: request.budgetUsd,
      sharedAllowanceUsd: 0,
      costUsd: 0,
      turns: 0,
      autoResponds: 0,
      waitedMs: 0,
      lastSeq: 0,
      resumedFrom: request.resume?.sdkSessionId,
    }
    await this.#parts.store.save(session)
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

  #me(): CodingSession['owner'] {
    return { ...this.#parts.self, host: hostname() }
  }

  #checkRoom(workdir: string): void {
    const { maxSessions, perRepo } = this.#parts.config
    const running = this.list({ open: true }).filter((session) => isRunning(session) && ownerLives(session))
    if (running.length >= maxSessions) throw noRoom(running, maxSessions)
    const working = this.#parts.repos.workingIn(workdir)
    const queued = this.#parts.repos.queuedIn(workdir)
    const full = working.length >= perRepo.running && queued.length >= perRepo.queued
    if (full) throw repoTaken(working[0]!, queued.length)
  }

  async #owner(
    session: CodingSession,
    action: 'kill' | 'interrupt' | 'send',
    input: Record<string, unknown>,
  ): Promise<void> {
    if (this.#live.has(session.id)) await this.#desk.perform(session.id, action, input)
    else await askOwner(this.#parts, session, action, input)
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
