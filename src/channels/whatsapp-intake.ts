// Passes on what WhatsApp sends: in order for each chat, with its file, retried until it is durable. Messages that arrived
// while we were offline have the type `append`; old ones among them are skipped, and the inbox ignores those that it has.
import { downloadContentFromMessage, getContentType, normalizeMessageContent } from 'baileys'
import type { WAMessage, proto, WASocket } from 'baileys'
import type { Readable } from 'node:stream'
import { KeyedQueue } from '../domain/async.ts'
import { errorText, RockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { IntakeParts } from './base-channel.ts'
import type { BoundedMap } from './bounded-map.ts'
import { addFile } from './received-files.ts'
import { untilStored } from './retry.ts'
import type { WhatsappJournal } from './whatsapp-journal.ts'
import { readWhatsappMessage, type FindNumber, type OwnIds } from './whatsapp-messages.ts'

interface WhatsappIntakeParts extends IntakeParts {
  journal: Pick<WhatsappJournal, 'done'>
  /** Received messages by id, for quoting them in a reply. */
  recent: BoundedMap<WAMessage>
  maxAgeMs: number
}

/** Answers questions about a message, through the connection that it came over. */
export interface MessageConnection {
  own: OwnIds
  findNumber: FindNumber
  groupTitle(jid: string): Promise<string | undefined>
  download(message: WAMessage): Promise<Readable>
}

export class WhatsappIntake {
  #parts: WhatsappIntakeParts
  #lanes = new KeyedQueue()

  constructor(parts: WhatsappIntakeParts) {
    this.#parts = parts
  }

  take(messages: WAMessage[], type: 'notify' | 'append', connection: MessageConnection): void {
    for (const source of messages) {
      const chat = source.key.remoteJid ?? ''
      void this.#lanes
        .run(chat, async () => {
          await this.#takeOne(source, type, connection)
          if (source.key.id) await this.#parts.journal.done(source.key)
        })
        .catch((error: unknown) => {
          if (this.#parts.signal.aborted) return
          this.#parts.host.log.error(
            { event: 'whatsapp-message-failed', error: errorText(error) },
            'Could not process a WhatsApp message; it is tried again after a restart.',
          )
        })
    }
  }

  /** Resolves when all messages received so far are processed. */
  finish(): Promise<void> {
    return this.#lanes.idle()
  }

  async #takeOne(source: WAMessage, type: 'notify' | 'append', connection: MessageConnection): Promise<void> {
    const { host, recent } = this.#parts
    const message = await readWhatsappMessage(source, connection.own, connection.findNumber)
    if (!message) return
    if (type === 'append' && this.#isOld(message)) return
    recent.set(message.id, source)
    if (message.chatType === 'group') {
      const title = await connection.groupTitle(message.address.to)
      if (title) message.group = { title }
    }
    const file = mediaOf(source)
    if (file && (await host.takesMedia(message)))
      await addFile(message, host, async () => {
        const name = 'fileName' in file.part ? (file.part.fileName ?? undefined) : undefined
        const mimeType = file.part.mimetype ?? undefined
        return host.media.keep(await connection.download(source), { name, mimeType })
      })
    await untilStored(() => this.#parts.accept(message), this.#parts)
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

/** Kinds of content that are a file. */
const mediaTypes = ['image', 'video', 'audio', 'document', 'sticker'] as const

type MediaType = (typeof mediaTypes)[number]

type MediaContent = NonNullable<proto.IMessage[`${MediaType}Message`]>

/** Downloads a file from WhatsApp's own media servers: a message may name any host, and Baileys would contact it. Baileys gets only
 *  the path that was checked, because it would take the file from another part of a message that has several. */
export async function downloadOver(socket: WASocket, source: WAMessage): Promise<Readable> {
  const file = mediaOf(source)
  // `@elsewhere/x` after the host name would turn the host into a password and name another host.
  if (!file?.part.directPath?.startsWith('/'))
    throw new RockpoolError('refused', 'it is not on a server of WhatsApp.')
  const { directPath, mediaKey } = file.part
  const { hosts } = await socket.refreshMediaConn()
  const host = hosts[0]?.hostname ?? socket.getMediaHost()
  return downloadContentFromMessage({ directPath, mediaKey }, file.type, { host })
}

function mediaOf(source: WAMessage): { type: MediaType; part: MediaContent } | undefined {
  const content = normalizeMessageContent(source.message)
  const named = getContentType(content ?? undefined)
  const type = mediaTypes.find((one) => named === `${one}Message`)
  const part = type && content?.[`${type}Message`]
  return part ? { type, part } : undefined
}
