// What WhatsApp sent, written down before its server is told that we have it. Baileys tells it by itself, as soon as it
// has decrypted a message; so that is where it is written. What was not taken before a crash is taken after it.
import { cleanMessage, decodeMessageNode, proto, unpadRandomMax16 } from 'baileys'
import type { BinaryNode, SignalRepositoryWithLIDStore, WAMessage } from 'baileys'
import type { ChannelHost, SecretStore } from '../domain/channel.ts'
import { untilStored } from './offer-until-stored.ts'
import type { OwnIds } from './whatsapp-messages.ts'

const prefix = 'received-'

interface Received {
  /** What the server says about it: who, where, when. */
  attrs: Record<string, string>
  /** Its parts as they were decrypted, in base64: a message to a group brings a key along. */
  parts: string[]
}

export interface JournalParts {
  store: SecretStore
  host: ChannelHost
  signal: AbortSignal
}

export class WhatsappJournal {
  #parts: JournalParts
  #left: Received[]
  #open = new Map<string, Received>()
  #nodes = new WeakMap<Uint8Array, BinaryNode>()

  constructor(parts: JournalParts) {
    this.#parts = parts
    const { store } = parts
    this.#left = store.keys(prefix).map((key) => JSON.parse(store.get(key)!) as Received)
  }

  /** A message came over the wire; nothing has been done with it. */
  saw(node: BinaryNode): void {
    for (const { content } of Array.isArray(node.content) ? node.content : []) {
      if (content instanceof Uint8Array) this.#nodes.set(content, node)
    }
  }

  /** Decrypts as Baileys does, and resolves only when the message is durable. */
  around(repository: SignalRepositoryWithLIDStore): SignalRepositoryWithLIDStore {
    return {
      ...repository,
      decryptMessage: async (asked) => this.#keep(asked.ciphertext, await repository.decryptMessage(asked)),
      decryptGroupMessage: async (asked) =>
        this.#keep(asked.msg, await repository.decryptGroupMessage(asked)),
    }
  }

  /** What an earlier process had received and not taken, once. */
  left(own: OwnIds): WAMessage[] {
    return this.#left.splice(0).map((received) => messageOf(received, own))
  }

  /** It was taken, or it is nothing for us. */
  async done(id: string): Promise<void> {
    this.#open.delete(id)
    await this.#parts.store.set({ [prefix + id]: undefined })
  }

  async #keep(encrypted: Uint8Array, plain: Uint8Array): Promise<Uint8Array> {
    const attrs = this.#nodes.get(encrypted)?.attrs
    const id = attrs?.['id']
    if (attrs === undefined || id === undefined) return plain
    const received = this.#open.get(id) ?? { attrs, parts: [] }
    received.parts.push(Buffer.from(plain).toString('base64'))
    this.#open.set(id, received)
    await untilStored(() => this.#parts.store.set({ [prefix + id]: JSON.stringify(received) }), this.#parts)
    return plain
  }
}

/** As Baileys would have made it. */
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
