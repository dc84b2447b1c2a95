// Sends replies over a WhatsApp socket. We make the id of each message from the idempotency key: a phone that gets the
// same id twice shows one message. A message is sent when the server has acknowledged it.
import { createHash } from 'node:crypto'
import type { AnyMessageContent, WAMessage, WASocket } from 'baileys'
import type { Address } from '../domain/address.ts'
import type { ChannelHost, OutgoingFile, SendOptions, SendOutcome } from '../domain/channel.ts'
import type { Reply } from '../domain/reply.ts'
import { splitText } from '../domain/text.ts'
import { toWhatsapp } from './formatting.ts'
import { PartSender, type PartOutcome } from './message-parts.ts'
import { jidOf, ownMessageId } from './whatsapp-messages.ts'

/** What the sender needs of the channel. */
interface SendSource {
  /** Undefined while disconnected. */
  connection(): { socket: WASocket; closed: Promise<void> } | undefined
  /** A message that was received, to quote it. */
  received(id: string): WAMessage | undefined
}

const ackMs = 20_000

export class WhatsappSender {
  #source: SendSource
  #host: ChannelHost
  #limit: number
  #parts = new PartSender()

  constructor(source: SendSource, host: ChannelHost, limit: number) {
    this.#source = source
    this.#host = host
    this.#limit = limit
  }

  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome> {
    const quoted = reply.replyToId === undefined ? undefined : this.#source.received(reply.replyToId)
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
    const connection = this.#source.connection()
    if (!connection) return { kind: 'retry', reason: 'WhatsApp is not connected' }
    const { socket, closed } = connection
    const acknowledged = socket
      .waitForMessage<{ attrs: Record<string, string> }>(messageId, ackMs)
      .catch(() => undefined)
    try {
      await socket.sendMessage(jid, content, { messageId, quoted })
    } catch (error) {
      return outcomeOfFailure(error)
    }
    // Baileys would wait for the acknowledgement even after the connection is closed.
    const answer = await Promise.race([acknowledged, closed.then(() => undefined)])
    if (!answer) return { kind: 'unknown', reason: 'WhatsApp did not confirm the message' }
    const refusal = answer.attrs['error']
    if (refusal !== undefined) return outcomeOfRefusal(refusal)
    const seconds = Number(answer.attrs['t'])
    return { kind: 'sent', messageId, sentAt: seconds > 0 ? seconds * 1_000 : undefined }
  }

  async #partsOf(reply: Reply): Promise<AnyMessageContent[]> {
    const parts: AnyMessageContent[] = []
    if (reply.text?.trim()) {
      // Split as Markdown: in WhatsApp's formatting the first line of code stands beside its fence. Only tables grow when they are drawn.
      const pieces = splitText(reply.text, this.#limit).map((piece) => toWhatsapp(piece))
      parts.push(...pieces.flatMap((piece) => splitText(piece, this.#limit)).map((text) => ({ text })))
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

/** WhatsApp does not say how long to wait; the outbox increases the delay. */
function outcomeOfRefusal(code: string): PartOutcome {
  if (code === '429') return { kind: 'retry', reason: 'WhatsApp asked us to wait' }
  if (code.startsWith('5')) return { kind: 'retry', reason: `WhatsApp is in trouble (${code})` }
  return { kind: 'refused', reason: `WhatsApp refused the message (${code})` }
}

/** Without a connection the message was not sent; after other failures it may have been. */
function outcomeOfFailure(error: unknown): PartOutcome {
  const status = statusOf(error)
  if (status === 428) return { kind: 'retry', reason: 'WhatsApp is not connected' }
  if (status === 404 || status === 406)
    return { kind: 'refused', reason: 'WhatsApp does not know this number or group' }
  // The file is uploaded before the message; if that fails, nothing was sent.
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
