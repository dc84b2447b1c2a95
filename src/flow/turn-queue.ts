// One turn at a time for each session; sessions do not wait for each other. The inbox has every input on disk; this queue is
// in memory and is rebuilt from the inbox at a start.
import { chatKey } from '../domain/address.ts'
import { KeyedQueue, sleep } from '../domain/async.ts'
import type { Clock } from '../domain/clock.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { QueueSettings } from './queue-settings.ts'

/** Controls a running turn. */
export interface TurnControls {
  /** Adds an input to the turn. False: the turn accepts no more; the input waits. */
  steer(input: WaitingInput): Promise<boolean>
  interrupt(): Promise<void>
  /** Its author has lost rights since it began. */
  readonly isRevoked: boolean
}

export interface TurnQueueOptions {
  clock: Clock
  settings: (lane: string, input: WaitingInput) => Promise<QueueSettings>
  /** Takes a turn. Must not reject for a turn that failed. Resolves to inputs that joined and got no answer; they come
   *  next. */
  take: (batch: Batch, onStart: (turn: TurnControls) => void) => Promise<WaitingInput[]>
  /** Inputs for which there was no room. `isSummarized`: the agent gets a summary of them. */
  drop: (inputs: WaitingInput[], isSummarized: boolean) => Promise<void>
  /** Ends inputs that had joined a turn which was stopped with all its messages, before it answered them. */
  cancel: (inputs: WaitingInput[]) => Promise<void>
  /** May this input join others in one turn, or a running turn? Not a command that resets the session, and not an author
   *  with other rights. */
  mayJoin: (input: WaitingInput, others: readonly WaitingInput[]) => boolean
  onError: (lane: string, error: unknown) => void
  /** An input could not be placed by its settings, or could not join: it waits for a turn of its own. */
  onUnplaced: (lane: string, error: unknown) => void
  /** Nothing runs or waits in this lane any more. */
  onIdle?: (lane: string) => void
}

export interface Batch {
  lane: string
  inputs: WaitingInput[]
  /** Texts of inputs that were dropped since the last turn, for the summary. */
  dropped: string[]
}

/** The same input may be offered again after its lane failed. */
interface Offer {
  input: WaitingInput
}

interface Lane {
  waiting: WaitingInput[]
  /** Offers whose settings are being read, in order. */
  placing: Offer[]
  dropped: string[]
  settings?: QueueSettings
  lastOfferAt: number
  turn: TurnControls | undefined
  /** The inputs of the turn that runs or is about to start. */
  taken: WaitingInput[]
  /** The turn is to end, but has not started yet. */
  isEndRequested: boolean
  /** The turn was stopped, and with it every message that waits for an answer. */
  isStopped: boolean
  busy: boolean
  work: Promise<void> | undefined
}

export class TurnQueue {
  #options: TurnQueueOptions
  #lanes = new Map<string, Lane>()
  #stopped = false
  #offers = new KeyedQueue()

  constructor(options: TurnQueueOptions) {
    this.#options = options
  }

