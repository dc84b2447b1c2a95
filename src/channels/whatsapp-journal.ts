// Stores each WhatsApp message before the server gets its confirmation. Baileys confirms a message as soon as it has
// decrypted it, so the journal is written during decryption. Messages that were not processed before a crash are
// processed after it.
import { cleanMessage, decodeMessageNode, isJidMetaAI, jidDecode, proto, unpadRandomMax16 } from 'baileys'
import type { BinaryNode, SignalRepositoryWithLIDStore, WAMessage, WAMessageKey } from 'baileys'
import type { ChannelHost, SecretStore } from '../domain/channel.ts'
import { untilStored } from './retry.ts'
import type { OwnIds } from './whatsapp-messages.ts'

const prefix = 'received-'

interface Received {
  /** The server's description of the message: sender, chat, time. */
  attrs: Record<string, string>
  /** The decrypted parts in base64: a message to a group also carries a key. */
  parts: string[]
}

interface JournalParts {
  store: SecretStore
  host: ChannelHost
  signal: AbortSignal
}

export class WhatsappJournal {
  #parts: JournalParts
  /** Received by an earlier process and not processed, by name. */
  #leftovers: Map<string, Received>
  /** The names of leftovers, which an earlier version named by the id alone. */
  #names = new WeakMap<WAMessageKey, string>()
  #pending = new Map<string, Received>()
  /** The protocol node of each encrypted part. */
  #nodes = new WeakMap<Uint8Array, BinaryNode>()

  constructor(parts: JournalParts) {
    this.#parts = parts
    const { store } = parts
    this.#leftovers = new Map(
      store.keys(prefix).map((name) => [name, JSON.parse(store.get(name)!) as Received]),
    )
  }

  /** Call it for each protocol node before Baileys decrypts it. */
  received(node: BinaryNode): void {
    for (const { content } of Array.isArray(node.content) ? node.content : []) {
      if (content instanceof Uint8Array) this.#nodes.set(content, node)
    }
  }

  /** The repository, with a decryption that resolves only when the message is durable. */
  wrap(repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore {
    return {
      ...repository,
      decryptMessage: async (input) => this.#store(input.ciphertext, await repository.decryptMessage(input)),
      decryptGroupMessage: async (input) =>
        this.#store(input.msg, await repository.decryptGroupMessage(input)),
    }
  }

  /** Messages that an earlier process received and did not process. Empty from the second call on. */
  takeLeftovers(own: OwnIds): WAMessage[] {
    const messages = [...this.#leftovers].map(([name, received]) => {
      const message = messageOf(received, own)
      this.#names.set(message.key, name)
      return message
    })
    this.#leftovers.clear()
    return messages
  }

  /** The message is in the inbox, or needs no action. */
  async done(key: WAMessageKey): Promise<void> {
    const name = this.#names.get(key) ?? nameOf(key.remoteJid, key.participant, key.id)
    this.#pending.delete(name)
    await this.#parts.store.set({ [name]: undefined })
  }

  async #store(encrypted: Uint8Array, plain: Uint8Array): Promise<Uint8Array> {
    const attrs = this.#nodes.get(encrypted)?.attrs
    if (attrs?.['id'] === undefined) return plain
    const { from, recipient, participant, id } = attrs
    // As Baileys does: a message that the owner writes on another device belongs to the chat with its recipient.
    const name = nameOf(recipient && !isJidMetaAI(recipient) ? recipient : from, participant, id)
    const received = this.#pending.get(name) ?? { attrs, parts: [] }
    received.parts.push(Buffer.from(plain).toString('base64'))
    this.#pending.set(name, received)
    await untilStored(() => this.#parts.store.set({ [name]: JSON.stringify(received) }), this.#parts)
    return plain
  }
}

type Jid = string | null | undefined

/** The name of a message in the journal. The sender of a message chooses its id, which may equal the id of another person's
 *  message. */
function nameOf(chat: Jid, author: Jid, id: Jid): string {
  const people = [chat, author].map((jid) => jidDecode(jid ?? '')?.user ?? '')
  return `${prefix}${[...people, id].join(' ')}`
}

/** The message as Baileys would have made it. */
function messageOf({ attrs, parts }: Received, own: OwnIds): WAMessage {
  const { fullMessage } = decodeMessageNode({ tag: 'message', attrs }, own.pn, own.lid ?? '')
  for (const part of parts) {
    const message = proto.Message.decode(unpadRandomMax16(Buffer.from(part, 'base64')))
    fullMessage.message = Object.assign(
      fullMessage.message ?? {},
      message.deviceSentMessage?.message ?? message,
    )
  }
  cleanMessage(fullMessage, own.pn, own.lid ?? '')
  return fullMessage
}
