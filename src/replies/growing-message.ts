// Output that streams into a chat is one message that grows, where the platform can edit: what follows is added to the
// last message of the same stream, as long as it is the last thing that was said there and there is room in it.
import { chatKey } from '../domain/address.ts'
import type { Channel } from '../domain/channel.ts'
import type { Delivery } from '../domain/reply.ts'

interface Growing {
  stream: string
  messageId: string
  text: string
}

export class Continued {
  /** The last message of each chat; after a restart every stream begins a new one. */
  #last = new Map<string, Growing>()

  /** The message that this delivery is added to, with the whole text that it then has. */
  joins({ address, reply, continues }: Delivery, channel: Channel): Omit<Growing, 'stream'> | undefined {
    const last = this.#last.get(chatKey(address))
    if (continues === undefined || last?.stream !== continues || !channel.abilities.edits) return undefined
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
