// One turn at a time for each session; other sessions never wait. The inbox has every input on disk; this is only the
// order in which they are taken, kept in memory and made again from the inbox at a start.
import type { Clock } from '../domain/clock.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { QueueSettings } from './queue-settings.ts'

/** A turn that runs: what can be done to it from outside. */
export interface TurnInHand {
  /** Adds an input to the turn. False: it cannot take more; the input waits. */
  steer(input: WaitingInput): Promise<boolean>
  interrupt(): Promise<void>
}

export interface TurnQueueOptions {
  clock: Clock
  settings: (lane: string, input: WaitingInput) => Promise<QueueSettings>
  /** Takes a turn for these inputs, with what was dropped before them. Must not reject for a turn that failed.
   *  Gives back inputs that had joined and were not dealt with; they come next. */
  take: (batch: Batch, begun: (turn: TurnInHand) => void) => Promise<WaitingInput[]>
  /** Inputs for which there was no room; `told` is false when nothing of them will reach the agent. */
  drop: (inputs: WaitingInput[], told: boolean) => Promise<void>
  /** May this input join others in one turn, or a turn that runs? Commands that begin a session may not, nor may anybody
   *  with other rights than those whose turn it is. */
  mayJoin: (input: WaitingInput, others: readonly WaitingInput[]) => boolean
  onError: (lane: string, error: unknown) => void
  /** It is not known how an input wants to be placed, or it could not join: it waits for a turn of its own. */
  onUnplaced: (lane: string, error: unknown) => void
  /** Nothing runs or waits in this lane any more. */
  onIdle?: (lane: string) => void
}

export interface Batch {
  lane: string
  inputs: WaitingInput[]
  /** Texts of messages that were dropped since the last turn, for a summary. */
  dropped: string[]
}

interface Lane {
  waiting: WaitingInput[]
  dropped: string[]
  settings?: QueueSettings
  lastOfferAt: number
  turn?: TurnInHand
  /** The batch that was taken: its turn runs, or is about to. */
  taken: WaitingInput[]
  /** Somebody wanted the turn to end before it had begun. */
  endWanted: boolean
  busy: boolean
  work: Promise<void>
}

export class TurnQueue {
  #options: TurnQueueOptions
  #lanes = new Map<string, Lane>()
  #stopped = false
  #offers = new Map<string, Promise<void>>()

  constructor(options: TurnQueueOptions) {
    this.#options = options
  }

