// Several processes share the work: this one serves the lanes that it holds, takes others while it has room, and finds
// what a dead one left. Correctness does not rest on this file: a turn begins only if the store says so.
import type { AgentRuntime } from '../domain/agent.ts'
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
  /** Gives the inputs of a lost turn back; resolves to what is to be said about it. */
  release: (turn: RunningTurn) => Promise<OutboxRow[]>
  queue: TurnQueue
  begin: (input: WaitingInput) => void
  deliverer: Pick<Deliverer, 'add' | 'letGo'>
}

/** Others tell us at once; this is for what they could not tell. */
const lookEveryMs = 1_000

export class SharedLanes {
  #share: LaneShare
  #parts: SharedLanesParts
  #idle = new Set<string>()
  #failed = new Set<string>()
  /** Lanes that are being given up. */
  #failing = new Set<string>()
  /** Accepted here while a take had not answered yet: what it brings may belong before them. */
  #told: LaneWork[] = []
  #mayLack = false
  #looking: Promise<void> | undefined
  #mustLookAgain = false
  #mustSweep = false
  #stops: Array<() => void> = []
  #cancelSweep: () => void = () => {}
  #handing = new Map<string, Promise<void>>()
  #isRunning = false

  constructor(share: LaneShare, parts: SharedLanesParts) {
    this.#share = share
    this.#parts = parts
  }

  /** `onBuried`: what else must be let go when the others take this process for dead. */
  start(onBuried: () => Promise<void> = async () => {}): void {
    this.#share.onBuried(async () => {
      await this.#letGo()
      await Promise.all([this.#parts.deliverer.letGo(), onBuried()])
    })
    if (this.#isRunning) return
    this.#isRunning = true
    this.#stops.push(this.#share.onWork(() => this.look()))
    this.#sweepLater()
    this.look()
  }

  /** Takes nothing more. What it holds is given up when the process leaves. */
  async stop(): Promise<void> {
    this.#isRunning = false
    this.#cancelSweep()
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
    // A lane that goes back gives all that waits in it once more, in order, and this one with it.
    if (this.isGivingUp(input.lane)) return this.failed(input.lane)
    if (input.lies === 'here') this.#tell({ input, hasMoved: input.hasMoved === true })
    else {
      this.#share.wakeOthers()
      // Nobody's: perhaps it is for us all the same.
      if (input.lies === 'nowhere' || input.isWatched) this.look()
    }
  }

  /** Nothing is left to do in this lane. */
  idle(lane: string): void {
    this.#idle.add(lane)
    this.look()
  }

  /** The lane's work could not be done here; it goes back. */
  failed(lane: string): void {
    void this.#parts.queue.stop(lane)
    this.#told = this.#told.filter(({ input }) => input.lane !== lane)
    this.#failed.add(lane)
    this.look()
  }

  #tell(work: LaneWork): void {
    if (this.#mayLack) this.#told.push(work)
    else void this.#hand(work)
  }

  /** What waits in this lane is not here any more, and the store does not know yet: nothing may begin in it. */
  isGivingUp(lane: string): boolean {
    return this.#failed.has(lane) || this.#failing.has(lane)
  }

  /** Looks for work; asked while it looks, it looks once more. */
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
      // Never beside a take, which would bring what comes after a lost turn before its inputs wait again.
      if (this.#mustSweep) await this.#sweep()
      await this.#takeOnce()
    } while (this.#mustLookAgain && this.#isRunning)
  }

  async #takeOnce(): Promise<void> {
    const active = new Set(this.#parts.queue.activeLanes())
    const idle = [...this.#idle].filter((lane) => !active.has(lane))
    const given = await this.#take(idle)
    for (const lane of idle) this.#idle.delete(lane)
    await Promise.all(inOrder([...given, ...this.#told.splice(0)]).map((one) => this.#hand(one)))
  }

  /** While its answer is on its way, or was lost, it is not known what belongs before what is told of meanwhile. */
  async #take(idle: string[]): Promise<LaneWork[]> {
    const failed = [...this.#failed]
    this.#failing = new Set(failed)
    this.#failed.clear()
    this.#mayLack = true
    try {
      const given = await this.#share.take(Math.max(0, this.#room), { idle, failed })
      this.#mayLack = false
      // Lanes that were given up may have had messages for others.
      if (failed.length > 0) this.#share.wakeOthers()
      return given
    } catch (error) {
      for (const lane of failed) this.#failed.add(lane)
      throw error
    } finally {
      this.#failing.clear()
    }
  }

  /** What is warm here knows nothing of the turns that another process took. Inputs of one lane keep their order. */
  #hand({ input, hasMoved }: LaneWork): Promise<void> {
    const before = this.#handing.get(input.lane) ?? Promise.resolve()
    const done = before.then(async () => {
      if (hasMoved) await this.#parts.runtime.live(input.lane)?.close()
      // It may be given twice, when nobody knows whether it was given at all.
      if (!this.#parts.queue.has(input)) this.#parts.begin(input)
      if (this.#handing.get(input.lane) === done) this.#handing.delete(input.lane)
    })
    this.#handing.set(input.lane, done)
    return done
  }

  #sweepLater(): void {
    this.#cancelSweep = this.#parts.clock.after(lookEveryMs, () => {
      this.#mustSweep = true
      this.look()
      if (this.#isRunning) this.#sweepLater()
    })
  }

  /** What processes that died have left. */
  async #sweep(): Promise<void> {
    this.#mustSweep = false
    if (!this.#share.serves) return
    const { release, queue, deliverer } = this.#parts
    for (const turn of await this.#share.lost(queue.activeLanes())) {
      deliverer.add(await release(turn))
      this.#idle.add(turn.lane)
    }
  }

  /** Others have our work: what runs is interrupted, and its end is refused by the store. */
  async #letGo(): Promise<void> {
    const { queue } = this.#parts
    await Promise.all(queue.activeLanes().map((lane) => queue.stop(lane)))
    await queue.idle()
    this.#idle.clear()
    this.#failed.clear()
    this.#told = []
  }
}

/** As they were accepted, each once. */
function inOrder(work: LaneWork[]): LaneWork[] {
  const byId = new Map(work.toReversed().map((one) => [one.input.id, one]))
  return [...byId.values()].sort((a, b) => a.input.id - b.input.id)
}
