// A reply that needs several platform messages: long text, files. They are sent one after another. A retry continues
// after the last part that was sent, also after a crash, so that no part is sent twice.
import type { SendOptions, SendOutcome } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import { KeyedQueue } from '../domain/async.ts'

export type PartOutcome =
  | { kind: 'sent'; messageId: string; sentAt?: number }
  | Exclude<SendOutcome, { kind: 'sent' }>

interface Place {
  index: number
  isLast: boolean
  /** The first part of this attempt; it may have arrived in an earlier attempt. */
  isFirstTried: boolean
}

type SendPart<Part> = (part: Part, place: Place) => Promise<PartOutcome>

/** Precedes a part that may have arrived already, on platforms without idempotent sending. */
export const resentMark = '(resent after an interruption)'

/** The length of the mark, including its line break. */
export const markLength = resentMark.length + 1

/** The text of a part, with the mark if it may be a duplicate. */
export function marked(text: string, isSecondCopy: boolean): string {
  return isSecondCopy ? `${resentMark}\n${text}`.trimEnd() : text
}

export class PartSender {
  #lanes = new KeyedQueue()

  /** Sends the parts that are not sent yet. The parts of two replies in one `lane` (a chat) are never interleaved. */
  async send<Part>(
    lane: string,
    options: SendOptions,
    makeParts: () => Promise<Part[]>,
    sendOne: SendPart<Part>,
  ): Promise<SendOutcome> {
    let parts: Part[]
    try {
      parts = await makeParts()
    } catch (error) {
      // For example a file that must not be sent.
      if (error instanceof RockpoolError) return { kind: 'refused', reason: error.message }
      throw error
    }
    if (parts.length === 0) return { kind: 'refused', reason: 'the reply is empty' }
    return this.#lanes.run(lane, () => sendParts(options, parts, sendOne))
  }
}

async function sendParts<Part>(
  { sentIds = [], onPart }: SendOptions,
  parts: Part[],
  sendOne: SendPart<Part>,
): Promise<SendOutcome> {
  const done = [...sentIds]
  let sentAt: number | undefined
  while (done.length < parts.length) {
    const index = done.length
    const isLast = index === parts.length - 1
    const outcome = await sendOne(parts[index]!, { index, isLast, isFirstTried: index === sentIds.length })
    if (outcome.kind !== 'sent') return withProgress(outcome, index, parts.length)
    done.push(outcome.messageId)
    sentAt = outcome.sentAt
    if (!isLast) await onPart?.(outcome.messageId)
  }
  return { kind: 'sent', messageIds: done, sentAt }
}

function withProgress<T extends { reason: string }>(outcome: T, done: number, all: number): T {
  return done === 0 ? outcome : { ...outcome, reason: `${done} of ${all} parts were sent; ${outcome.reason}` }
}
