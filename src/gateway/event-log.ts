// The last events, numbered, so that a client that was disconnected can catch up or learn that events are missing. Each
// event is turned into a frame once, for all listeners. The log keeps text: a frame in it would keep the memory of its copies.
import type { Events, RockpoolEvent } from '../domain/events.ts'
import { jsonText } from '../domain/json.ts'
import { EventFrame } from './event-frame.ts'

interface StoredEvent {
  seq: number
  event: RockpoolEvent
  json: string
}

/** An event for listeners. */
export interface LoggedEvent extends Omit<StoredEvent, 'json'> {
  frame: EventFrame
}

/** Gets events in their order, several at once if it gets them late. */
type Listener = (events: readonly LoggedEvent[]) => void

export interface EventPosition {
  epoch: string
  seq: number
}

const maxEvents = 5000
const maxBytes = 4 * 1024 * 1024
/** Requests are answered between two slices of listeners: hundreds of open pages take some milliseconds. */
const sliceSize = 25
/** More listeners than one slice get what happened in this time together: a write to a socket takes longer than an event. */
const roundMs = 100

export class EventLog {
  readonly epoch: string
  #events: StoredEvent[] = []
  #bytes = 0
  #seq = 0
  #listeners = new Set<Listener>()
  /** Events that wait while earlier ones are sent. */
  #unsent: StoredEvent[] = []
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
  since(position: EventPosition): { gap: boolean; events: LoggedEvent[] } {
    if (position.epoch !== this.epoch || position.seq > this.#seq) return { gap: true, events: [] }
    const oldest = this.#events[0]?.seq ?? this.#seq + 1
    const gap = position.seq + 1 < oldest
    const missed = gap ? [] : this.#events.filter(({ seq }) => seq > position.seq)
    return { gap, events: this.#framed(missed) }
  }

  close(): void {
    this.#stop()
    this.#listeners.clear()
  }

  #add(event: RockpoolEvent): void {
    const logged = { seq: ++this.#seq, event, json: this.#mask(jsonText(event)) }
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
          const events = this.#framed(this.#unsent.splice(0))
          for (const listener of this.#listeners) listener(events)
        }
      }
    } finally {
      this.#isSending = false
    }
  }

  /** Begins in the next turn of the event loop: the caller whose request made the event gets its answer first. */
  async #sendRound(): Promise<void> {
    await new Promise((resolve) => setImmediate(resolve))
    const events = this.#framed(this.#unsent.splice(0))
    let count = 0
    for (const listener of this.#listeners) {
      if (++count % sliceSize === 0) await new Promise((resolve) => setImmediate(resolve))
      listener(events)
    }
    await new Promise((resolve) => setTimeout(resolve, roundMs).unref())
  }

  #framed(events: StoredEvent[]): LoggedEvent[] {
    const { epoch } = this
    return events.map(({ seq, event, json }) => ({ seq, event, frame: new EventFrame({ epoch, seq }, json) }))
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
