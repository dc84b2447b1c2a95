// When something was last said in each of the owner's private chats, beside the questions themselves. A plain "yes" means the
// question only if nothing came between the two. Kept in memory: questions from before a start need their id, or a reply.
import type { Address } from '../domain/address.ts'
import { chatKey } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery } from '../domain/reply.ts'
import { clocksDifferMs } from './chat-approvals.ts'

export class ChatTalk {
  #clock: Clock
  #isOwners: (address: Address) => boolean
  #lastSaidAt = new Map<string, number>()

  constructor(clock: Clock, isOwners: (address: Address) => boolean) {
    this.#clock = clock
    this.#isOwners = isOwners
  }

  /** By our clock, unless the message is plainly older: it was on its way until now. */
  heard({ address, sentAt }: Message): void {
    const now = this.#clock.now()
    this.#said(address, sentAt < now - clocksDifferMs ? sentAt : now)
  }

  sent({ address, reply, createdAt }: Delivery): void {
    const isQuestion = reply.buttons?.flat().some(({ data }) => data.startsWith('approve:')) ?? false
    if (!isQuestion) this.#said(address, createdAt)
  }

  lastSaidAt(address: Address): number {
    return this.#lastSaidAt.get(chatKey(address)) ?? 0
  }

  #said(address: Address, at: number): void {
    if (this.#isOwners(address))
      this.#lastSaidAt.set(chatKey(address), Math.max(at, this.lastSaidAt(address)))
  }
}
