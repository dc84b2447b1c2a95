// One row of the outbox to its platform, as a message of its own or into one that is there. Whatever happens, the outcome
// says what is known.
import type { Channel, SendOptions, SendOutcome } from '../domain/channel.ts'
import type { Clock } from '../domain/clock.ts'
import type { Delivery } from '../domain/reply.ts'
import type { Outbox, OutboxRow } from '../store/work-store.ts'
import { Continued } from './growing-message.ts'
import { makeRedactor } from '../domain/redact.ts'

export interface SendParts {
  outbox: Outbox
  clock: Clock
  sendTimeoutMs?: number
}

export class RowSender {
  #parts: SendParts
  #continued = new Continued()

  constructor(parts: SendParts) {
    this.#parts = parts
  }

  /** Would it go into a message that is there already? Then it can be sent twice without harm. */
  isEdit(delivery: Delivery, channel: Channel): boolean {
    return delivery.replacesMessageId !== undefined || this.#continued.joins(delivery, channel) !== undefined
  }

  async send(channel: Channel, row: OutboxRow): Promise<SendOutcome> {
    const timeout = Promise.withResolvers<SendOutcome>()
    const cancel = this.#parts.clock.after(this.#parts.sendTimeoutMs ?? 60_000, () =>
      timeout.resolve({ kind: 'unknown', reason: `${channel.name} did not answer.` }),
    )
    try {
      return withoutSecrets(await this.#sendOrEdit(channel, row, timeout.promise))
    } catch (error) {
      const reason = error instanceof Error ? error.message : String(error)
      return withoutSecrets({ kind: 'unknown', reason })
    } finally {
      cancel()
    }
  }

  async #sendOrEdit(channel: Channel, row: OutboxRow, late: Promise<SendOutcome>): Promise<SendOutcome> {
    const { address, reply, replacesMessageId } = row.delivery
    const joins = this.#continued.joins(row.delivery, channel)
    const messageId = replacesMessageId ?? joins?.messageId
    if (messageId !== undefined && channel.edit) {
      const whole = joins ? { text: joins.text } : reply
      const edited = await Promise.race([channel.edit(address, messageId, whole), late])
      if (edited.kind === 'sent') this.#continued.sent(row.delivery, [messageId], whole.text)
      if (edited.kind !== 'refused')
        return edited.kind === 'sent' ? { ...edited, messageIds: [messageId] } : edited
      // The message is gone; then the reply is one of its own.
    }
    const outcome = await Promise.race([channel.send(address, reply, this.#optionsFor(row)), late])
    this.#continued.sent(row.delivery, outcome.kind === 'sent' ? outcome.messageIds : [])
    return outcome
  }

  #optionsFor(row: OutboxRow): SendOptions {
    const { id, idempotencyKey } = row.delivery
    return {
      idempotencyKey,
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

/** The reason goes into the prompt, into notes to owners and into `status`; a platform's words may hold the bot's address and token. */
function withoutSecrets(outcome: SendOutcome): SendOutcome {
  return 'reason' in outcome ? { ...outcome, reason: everything(outcome.reason) } : outcome
}
