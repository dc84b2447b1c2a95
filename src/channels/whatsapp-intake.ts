// Takes in what WhatsApp sends: in order for each chat, and offered until it is durable. Messages that came while we
// were away are marked `append`: they are taken too, but not those that are old. The inbox knows which we had.
import type { Readable } from 'node:stream'
import type { WAMessage } from 'baileys'
import type { Message } from '../domain/message.ts'
import { KeyedQueue } from '../domain/async.ts'
import { errorText } from '../domain/errors.ts'
import { offerUntilTaken } from './offer-until-stored.ts'
import type { OfferParts } from './offer-until-stored.ts'
import type { Recent } from './recent-items.ts'
import { fetchWhatsappFile, hasMedia } from './whatsapp-files.ts'
import type { WhatsappJournal } from './whatsapp-journal.ts'
import { readWhatsappMessage } from './whatsapp-messages.ts'
import type { FindNumber, OwnIds } from './whatsapp-messages.ts'

export interface IntakeParts extends OfferParts {
  journal: Pick<WhatsappJournal, 'done'>
  recent: Recent<WAMessage>
  maxAgeMs: number
}

/** What the connection that a message came over can tell about it. */
export interface MessageLine {
  own: OwnIds
  findNumber: FindNumber
  groupTitle(jid: string): Promise<string | undefined>
  download(message: WAMessage): Promise<Readable>
}

export class WhatsappIntake {
  #parts: IntakeParts
  #lanes = new KeyedQueue()

  constructor(parts: IntakeParts) {
    this.#parts = parts
  }

  take(messages: WAMessage[], type: 'notify' | 'append', line: MessageLine): void {
    for (const source of messages) {
      const chat = source.key.remoteJid ?? ''
      void this.#lanes
        .run(chat, async () => {
          await this.#takeOne(source, type, line)
          if (source.key.id) await this.#parts.journal.done(source.key.id)
        })
        .catch((error: unknown) => {
          const reason = errorText(error)
          if (!this.#parts.signal.aborted)
            this.#parts.host.log.error(
              { event: 'whatsapp-message-failed', error: reason },
              'Could not process a WhatsApp message; it is tried again after a restart.',
            )
        })
    }
  }

  /** Resolves when everything that was begun is done. */
  finish(): Promise<void> {
    return this.#lanes.idle()
  }

  async #takeOne(source: WAMessage, type: 'notify' | 'append', line: MessageLine): Promise<void> {
    const { host, recent } = this.#parts
    const message = await readWhatsappMessage(source, line.own, line.findNumber)
    if (!message) return
    const chat = message.address.to
    if (type === 'append' && this.#isOld(message)) return
    recent.set(message.id, source)
    if (message.chatType === 'group') {
      const title = await line.groupTitle(chat)
      if (title) message.group = { title }
    }
    if (hasMedia(source) && host.takesMedia(message))
      await fetchWhatsappFile(source, message, (one) => line.download(one), host)
    await offerUntilTaken(message, this.#parts)
  }

  #isOld(message: Message): boolean {
    const { host, maxAgeMs } = this.#parts
    const isOld = host.clock.now() - message.sentAt > maxAgeMs
    if (isOld) {
      const { sender, sentAt, id } = message
      host.log.warn(
        { event: 'whatsapp-message-too-old', id, from: sender.id, sentAt },
        'Skipped a message that arrived while offline and is too old to answer.',
      )
    }
    return isOld
  }
}
