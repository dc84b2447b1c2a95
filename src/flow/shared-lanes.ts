// Several processes share the lanes. This process serves the lanes that it owns, takes more while it has room, and recovers
// the turns of dead processes. The store guarantees correctness: a turn starts only if the store grants the lane.
import type { AgentRuntime } from '../domain/agent.ts'
import { KeyedQueue, repeat } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { Config } from '../domain/config.ts'
import type { Log } from '../domain/log.ts'
import type { Deliverer } from '../replies/deliver.ts'
import type { LaneShare, LaneWork, OutboxRow, RunningTurn, WaitingInput } from '../store/work-store.ts'
import type { TurnQueue } from './turn-queue.ts'

export interface SharedLanesParts {
  config: Pick<Config, 'machine'>
  clock: Clock
  log: Log
  runtime: Pick<AgentRuntime, 'live'>
  /** Releases a lost turn, so that its inputs wait again; resolves to notices about it. */
  release: (turn: RunningTurn) => Promise<OutboxRow[]>
  queue: TurnQueue
  begin: (input: WaitingInput) => void
  deliverer: Pick<Deliverer, 'add' | 'releaseAll'>
}

/** Other processes notify us of work at once; polling finds what they could not notify. */
const lookEveryMs = 1_000

export class SharedLanes {
  #share: LaneShare
  #parts: SharedLanesParts
  #idle = new Set<string>()
  #failed = new Set<string>()
  /** Lanes that the pending take returns to the store. */
  #failing = new Set<string>()
  /** Accepted here while a take is pending: its result may contain earlier inputs of the same lanes. */
  #accepted: LaneWork[] = []
  #isTakePending = false
  #looking: Promise<void> | undefined
  #mustLookAgain = false
  #mustSweep = false
  #stops: Array<() => void> = []
  #starting = new KeyedQueue()
  /** What is about to start; a lane that fails forgets its part. */
  #starts = new Set<LaneWork>()
  #isRunning = false

  constructor(share: LaneShare, parts: SharedLanesParts) {
    this.#share = share
    this.#parts = parts
  }

