// Sends replies over a WhatsApp socket. We choose the id of each message, from the idempotency key: whoever gets the
// same id twice sees one message. A message counts as sent when the server has said that it has it.
import { createHash } from 'node:crypto'
import type { AnyMessageContent, WAMessage, WASocket } from 'baileys'
import type { Address } from '../domain/address.ts'
import type { ChannelHost, OutgoingFile, SendOptions, SendOutcome } from '../domain/channel.ts'
import type { Reply } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'
import { toWhatsapp } from './formatting.ts'
import type { PartOutcome } from './message-parts.ts'
import { PartSender } from './message-parts.ts'
import { jidOf, ownMessageId } from './whatsapp-messages.ts'

/** What the sender needs of the connection: there may be none just now. */
export interface WhatsappLine {
  connection(): { socket: WASocket; closed: Promise<void> } | undefined
  /** A message that was received, to quote it. */
  received(id: string): WAMessage | undefined
}

const ackMs = 20_000

export class WhatsappSender {
  #line: WhatsappLine
  #host: ChannelHost
  #limit: number
  #parts = new PartSender()

  constructor(line: WhatsappLine, host: ChannelHost, limit: number) {
    this.#line = line
    this.#host = host
    this.#limit = limit
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const quoted = reply.replyToId === undefined ? undefined : this.#line.received(reply.replyToId)
    const parts = () => this.#partsOf(reply)
    return this.#parts.send(address.to, options, parts, (part, { index }) => {
      const hash = createHash('sha256').update(`${index}\0${options.idempotencyKey}`).digest('hex')
      return this.#sendPart(jidOf(address.to), part, ownMessageId(hash), index === 0 ? quoted : undefined)
    })
  }

  async edit(address: Address, messageId: string, reply: Reply): Promise<SendOutcome> {
    const text = toWhatsapp(reply.text ?? '')
    const jid = jidOf(address.to)
    const content = { text, edit: { remoteJid: jid, id: messageId, fromMe: true } }
    const hash = createHash('sha256').update(`${messageId}\0${text}`).digest('hex')
    const outcome = await this.#sendPart(jid, content, ownMessageId(hash), undefined)
    return outcome.kind === 'sent' ? { kind: 'sent', messageIds: [messageId] } : outcome
  }

  async #sendPart(
    jid: string,
    content: AnyMessageContent,
    messageId: string,
    quoted: WAMessage | undefined,
  ): Promise<PartOutcome> {
    const connection = this.#line.connection()
    if (!connection) return { kind: 'retry', reason: 'WhatsApp is not connected' }
    const { socket, closed } = connection
    const acknowledged = socket
      .waitForMessage<{ attrs: Record<string, string> }>(messageId, ackMs)
      .catch(() => undefined)
    try {
      await socket.sendMessage(jid, content, { messageId, ...(quoted ? { quoted } : {}) })
    } catch (error) {
      return outcomeOfFailure(error)
    }
    // Baileys keeps waiting for an answer on a closed connection; we do not.
    const answer = await Promise.race([acknowledged, closed.then(() => undefined)])
    if (!answer) return { kind: 'unknown', reason: 'WhatsApp did not confirm the message' }
    const refusal = answer.attrs['error']
    return refusal === undefined ? { kind: 'sent', messageId } : outcomeOfRefusal(refusal)
  }

  async #partsOf(reply: Reply): Promise<AnyMessageContent[]> {
    const parts: AnyMessageContent[] = []
    if (reply.text?.trim()) {
      parts.push(...splitText(toWhatsapp(reply.text), this.#limit).map((text) => ({ text })))
    }
    for (const path of reply.media ?? []) {
      parts.push(fileContent(await this.#host.media.outgoing(path), reply.audioAsVoice === true))
    }
    return parts
  }
}

function fileContent(file: OutgoingFile, asVoice: boolean): AnyMessageContent {
  const source = { url: file.path }
  if (file.kind === 'image') return { image: source, mimetype: file.mimeType }
  if (file.kind === 'video') return { video: source, mimetype: file.mimeType }
  if (file.kind === 'audio') return { audio: source, mimetype: file.mimeType, ptt: asVoice }
  return { document: source, mimetype: file.mimeType, fileName: file.name }
}

/** WhatsApp does not say how long to wait; the outbox waits longer each time. */
function outcomeOfRefusal(code: string): PartOutcome {
  if (code === '429') return { kind: 'retry', reason: 'WhatsApp asked us to wait' }
  if (code.startsWith('5')) return { kind: 'retry', reason: `WhatsApp is in trouble (${code})` }
  return { kind: 'refused', reason: `WhatsApp refused the message (${code})` }
}

/** A connection that is gone cannot have taken the message; everything else may or may not have. */
function outcomeOfFailure(error: unknown): PartOutcome {
  const status = statusOf(error)
  if (status === 428) return { kind: 'retry', reason: 'WhatsApp is not connected' }
  if (status === 404 || status === 406)
    return { kind: 'refused', reason: 'WhatsApp does not know this number or group' }
  // A file is uploaded before its message is sent; without it nothing was sent.
  if (error instanceof Error && error.message.startsWith('Media upload failed'))
    return { kind: 'retry', reason: 'WhatsApp did not take the file' }
  return { kind: 'unknown', reason: describeFailure(error) }
}

export function statusOf(error: unknown): number | undefined {
  if (typeof error !== 'object' || error === null || !('output' in error)) return undefined
  const { output } = error as { output?: { statusCode?: number } }
  return output?.statusCode
}

export function describeFailure(error: unknown): string {
  const status = statusOf(error)
  const words = error instanceof Error ? error.message : 'unknown failure'
  return status === undefined ? words : `${words} (${status})`
}
