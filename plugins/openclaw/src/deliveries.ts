// Rockpool's messages on their way to a chat: sent once for each key, also when Rockpool repeats a delivery or one of the two
// programs has crashed.
import { KeyedQueue } from '../../../src/domain/async.ts'
import { sendToChat, wakeAgent } from './chat.ts'
import type { Buttons } from './chat.ts'
import type { Journal } from './journal.ts'
import type { OpenClawApi } from './openclaw-api.ts'
import type { Target } from './origin.ts'

export interface Delivery {
  id: string
  /** The same for every repetition. */
  key: string
  target: Target
  text: string
  buttons?: Buttons
  /** The agent of the chat takes a turn: the session waits or has ended. */
  wake?: boolean
}

/** The acknowledgement of a delivery for Rockpool. */
interface Outcome {
  id: string
  messageIds?: string[]
  refused?: string
  retryAfterMs?: number
}

interface DeliveryParts {
  api: OpenClawApi
  journal: Journal
  warn: (text: string) => void
}

export class Deliveries {
  readonly #parts: DeliveryParts
  /** One after another in each chat, so that messages keep their order and a repetition finds the journal written. */
  readonly #queue = new KeyedQueue()

  constructor(parts: DeliveryParts) {
    this.#parts = parts
  }

  deliver(delivery: Delivery): Promise<Outcome> {
    const { channel, to, threadId, sessionKey } = delivery.target
    const chat = JSON.stringify([channel, to, threadId, sessionKey])
    return this.#queue.run(chat, () => this.#deliverNow(delivery))
  }

  /** Resolves when nothing is being sent. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  async #deliverNow(delivery: Delivery): Promise<Outcome> {
    const { id, key, target } = delivery
    const { api, journal, warn } = this.#parts
    const known = journal.find(key)
    if (known?.state === 'sent') return { id, messageIds: known.messageIds }
    const isMaybeSecond = known?.state === 'sending'
    journal.write({ key, state: 'sending' })
    let messageIds: string[]
    try {
      const marked = isMaybeSecond ? `(maybe a second copy)\n${delivery.text}` : delivery.text
      messageIds = await sendToChat(api, target, marked, delivery.buttons)
    } catch (error) {
      if (!isUncertain(error)) journal.write({ key, state: 'failed' })
      warn(`A message for ${target.channel ?? 'the web chat'} could not be sent: ${String(error)}`)
      return { id, retryAfterMs: 5_000 }
    }
    journal.write({ key, state: 'sent', messageIds })
    // Not awaited: in 2026.1.30 it takes seconds, and the message has arrived.
    if (delivery.wake) void this.#wake(delivery)
    return { id, messageIds }
  }

  /** The person has the message already, so a failure is only reported. */
  async #wake({ target, text, key }: Delivery): Promise<void> {
    const { api, warn } = this.#parts
    await wakeAgent(api, target, text, key).catch((error: unknown) =>
      warn(`The agent ${target.agentId} could not be woken: ${String(error)}`),
    )
  }
}

/** The message may have arrived although the send failed. */
function isUncertain(error: unknown): boolean {
  return /time[d-]? ?out|abort|ECONNRESET|socket hang up|terminated/i.test(String(error))
}
