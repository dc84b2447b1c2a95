// Sends one row of the outbox to its platform, as a new message or as an edit of an existing one. The outcome tells what is
// known, also after a timeout or an error.
import { chatKey } from '../domain/address.ts'
import type { Channel, SendOptions, SendOutcome } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import type { Delivery } from '../domain/reply.ts'
import type { Outbox, OutboxRow } from '../store/work-store.ts'
import { makeRedactor } from '../domain/redact.ts'
import { errorText } from '../domain/errors.ts'

const sendTimeoutMs = 60_000

export interface SendParts {
  outbox: Outbox
  clock: Clock
}

export class RowSender {
  #parts: SendParts
  #growing = new GrowingMessages()

  constructor(parts: SendParts) {
    this.#parts = parts
  }

  /** Would this edit an existing message? Then it can be sent twice without harm. */
  isEdit(delivery: Delivery, channel: Channel): boolean {
    return delivery.replacesMessageId !== undefined || this.#growing.joins(delivery, channel) !== undefined
  }

  async send(channel: Channel, row: OutboxRow): Promise<SendOutcome> {
    try {
      return withoutSecrets(await this.#sendOrEdit(channel, row))
    } catch (error) {
      return withoutSecrets({ kind: 'unknown', reason: errorText(error) })
    }
  }

  async #sendOrEdit(channel: Channel, row: OutboxRow): Promise<SendOutcome> {
    const { address, reply, replacesMessageId } = row.delivery
    const joins = this.#growing.joins(row.delivery, channel)
    const messageId = replacesMessageId ?? joins?.messageId
    if (messageId !== undefined && channel.edit) {
      const whole = joins ? { text: joins.text } : reply
      const edited = await this.#inTime(channel, channel.edit(address, messageId, whole))
      if (edited.kind === 'sent') this.#growing.sent(row.delivery, [messageId], whole.text)
      if (edited.kind !== 'refused')
        return edited.kind === 'sent' ? { ...edited, messageIds: [messageId] } : edited
      // The message was deleted, so send a new one.
    }
    const outcome = await this.#inTime(channel, channel.send(address, reply, this.#optionsFor(row)))
    this.#growing.sent(row.delivery, outcome.kind === 'sent' ? outcome.messageIds : [])
    return outcome
  }

  /** The platform's answer, or a timeout. An answer after the timeout is ignored. */
  #inTime({ name }: Channel, answer: Promise<SendOutcome>): Promise<SendOutcome> {
    return new Promise((resolve, reject) => {
      const cancel = this.#parts.clock.after(sendTimeoutMs, () =>
        resolve({ kind: 'unknown', reason: `${name} did not answer.` }),
      )
      void answer.then(resolve, reject).then(cancel)
    })
  }

  #optionsFor(row: OutboxRow): SendOptions {
    const { id, idempotencyKey, sessionKey, continues } = row.delivery
    return {
      idempotencyKey,
      sessionKey,
      isOutput: continues !== undefined,
      resent: row.resent,
      sentIds: row.messageIds,
      onPart: async (messageId) => {
        const messageIds = [...row.messageIds, messageId]
        await this.#parts.outbox.change(id, { state: 'attempting', messageIds })
        row.messageIds = messageIds
      },
    }
  }
}

const { everything } = makeRedactor()

/** The agent, the owners and `status` show the reason; a platform's text may contain the bot's token. */
function withoutSecrets(outcome: SendOutcome): SendOutcome {
  return 'reason' in outcome ? { ...outcome, reason: everything(outcome.reason) } : outcome
}

interface Growing {
  stream: string
  messageId: string
  text: string
}

/**
 * Streamed output is one message that grows, where the platform can edit: a delivery is added to the last message of its
 * stream, if nothing else was sent to the chat since and the text fits.
 */
class GrowingMessages {
  /** The last message of each chat; after a restart every stream starts a new one. */
  #last = new Map<string, Growing>()

  /** The message to which this delivery is added, with its whole text. */
  joins({ address, reply, continues }: Delivery, channel: Channel): Omit<Growing, 'stream'> | undefined {
    if (continues === undefined || !channel.abilities.edits) return undefined
    const last = this.#last.get(chatKey(address))
    if (last?.stream !== continues) return undefined
    const text = `${last.text}\n${reply.text ?? ''}`
    const isPlain = !reply.media && !reply.buttons
    return isPlain && text.length <= channel.abilities.maxTextLength
      ? { messageId: last.messageId, text }
      : undefined
  }

  sent({ address, reply, continues }: Delivery, messageIds: string[], wholeText = reply.text ?? ''): void {
    const chat = chatKey(address)
    const [messageId, ...others] = messageIds
    if (continues === undefined || messageId === undefined || others.length > 0) this.#last.delete(chat)
    else this.#last.set(chat, { stream: continues, messageId, text: wholeText })
  }
}

/** Does the platform still recognise the key? Then people see one message, however often it is sent. */
export function isRecognisedByKey({ createdAt }: Delivery, { abilities }: Channel, now: number): boolean {
  const { idempotentSend, idempotentForMs = Infinity } = abilities
  return idempotentSend === true && now - createdAt < idempotentForMs
}

/** True if the second copy, marked as resent, was sent too. A person must never see a third copy. */
export function isLastCopySent({ delivery, resent, attempts }: OutboxRow, isRepeatable: boolean): boolean {
  const { repeats = 1 } = delivery
  return resent && !isRepeatable && (repeats <= 1 || attempts > repeats)
}
