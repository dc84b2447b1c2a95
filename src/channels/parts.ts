// A reply that needs several platform messages: long text, files. They are sent one after another, and a repeat goes
// on where the last try stopped, so that nobody gets the first half twice.
import type { SendOutcome } from '../domain/channel.ts'
import { Lanes } from './lanes.ts'

export type PartOutcome = { kind: 'sent'; messageId: string } | Exclude<SendOutcome, { kind: 'sent' }>

/** `first` is true for the part that this try begins with: the one that may have arrived before. */
type SendPart<Part> = (part: Part, index: number, first: boolean) => Promise<PartOutcome>

/** What a platform without idempotent sending puts before a part that may have arrived already. */
export const resentMark = '(resent after an interruption)'

const remembered = 1_000

export class PartSender {
  #sent = new Map<string, string[]>()
  #lanes = new Lanes()

  /** Sends what is left of `parts`. Replies in the same `lane` (a chat) never mix. */
  send<Part>(lane: string, key: string, parts: Part[], sendOne: SendPart<Part>): Promise<SendOutcome> {
    return this.#lanes.run(lane, () => this.#sendParts(key, parts, sendOne))
  }

  async #sendParts<Part>(key: string, parts: Part[], sendOne: SendPart<Part>): Promise<SendOutcome> {
    const done = this.#sent.get(key) ?? []
    const first = done.length
    while (done.length < parts.length) {
      const outcome = await sendOne(parts[done.length]!, done.length, done.length === first)
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
