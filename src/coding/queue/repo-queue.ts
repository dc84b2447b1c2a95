// One session works in a repository at a time (or as many as configured), in any of its folders, and `coding.maxSessions` on the
// machine. Others wait in the order of their arrival. A session that waits for its next message does not hold the repository.
import { Condition } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'
import { isOn } from '../../domain/coding-session.ts'
import type { CodingLifecycle, CodingSession } from '../../domain/coding-session.ts'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import { reservedUntil, type UsageWindow } from '../../domain/usage-window.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import type { Owners } from '../machines/owner.ts'
import { nameFor, queueFull, repoTaken } from '../refusals.ts'
import { repositoryRoot } from './repositories.ts'

const working: ReadonlySet<CodingLifecycle> = new Set([
  'starting',
  'active',
  'awaiting-approval',
  'awaiting-answer',
  'awaiting-plan',
  'awaiting-budget',
])

interface RepoGateParts {
  store: CodingStore
  clock: Clock
  /** The configuration in force. */
  readonly config: Pick<CodingConfig, 'perRepo' | 'maxSessions' | 'maxQueued' | 'reserve'>
  /** Tells which sessions occupy a repository: only those of this machine, and only while their owner is alive. */
  owners: Pick<Owners, 'machine' | 'ownerLives'>
  /** The usage windows of the subscription that have not reset. */
  usageWindows?: (now: number) => UsageWindow[]
}

export interface QueuePlace {
  /** 1 if the session is next. */
  place: number
  /** The sessions that work now; one of them must finish first. */
  waitsFor: string[]
}

/** How often to check whether a session of another process has left the repository. */
const lookMs = 500

export class RepoGate {
  #parts: RepoGateParts
  #queues = new Map<string, string[]>()
  #inside = new Map<string, Set<string>>()
  #left: Condition

  constructor(parts: RepoGateParts) {
    this.#parts = parts
    this.#left = new Condition(parts.clock)
  }

  /** Sessions of any process that work in this repository now. */
  workingIn(repo: string, exceptId?: string): CodingSession[] {
    return this.#openIn(repo).filter((session) => session.id !== exceptId && this.#isWorking(session))
  }

  /** Sessions of this machine that wait for their next message. */
  awaitingInputIn(repo: string): CodingSession[] {
    return this.#openIn(repo).filter(
      (session) => session.lifecycle === 'awaiting-input' && this.#parts.owners.ownerLives(session),
    )
  }

  /** Throws if the queue of this machine (`maxQueued`) or of the repository (`perRepo`) is full for a session of this agent. */
  checkRoom(repo: string, agentId: string): void {
    const { maxQueued, perRepo } = this.#parts.config
    const waiting = this.#running().filter(({ lifecycle }) => lifecycle === 'queued').length
    if (waiting >= maxQueued) throw queueFull(waiting)
    const queued = this.#openIn(repo).filter(({ lifecycle }) => lifecycle === 'queued')
    // Sessions that were launched a moment ago are still queued.
    const [first, ...others] = [...this.workingIn(repo), ...queued]
    if (first && others.length + 1 >= perRepo.running + perRepo.queued)
      throw repoTaken(nameFor(agentId, first), first.request.workdir, others.length)
  }

  /** The place of a queued session: in its repository, or on the machine while `coding.maxSessions` work. `viewer` is the agent that
   *  sees it; undefined for a person. */
  placeOf({ id, createdAt, request }: CodingSession, viewer: string | undefined): QueuePlace {
    const isFull = !this.#isBelowMaxSessions(id)
    const nearby = isFull ? this.#running() : this.#openIn(request.workdir)
    const before = nearby.filter(
      (other) => other.lifecycle === 'queued' && other.id !== id && other.createdAt <= createdAt,
    )
    const working = nearby.filter((other) => this.#isWorking(other))
    const window = this.#isReserved(id) ? ['the reset of the usage window'] : []
    const names = new Set(working.map((other) => nameFor(viewer, other)))
    return { place: before.length + 1, waitsFor: [...names, ...window] }
  }

  isFree(repo: string, id: string): boolean {
    const inside = this.#inside.get(repositoryRoot(repo)) ?? []
    const taken = new Set([...this.workingIn(repo).map((session) => session.id), ...inside])
    taken.delete(id)
    const { running } = this.#parts.config.perRepo
    return taken.size < running && this.#isBelowMaxSessions(id) && !this.#isReserved(id)
  }

  /** A new session waits for the reset while only the reserve of a usage window is left. */
  #isReserved(id: string): boolean {
    const { store, clock, config, usageWindows } = this.#parts
    if (config.reserve.percent === 0 || !usageWindows) return false
    const now = clock.now()
    if (reservedUntil(usageWindows(now), config.reserve.percent, now) === undefined) return false
    const session = store.get(id)
    return session !== undefined && session.startedAt === undefined && !session.request.despiteReserve
  }

  /** Does this session work in its repository, in this process? */
  holds(id: string): boolean {
    return [...this.#inside.values()].some((inside) => inside.has(id))
  }

  /** Resolves when this session may work; call `leave` afterwards. False if the signal fired first. */
  async enter(repo: string, id: string, signal: AbortSignal): Promise<boolean> {
    const root = repositoryRoot(repo)
    const queue = this.#queues.get(root) ?? []
    this.#queues.set(root, queue)
    queue.push(id)
    while (!signal.aborted) {
      if (queue[0] === id && this.isFree(repo, id)) {
        queue.shift()
        this.#inside.set(root, (this.#inside.get(root) ?? new Set()).add(id))
        this.#left.notifyAll()
        return true
      }
      await this.#left.wait(lookMs, signal)
    }
    queue.splice(queue.indexOf(id), 1)
    return false
  }

  /** By id only: the session may have made or removed the `.git` that identifies its repository. */
  leave(id: string): void {
    for (const inside of this.#inside.values()) inside.delete(id)
    this.#left.notifyAll()
  }

  #isBelowMaxSessions(id: string): boolean {
    const atWork = this.#running().filter((other) => this.#isWorking(other))
    const inside = [...this.#inside.values()].flatMap((ids) => [...ids])
    const ids = new Set([...atWork.map((other) => other.id), ...inside])
    ids.delete(id)
    return ids.size < this.#parts.config.maxSessions
  }

  #isWorking(session: CodingSession): boolean {
    return working.has(session.lifecycle) && this.#parts.owners.ownerLives(session)
  }

  /** On this machine. */
  #running(): CodingSession[] {
    const { store, owners } = this.#parts
    return store.list({ running: true }).filter((session) => isOn(owners.machine, session))
  }

  #openIn(repo: string): CodingSession[] {
    const { store, owners } = this.#parts
    const root = repositoryRoot(repo)
    const isHere = (session: CodingSession): boolean =>
      isOn(owners.machine, session) && repositoryRoot(session.request.workdir) === root
    return store.list({ open: true }).filter(isHere)
  }
}
