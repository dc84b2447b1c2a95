// The last events, numbered, so that a client that was disconnected can catch up or learn that events are missing. Events are
// turned into frames once for all listeners that get the same ones. The log keeps text: a frame in it would keep the memory of its
// copies.
import type { Events, RockpoolEvent } from '../domain/events.ts'
import { jsonText } from '../domain/json.ts'
import type { EventFrames, EventText } from './event-frame.ts'

interface LoggedEvent extends EventText {
  event: RockpoolEvent
}

/** Events that listeners get together, in their order. */
export class EventBatch {
  readonly events: readonly LoggedEvent[]
  readonly #shared = new Map<string, EventFrames | undefined>()

  constructor(events: readonly LoggedEvent[]) {
    this.events = events
  }

  /** What `build` returns; built once for each audience. Listeners of one audience must get the same events. */
  framesFor(audience: string, build: () => EventFrames | undefined): EventFrames | undefined {
    if (!this.#shared.has(audience)) this.#shared.set(audience, build())
    return this.#shared.get(audience)
  }
}

type Listener = (batch: EventBatch) => void

export interface EventPosition {
  epoch: string
  seq: number
}

const maxEvents = 5000
const maxBytes = 4 * 1024 * 1024
/** Requests are answered between two slices of listeners: hundreds of open pages take some milliseconds. */
const sliceSize = 25
/** More listeners than one slice get what happened in this time together: a write to a socket takes longer than an event. */
const pauseMs = 100
/** The pause is at least this many times as long as the writes took: very many pages are updated later, and requests stay fast. */
const pauseShare = 10
const maxPauseMs = 2_000

export class EventLog {
  readonly epoch: string
  #events: LoggedEvent[] = []
  #bytes = 0
  #seq = 0
  #listeners = new Set<Listener>()
  /** Events that wait while earlier ones are sent. */
  #unsent: LoggedEvent[] = []
  #isSending = false
  #stop: () => void
  readonly #mask: (json: string) => string

  /** `epoch` identifies this run of the gateway; numbers of another run are not valid. */
  constructor(events: Events, epoch: string, mask: (json: string) => string) {
    this.#mask = mask
    this.epoch = epoch
    this.#stop = events.on((event) => this.#add(event))
  }

  get position(): EventPosition {
    return { epoch: this.epoch, seq: this.#seq }
  }

  on(listener: Listener): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The events after this position; `gap` if some of them are no longer stored. */
  since(position: EventPosition): { gap: boolean; missed: EventBatch } {
    if (position.epoch !== this.epoch || position.seq > this.#seq)
      return { gap: true, missed: new EventBatch([]) }
    const oldest = this.#events[0]?.seq ?? this.#seq + 1
    const gap = position.seq + 1 < oldest
    const missed = gap ? [] : this.#events.filter(({ seq }) => seq > position.seq)
    return { gap, missed: new EventBatch(missed) }
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
  }

  #add(event: RockpoolEvent): void {
    const logged = { epoch: this.epoch, seq: ++this.#seq, event, json: this.#mask(jsonText(event)) }
    this.#events.push(logged)
    this.#bytes += logged.json.length
    if (this.#events.length > maxEvents || this.#bytes > maxBytes) this.#trim()
    this.#unsent.push(logged)
    if (!this.#isSending) void this.#sendAll()
  }

  /** Few listeners get each event at once. */
  async #sendAll(): Promise<void> {
    this.#isSending = true
    try {
      while (this.#unsent.length > 0) {
        if (this.#listeners.size > sliceSize) await this.#sendRound()
        else {
          const batch = new EventBatch(this.#unsent.splice(0))
          for (const listener of this.#listeners) listener(batch)
        }
      }
    } finally {
      this.#isSending = false
    }
  }

  /** Begins in the next turn of the event loop: the caller whose request made the event gets its answer first. */
  async #sendRound(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    const batch = new EventBatch(this.#unsent.splice(0))
    const listeners = [...this.#listeners]
    let busyMs = 0
    for (let from = 0; from < listeners.length; from += sliceSize) {
      const began = performance.now()
      for (const listener of listeners.slice(from, from + sliceSize))
        if (this.#listeners.has(listener)) listener(batch)
      // Connections write to their sockets in the next tick.
      await new Promise<void>((resolve) => process.nextTick(resolve))
      busyMs += performance.now() - began
      await new Promise((resolve) => setImmediate(resolve))
    }
    const pause = Math.min(Math.max(pauseMs, busyMs * pauseShare), maxPauseMs)
    await new Promise((resolve) => setTimeout(resolve, pause).unref())
  }

  /** Drops a fifth of the events at once, so that trimming is rare. */
  #trim(): void {
    let drop = 0
    while (
      drop < this.#events.length &&
      (this.#events.length - drop > maxEvents * 0.8 || this.#bytes > maxBytes * 0.8)
    ) {
      this.#bytes -= this.#events[drop++]!.json.length
    }
    this.#events.splice(0, drop)
  }
}