  /** Takes an input that is in the inbox. Offers of one lane are dealt with in the order in which they were made. */
  offer(input: WaitingInput): Promise<void> {
    const before = this.#offers.get(input.lane)
    const lane = this.#laneOf(input.lane)
    // An idle lane needs no thought; this is the way of nearly every message.
    if (!before && !lane.busy) {
      this.#enqueue(lane, input)
      return Promise.resolve()
    }
    const now = (before ?? Promise.resolve()).then(() => this.#place(lane, input))
    const settled = now.catch((error: unknown) => {
      this.#options.onUnplaced(input.lane, error)
      this.#enqueue(lane, input)
    })
    this.#offers.set(input.lane, settled)
    void settled.then(() => {
      if (this.#offers.get(input.lane) === settled) this.#offers.delete(input.lane)
    })
    return settled
  }

  isBusy(lane: string): boolean {
    return this.#lanes.get(lane)?.busy ?? false
  }

  /** Lanes that have something to do, whether their turn has begun or not. */
  activeLanes(): string[] {
    return [...this.#lanes].filter(([, lane]) => lane.busy).map(([key]) => key)
  }

  waiting(lane: string): WaitingInput[] {
    return [...(this.#lanes.get(lane)?.waiting ?? [])]
  }

  /** Does it wait here, or was it taken? */
  has({ lane: key, id }: WaitingInput): boolean {
    const lane = this.#lanes.get(key)
    return lane !== undefined && [...lane.waiting, ...lane.taken].some((input) => input.id === id)
  }

  /** Lanes in which a turn runs. */
  busyLanes(): string[] {
    return [...this.#lanes].filter(([, lane]) => lane.turn).map(([key]) => key)
  }

  /** Replaces an input that still waits. */
  replace(input: WaitingInput): void {
    const waiting = this.#lanes.get(input.lane)?.waiting ?? []
    const at = waiting.findIndex((other) => other.id === input.id)
    if (at >= 0) waiting[at] = input
  }

  /** Interrupts the running turn and gives back what waits, which is the caller's now. */
  async stop(laneKey: string): Promise<{ wasRunning: boolean; cancelled: WaitingInput[] }> {
    const lane = this.#lanes.get(laneKey)
    if (!lane) return { wasRunning: false, cancelled: [] }
    const cancelled = lane.waiting.splice(0)
    lane.dropped = []
    const wasRunning = lane.taken.length > 0
    await interrupt(lane)
    return { wasRunning, cancelled }
  }

  /** Begins no more turns, and waits for those that run. What waits stays in the inbox. */
  async close(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#lanes.values()].map((lane) => lane.work))
  }

  /** Interrupts everything that runs: there is no more time. */
  async interruptAll(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(interrupt))
  }

  /** Resolves when no turn runs and nothing waits. */
  async idle(): Promise<void> {
    for (;;) {
      const busy = [...this.#lanes.values()].filter((lane) => lane.busy)
      if (busy.length === 0 && this.#offers.size === 0) return
      await Promise.all([...busy.map((lane) => lane.work), ...this.#offers.values()])
    }
  }

  #laneOf(key: string): Lane {
    let lane = this.#lanes.get(key)
    if (!lane) {
      lane = {
        waiting: [],
        dropped: [],
        lastOfferAt: 0,
        taken: [],
        endWanted: false,
        busy: false,
        work: Promise.resolve(),
      }
      this.#lanes.set(key, lane)
    }
    return lane
  }

  /** An input for a lane that is busy: steer, wait, or interrupt, as the settings say. */
  async #place(lane: Lane, input: WaitingInput): Promise<void> {
    const settings = await this.#options.settings(input.lane, input)
    lane.settings = settings
    const { mode } = settings
    const mayJoin = this.#options.mayJoin(input, lane.taken)
    if (lane.turn && mayJoin && lane.waiting.length === 0 && mode.startsWith('steer')) {
      const joined = await lane.turn.steer(input)
      if (joined && mode === 'steer') return
    }
    this.#enqueue(lane, input)
    await this.#keepWithinCap(lane, settings)
    if (mode === 'interrupt' && mayJoin) await interrupt(lane)
  }

  #enqueue(lane: Lane, input: WaitingInput): void {
    lane.waiting.push(input)
    lane.lastOfferAt = this.#options.clock.monotonic()
    this.#wake(input.lane, lane)
  }

  async #keepWithinCap(lane: Lane, settings: QueueSettings): Promise<void> {
    const excess = lane.waiting.length - settings.cap
    if (excess <= 0) return
    const gone = settings.drop === 'new' ? lane.waiting.splice(-excess) : lane.waiting.splice(0, excess)
    const told = settings.drop === 'summarize'
    if (told) lane.dropped.push(...gone.map((input) => input.message.text))
    await this.#options.drop(gone, told)
  }

  #wake(key: string, lane: Lane): void {
    if (lane.busy || this.#stopped) return
    lane.busy = true
    lane.work = this.#run(key, lane).catch((error: unknown) => this.#options.onError(key, error))
  }

  async #run(key: string, lane: Lane): Promise<void> {
    try {
      while (lane.waiting.length > 0 && !this.#stopped) {
        await this.#debounce(lane)
        if (!this.#stopped) await this.#takeNext(key, lane)
      }
    } finally {
      lane.busy = false
      if (lane.waiting.length === 0 && !this.#offers.has(key)) this.#lanes.delete(key)
      this.#options.onIdle?.(key)
    }
  }

  async #takeNext(key: string, lane: Lane): Promise<void> {
    const inputs = this.#nextBatch(lane)
    const dropped = lane.dropped.splice(0)
    if (inputs.length === 0) return
    lane.taken = inputs
    const begun = (turn: TurnInHand): void => {
      lane.turn = turn
      if (lane.endWanted) void turn.interrupt()
    }
    try {
      lane.waiting.unshift(...(await this.#options.take({ lane: key, inputs, dropped }, begun)))
    } finally {
      delete lane.turn
      lane.taken = []
      lane.endWanted = false
    }
  }

  /** In collect and interrupt mode all that wait in one chat; else one. */
  #nextBatch(lane: Lane): WaitingInput[] {
    const first = lane.waiting.shift()
    if (!first) return []
    const mode = lane.settings?.mode
    const batch = [first]
    const collects = (mode === 'collect' || mode === 'interrupt') && this.#options.mayJoin(first, [])
    const isNext = (input: WaitingInput | undefined): boolean =>
      collects && input !== undefined && isSameChat(first, input) && this.#options.mayJoin(input, [first])
    while (isNext(lane.waiting[0])) batch.push(lane.waiting.shift()!)
    return batch
  }

  /** People write in bursts: a collected batch waits until nothing has come for a moment. */
  async #debounce(lane: Lane): Promise<void> {
    const { clock } = this.#options
    const settings = lane.settings
    if (!settings || (settings.mode !== 'collect' && settings.mode !== 'interrupt')) return
    for (;;) {
      const quietFor = clock.monotonic() - lane.lastOfferAt
      const rest = settings.debounceMs - quietFor
      if (rest <= 0 || this.#stopped) return
      await new Promise<void>((resolve) => void clock.after(rest, resolve))
    }
  }
}

/** Ends the turn that runs, or the one that is about to. */
async function interrupt(lane: Lane): Promise<void> {
  lane.endWanted = lane.taken.length > 0
  await lane.turn?.interrupt()
}

function isSameChat(a: WaitingInput, b: WaitingInput): boolean {
  const one = a.message.address
  const other = b.message.address
  return (
    one.channel === other.channel &&
    one.accountId === other.accountId &&
    one.to === other.to &&
    one.threadId === other.threadId &&
    a.wish === undefined &&
    b.wish === undefined
  )
}
