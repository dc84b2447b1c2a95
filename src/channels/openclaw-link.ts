// The connection to the plugin in OpenClaw. Deliveries and questions stay open until the plugin settles them; those that are
// open when the plugin connects again are offered to it again. If several plugins are connected, the newest gets everything,
// so that no message is sent by two.
import type { Clock } from '../domain/clock.ts'
import type { OpenClawDelivery, OpenClawEvent, OpenClawQuestion } from '../domain/openclaw-contract.ts'

/** The outcome of a delivery. With `retryAfterMs` the outbox offers it again later; with `refused` alone the delivery has failed
 *  for good. */
interface Acknowledgement {
  messageIds?: string[]
  refused?: string
  retryAfterMs?: number
}

export interface OpenClawAnswer {
  lines?: Array<{ role: 'user' | 'assistant'; text: string; at?: string }>
  hits?: Array<{ source: string; text: string }>
  error?: string
}

const deliveryMs = 30_000
const questionMs = 10_000

type Send = (event: OpenClawEvent) => void

interface Open {
  event: OpenClawEvent
  settle: (outcome: unknown) => void
}

export class OpenClawLink {
  #clock: Clock
  /** The newest is the last. */
  #connections: Send[] = []
  #open = new Map<string, Open>()
  #listeners = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get isConnected(): boolean {
    return this.#connections.length > 0
  }

  /** Called after the first plugin has connected or the last one has disconnected. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** The returned function disconnects. */
  connect(send: Send): () => void {
    this.#connections.push(send)
    this.#offerAgain()
    if (this.#connections.length === 1) this.#changed()
    return () => {
      const isNewest = this.#connections.at(-1) === send
      this.#connections = this.#connections.filter((other) => other !== send)
      if (!this.isConnected) this.#changed()
      else if (isNewest) this.#offerAgain()
    }
  }

  /** Undefined if the plugin does not answer in time: then it is unknown whether the message was sent. */
  deliver(delivery: OpenClawDelivery): Promise<Acknowledgement | undefined> {
    return this.#offer(delivery.id, { type: 'openclaw-delivery', delivery }, deliveryMs)
  }

  /** Undefined if no answer comes in time. */
  ask(question: OpenClawQuestion): Promise<OpenClawAnswer | undefined> {
    return this.#offer(question.id, { type: 'openclaw-question', question }, questionMs)
  }

  /** False if no such delivery is open. */
  acknowledge(id: string, acknowledgement: Acknowledgement): boolean {
    return this.#settle(id, 'openclaw-delivery', acknowledgement)
  }

  /** False if no such question is open. */
  answer(id: string, answer: OpenClawAnswer): boolean {
    return this.#settle(id, 'openclaw-question', answer)
  }

  async #offer<Outcome>(id: string, event: OpenClawEvent, ms: number): Promise<Outcome | undefined> {
    const { promise, resolve } = Promise.withResolvers<Outcome | undefined>()
    // Only `acknowledge` and `answer` settle, each with the type that belongs to its kind of event.
    const open: Open = { event, settle: (outcome) => resolve(outcome as Outcome) }
    const cancel = this.#clock.after(ms, () => resolve(undefined))
    this.#open.set(id, open)
    this.#connections.at(-1)?.(event)
    try {
      return await promise
    } finally {
      cancel()
      if (this.#open.get(id) === open) this.#open.delete(id)
    }
  }

  #settle(id: string, type: OpenClawEvent['type'], outcome: unknown): boolean {
    const open = this.#open.get(id)
    if (open?.event.type !== type) return false
    open.settle(outcome)
    return true
  }

  #offerAgain(): void {
    for (const { event } of this.#open.values()) this.#connections.at(-1)?.(event)
  }

  #changed(): void {
    for (const listener of this.#listeners) listener()
  }
}