  /** Takes an input that is in the inbox. The offers of one lane are processed in order. */
  offer(input: WaitingInput): Promise<void> {
    const lane = this.#laneOf(input.lane)
    // Nearly every message finds its lane idle.
    if (!this.#offers.isBusy(input.lane) && !lane.busy) {
      this.#enqueue(lane, input)
      return Promise.resolve()
    }
    const offer = { input }
    lane.placing.push(offer)
    return this.#offers.run(input.lane, () =>
      this.#place(lane, offer)
        .catch((error: unknown) => {
          this.#options.onUnplaced(input.lane, error)
          if (lane.placing.includes(offer)) this.#enqueue(lane, input)
        })
        .finally(() => {
          lane.placing = lane.placing.filter((other) => other !== offer)
          this.#removeIfEmpty(input.lane, lane)
        }),
    )
  }

  isBusy(lane: string): boolean {
    return this.#lanes.get(lane)?.busy ?? false
  }

  /** The lanes in which a turn runs or waits to start. */
  activeLanes(): string[] {
    return [...this.#lanes].filter(([, lane]) => lane.busy).map(([key]) => key)
  }

  waiting(lane: string): WaitingInput[] {
    return [...(this.#lanes.get(lane)?.waiting ?? [])]
  }

  /** Is this input waiting or part of a turn here? */
  has({ lane: key, id }: WaitingInput): boolean {
    const lane = this.#lanes.get(key)
    const isThis = (input: WaitingInput): boolean => input.id === id
    if (!lane) return false
    return [...lane.waiting, ...lane.taken, ...lane.placing.map((offer) => offer.input)].some(isThis)
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

  /** Interrupts the running turn and removes the waiting inputs from the queue, also those that are being placed or have joined. */
  async stop(laneKey: string): Promise<{ wasRunning: boolean; cancelled: WaitingInput[] }> {
    const lane = this.#lanes.get(laneKey)
    if (!lane) return { wasRunning: false, cancelled: [] }
    const wasRunning = lane.taken.length > 0
    lane.isStopped = wasRunning
    return { wasRunning, cancelled: await empty(lane) }
  }

  /** Interrupts the turn of one input, or removes the input from the queue. Other inputs stay. */
  async stopInput(
    laneKey: string,
    inputKey: string,
  ): Promise<{ wasRunning: boolean; cancelled: WaitingInput[] }> {
    const lane = this.#lanes.get(laneKey)
    if (!lane) return { wasRunning: false, cancelled: [] }
    const isMeant = ({ key }: WaitingInput): boolean => key === inputKey
    const cancelled = waitingIn(lane).filter(isMeant)
    lane.waiting = lane.waiting.filter((input) => !isMeant(input))
    lane.placing = lane.placing.filter(({ input }) => !isMeant(input))
    const wasRunning = lane.taken.some(isMeant)
    if (wasRunning) await interrupt(lane)
    return { wasRunning, cancelled }
  }

  /**
   * The work of a lane failed. Its inputs are forgotten, also those that are being placed: the store gives all of them again, and one
   * that was placed late would come before those.
   */
  forget(laneKey: string): void {
    const lane = this.#lanes.get(laneKey)
    if (!lane) return
    void empty(lane)
    this.#removeIfEmpty(laneKey, lane)
  }

  /** Interrupts the turns whose author has lost rights, and removes waiting inputs that may not stay. */
  async revoke(
    mayStay: (input: WaitingInput) => boolean,
  ): Promise<{ turns: number; removed: WaitingInput[] }> {
    const lanes = [...this.#lanes.values()]
    const removed = lanes.flatMap(({ waiting }) => waiting.filter((input) => !mayStay(input)))
    for (const lane of lanes) lane.waiting = lane.waiting.filter((input) => !removed.includes(input))
    const revoked = lanes.filter(({ turn }) => turn?.isRevoked)
    await Promise.all(revoked.map(interrupt))
    return { turns: revoked.length, removed }
  }

  /** Starts no more turns and waits for the running ones. Waiting inputs stay in the inbox. */
  async close(): Promise<void> {
    this.#stopped = true
    await Promise.all([...this.#lanes.values()].flatMap((lane) => lane.work ?? []))
  }

  /** Interrupts all running turns. */
  async interruptAll(): Promise<void> {
    await Promise.all([...this.#lanes.values()].map(interrupt))
  }

  /** Resolves when no turn runs and nothing waits. */
  async idle(): Promise<void> {
    for (;;) {
      const busy = [...this.#lanes.values()].filter((lane) => lane.busy)
      if (busy.length === 0 && this.#offers.isIdle) return
      await Promise.all([...busy.map((lane) => lane.work), this.#offers.idle()])
    }
  }

  #laneOf(key: string): Lane {
    let lane = this.#lanes.get(key)
    if (!lane) {
      lane = {
        waiting: [],
        placing: [],
        dropped: [],
        lastOfferAt: 0,
        turn: undefined,
        taken: [],
        isEndRequested: false,
        isStopped: false,
        busy: false,
        work: undefined,
      }
      this.#lanes.set(key, lane)
    }
    return lane
  }

  /** An input for a busy lane joins the turn, waits, or interrupts it, by the settings. */
  async #place(lane: Lane, offer: Offer): Promise<void> {
    const { input } = offer
    const isForgotten = (): boolean => !lane.placing.includes(offer)
    const settings = await this.#options.settings(input.lane, input)
    lane.settings = settings
    const { mode } = settings
    if (isForgotten()) return
    const mayJoin = this.#options.mayJoin(input, lane.taken)
    if (lane.turn && mayJoin && lane.waiting.length === 0 && mode.startsWith('steer')) {
      const joined = await lane.turn.steer(input)
      if (joined && mode === 'steer') return
    }
    if (isForgotten()) return
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
    // A caller waits for the answer to a question; only messages of chats are dropped.
    const messages = lane.waiting.filter(({ turnOptions }) => turnOptions === undefined)
    const excess = messages.length - settings.cap
    if (excess <= 0) return
    const dropped = settings.drop === 'new' ? messages.slice(-excess) : messages.slice(0, excess)
    lane.waiting = lane.waiting.filter((input) => !dropped.includes(input))
    const isSummarized = settings.drop === 'summarize'
    if (isSummarized) lane.dropped.push(...dropped.map((input) => input.message.text))
    await this.#options.drop(dropped, isSummarized)
  }

  #wake(key: string, lane: Lane): void {
    if (lane.busy || this.#stopped) return
    lane.busy = true
    lane.work = this.#run(key, lane).catch((error: unknown) => this.#options.onError(key, error))
  }

  async #run(key: string, lane: Lane): Promise<void> {
    try {
      while (lane.waiting.length > 0 && !this.#stopped) {
        if (isCollecting(lane.settings)) await this.#debounce(lane, lane.settings)
        if (!this.#stopped) await this.#takeNext(key, lane)
      }
    } finally {
      lane.busy = false
      this.#removeIfEmpty(key, lane)
      this.#options.onIdle?.(key)
    }
  }

  #removeIfEmpty(key: string, lane: Lane): void {
    const isEmpty = !lane.busy && lane.waiting.length + lane.placing.length === 0
    // After a failure a new lane may have its key while an input of the former one was being placed.
    if (isEmpty && this.#lanes.get(key) === lane) this.#lanes.delete(key)
  }

  async #takeNext(key: string, lane: Lane): Promise<void> {
    const inputs = this.#nextBatch(lane)
    const dropped = lane.dropped.splice(0)
    if (inputs.length === 0) return
    lane.taken = inputs
    const onStart = (turn: TurnControls): void => {
      lane.turn = turn
      if (lane.isEndRequested) void turn.interrupt()
    }
    try {
      const unanswered = await this.#options.take({ lane: key, inputs, dropped }, onStart)
      if (!lane.isStopped) lane.waiting.unshift(...unanswered)
      else if (unanswered.length > 0) await this.#options.cancel(unanswered)
    } finally {
      lane.turn = undefined
      lane.taken = []
      lane.isEndRequested = false
      lane.isStopped = false
    }
  }

  /** In collect and interrupt mode all waiting inputs of one chat; otherwise one. */
  #nextBatch(lane: Lane): WaitingInput[] {
    const first = lane.waiting.shift()
    if (!first) return []
    const batch = [first]
    const collects = isCollecting(lane.settings) && this.#options.mayJoin(first, [])
    const isNext = (input: WaitingInput | undefined): boolean =>
      collects && input !== undefined && isSameChat(first, input) && this.#options.mayJoin(input, [first])
    while (isNext(lane.waiting[0])) batch.push(lane.waiting.shift()!)
    return batch
  }

  /** People write in bursts: in these modes a batch waits until no input has arrived for a moment. */
  async #debounce(lane: Lane, settings: QueueSettings): Promise<void> {
    const { clock } = this.#options
    for (;;) {
      const quietFor = clock.monotonic() - lane.lastOfferAt
      const rest = settings.debounceMs - quietFor
      if (rest <= 0 || this.#stopped) return
      await sleep(clock, rest)
    }
  }
}

/** In these modes one turn takes all inputs that wait. */
function isCollecting(settings: QueueSettings | undefined): settings is QueueSettings {
  return settings?.mode === 'collect' || settings?.mode === 'interrupt'
}

/** The inputs that wait or are being placed. */
function waitingIn(lane: Lane): WaitingInput[] {
  return [...lane.waiting, ...lane.placing.map(({ input }) => input)]
}

/** Resolves to the inputs that waited or were being placed. */
async function empty(lane: Lane): Promise<WaitingInput[]> {
  const inputs = waitingIn(lane)
  lane.waiting = []
  lane.placing = []
  lane.dropped = []
  await interrupt(lane)
  return inputs
}

/** Ends the turn that runs or is about to start. */
async function interrupt(lane: Lane): Promise<void> {
  lane.isEndRequested = lane.taken.length > 0
  await lane.turn?.interrupt()
}

function isSameChat(a: WaitingInput, b: WaitingInput): boolean {
  const hasOptions = a.turnOptions !== undefined || b.turnOptions !== undefined
  return !hasOptions && chatKey(a.message.address) === chatKey(b.message.address)
}
