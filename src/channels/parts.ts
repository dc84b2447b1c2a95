// A reply that needs several platform messages: long text, files. They are sent one after another, and a repeat goes
// on where the last try stopped, so that nobody gets the first half twice.
import type { SendOutcome } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import { Lanes } from './lanes.ts'

export type PartOutcome = { kind: 'sent'; messageId: string } | Exclude<SendOutcome, { kind: 'sent' }>

interface Place {
  index: number
  isLast: boolean
  /** This try begins with it: the one that may have arrived before. */
  isFirstTried: boolean
}

type SendPart<Part> = (part: Part, place: Place) => Promise<PartOutcome>

/** What a platform without idempotent sending puts before a part that may have arrived already. */
export const resentMark = '(resent after an interruption)'

const remembered = 1_000

export class PartSender {
  #sent = new Map<string, string[]>()
  #lanes = new Lanes()

  /** Sends what is left of the parts. Replies in the same `lane` (a chat) never mix. */
  async send<Part>(
    lane: string,
    key: string,
    makeParts: () => Promise<Part[]>,
    sendOne: SendPart<Part>,
  ): Promise<SendOutcome> {
    let parts: Part[]
    try {
      parts = await makeParts()
    } catch (error) {
      // A file that may not leave, for example.
      if (error instanceof RockpoolError) return { kind: 'refused', reason: error.message }
      throw error
    }
    if (parts.length === 0) return { kind: 'refused', reason: 'the reply is empty' }
    return this.#lanes.run(lane, () => this.#sendParts(key, parts, sendOne))
  }

  async #sendParts<Part>(key: string, parts: Part[], sendOne: SendPart<Part>): Promise<SendOutcome> {
    const done = this.#sent.get(key) ?? []
    const first = done.length
    while (done.length < parts.length) {
      const index = done.length
      const place = { index, isLast: index === parts.length - 1, isFirstTried: index === first }
      const outcome = await sendOne(parts[index]!, place)
      if (outcome.kind === 'sent') done.push(outcome.messageId)
      else {
        if (outcome.kind === 'refused') this.#sent.delete(key)
        else this.#remember(key, done)
        return withProgress(outcome, done.length, parts.length)
      }
    }
    this.#sent.delete(key)
    return { kind: 'sent', messageIds: done }
  }

  #remember(key: string, done: string[]): void {
    this.#sent.delete(key)
    this.#sent.set(key, done)
    const [oldest] = this.#sent.keys()
    if (this.#sent.size > remembered && oldest !== undefined) this.#sent.delete(oldest)
  }
}

function withProgress<T extends { reason: string }>(outcome: T, done: number, all: number): T {
  return done === 0 ? outcome : { ...outcome, reason: `${done} of ${all} parts were sent; ${outcome.reason}` }
}
