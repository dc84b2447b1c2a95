// The last events, numbered, so that a client that was disconnected can catch up or learn that events are missing. Each
// event is turned into text once, for all listeners.
import type { Events, RockpoolEvent } from '../domain/events.ts'
import { jsonText } from '../domain/json.ts'

export interface LoggedEvent {
  seq: number
  event: RockpoolEvent
  json: string
}

export interface EventPosition {
  epoch: string
  seq: number
}

const maxEvents = 5000
const maxBytes = 4 * 1024 * 1024
/** Requests are answered between two slices of listeners: hundreds of open pages take tens of milliseconds. */
const sliceSize = 50

export class EventLog {
  readonly epoch: string
  #events: LoggedEvent[] = []
  #bytes = 0
  #seq = 0
  #listeners = new Set<(logged: LoggedEvent) => void>()
  /** Events that wait while an earlier one is sent. */
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

  on(listener: (logged: LoggedEvent) => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The events after this position; `gap` if some of them are no longer stored. */
  since(position: EventPosition): { gap: boolean; events: LoggedEvent[] } {
    if (position.epoch !== this.epoch || position.seq > this.#seq) return { gap: true, events: [] }
    const oldest = this.#events[0]?.seq ?? this.#seq + 1
    const gap = position.seq + 1 < oldest
    return { gap, events: gap ? [] : this.#events.filter((logged) => logged.seq > position.seq) }
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

  /** With few listeners all get the event at once. */
  async #sendAll(): Promise<void> {
    this.#isSending = true
    try {
      for (let logged = this.#unsent.shift(); logged; logged = this.#unsent.shift()) await this.#send(logged)
    } finally {
      this.#isSending = false
    }
  }

  async #send(logged: LoggedEvent): Promise<void> {
    let count = 0
    for (const listener of this.#listeners) {
      if (++count % sliceSize === 0) await new Promise((resolve) => setImmediate(resolve))
      listener(logged)
    }
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