  /** `onDeclaredDead` releases what else this process owns when the others declare it dead. */
  start(onDeclaredDead: () => Promise<void> = async () => {}): void {
    this.#share.onDeclaredDead(async () => {
      await this.#releaseLanes()
      await Promise.all([this.#parts.deliverer.releaseAll(), onDeclaredDead()])
    })
    if (this.#isRunning) return
    this.#isRunning = true
    const sweep = (): void => {
      this.#mustSweep = true
      this.look()
    }
    this.#stops.push(
      this.#share.onWork(() => this.look()),
      repeat(this.#parts.clock, lookEveryMs, sweep),
    )
    this.look()
  }

  /** Takes no more lanes. The ones that it owns are released when the process leaves. */
  async stop(): Promise<void> {
    this.#isRunning = false
    for (const stop of this.#stops.splice(0)) stop()
    await this.#looking
  }

  get hasRoom(): boolean {
    return this.#isRunning && this.#share.serves && this.#room > 0
  }

  get #room(): number {
    return this.#parts.config.machine.turnsAtOnce - this.#parts.queue.activeLanes().length
  }

  /** A message was accepted by this process. */
  placed(input: WaitingInput): void {
    if (!this.#isRunning) this.start()
    // All inputs of a lane that is returned are assigned again, in order, including this one.
    if (this.isGivingUp(input.lane)) return this.failed(input.lane)
    const work = { input, hasMoved: input.hasMoved === true }
    if (input.laneServer === 'here') {
      if (this.#isTakePending) this.#accepted.push(work)
      else void this.#start(work)
    } else {
      this.#share.wakeOthers()
      // No process owns the lane yet; this one may take it.
      if (input.laneServer === 'nowhere' || input.isWatched) this.look()
    }
  }

  /** The lane has no more work. */
  idle(lane: string): void {
    this.#idle.add(lane)
    this.look()
  }

  /** The lane's work failed here; the lane is returned to the store. */
  failed(lane: string): void {
    this.#parts.queue.forget(lane)
    this.#accepted = this.#accepted.filter(({ input }) => input.lane !== lane)
    for (const start of this.#starts) if (start.input.lane === lane) this.#starts.delete(start)
    this.#failed.add(lane)
    this.look()
  }

  /** The lane is being returned to the store, so no turn may start in it. */
  isGivingUp(lane: string): boolean {
    return this.#failed.has(lane) || this.#failing.has(lane)
  }

  /** Looks for work. If called while it looks, it looks once more. */
  look(): void {
    if (!this.#isRunning) return
    if (this.#looking) {
      this.#mustLookAgain = true
      return
    }
    this.#looking = this.#lookUntilDone()
      .catch((error: unknown) =>
        this.#parts.log.warn(
          { event: 'lane-take-failed', error: String(error) },
          'Could not look for queued messages; retrying.',
        ),
      )
      .finally(() => {
        this.#looking = undefined
      })
  }

  async #lookUntilDone(): Promise<void> {
    do {
      this.#mustLookAgain = false
      // Before the take: otherwise it would return inputs that arrived after those of a lost turn.
      if (this.#mustSweep) await this.#sweep()
      await this.#takeOnce()
    } while (this.#mustLookAgain && this.#isRunning)
  }

  async #takeOnce(): Promise<void> {
    const active = new Set(this.#parts.queue.activeLanes())
    const idle = [...this.#idle].filter((lane) => !active.has(lane))
    const given = (await this.#take(idle)).map(asGiven)
    for (const lane of idle) this.#idle.delete(lane)
    await Promise.all(inOrder([...given, ...this.#accepted.splice(0)]).map((one) => this.#start(one)))
  }

  /** Until its result is known, inputs that are accepted meanwhile must wait: earlier ones may be in the result. */
  async #take(idle: string[]): Promise<LaneWork[]> {
    const failed = [...this.#failed]
    this.#failing = new Set(failed)
    this.#failed.clear()
    this.#isTakePending = true
    try {
      const given = await this.#share.take(Math.max(0, this.#room), { idle, failed })
      this.#isTakePending = false
      // Other processes may take the returned lanes.
      if (failed.length > 0) this.#share.wakeOthers()
      return given
    } catch (error) {
      for (const lane of failed) this.#failed.add(lane)
      throw error
    } finally {
      this.#failing.clear()
    }
  }

  /** Inputs of one lane start in order. If another process served the lane last, our live conversation is out of date. */
  #start(work: LaneWork): Promise<void> {
    const { input, hasMoved } = work
    this.#starts.add(work)
    return this.#starting.run(input.lane, async () => {
      if (hasMoved) await this.#parts.runtime.live(input.lane)?.close()
      // The store assigns an input twice if it cannot know whether the first assignment arrived.
      if (this.#starts.delete(work) && !this.#parts.queue.has(input)) this.#parts.begin(input)
    })
  }

  /** Releases the turns of dead processes. */
  async #sweep(): Promise<void> {
    this.#mustSweep = false
    if (!this.#share.serves) return
    const { release, queue, deliverer } = this.#parts
    for (const turn of await this.#share.lost(queue.activeLanes())) {
      deliverer.add(await release(turn))
      this.#idle.add(turn.lane)
    }
  }

  /** Other processes own our lanes now. Running turns are interrupted; the store refuses their results. */
  async #releaseLanes(): Promise<void> {
    const { queue } = this.#parts
    for (const lane of queue.activeLanes()) queue.forget(lane)
    await queue.idle()
    this.#starts.clear()
    this.#idle.clear()
    this.#failed.clear()
    this.#accepted = []
  }
}

/** Another process may have begun a turn with it. */
function asGiven(work: LaneWork): LaneWork {
  return { ...work, input: { ...work.input, mayBeRecorded: true } }
}

/** In the order of acceptance, each once. */
function inOrder(work: LaneWork[]): LaneWork[] {
  const byId = new Map(work.toReversed().map((one) => [one.input.id, one]))
  return [...byId.values()].sort((a, b) => a.input.id - b.input.id)
}
