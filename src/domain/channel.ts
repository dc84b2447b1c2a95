// The adapter for a platform. One file each in channels/; all of them pass test/channel-contract.ts.
import type { Address } from './address.ts'
import type { Message } from './message.ts'
import type { Reply } from './reply.ts'

export type ChannelState = 'starting' | 'connected' | 'reconnecting' | 'stopped' | 'failed'

export interface ChannelStatus {
  channel: string
  accountId: string
  state: ChannelState
  /** Who we are on the platform, when known: the bot's own name and id. */
  identity?: { id: string; name: string }
  since: number
  lastError?: string
  /** What a person must do, if anything: scan this QR code, check this token. */
  needs?: { kind: 'qr' | 'token' | 'login'; detail: string }
}

/** What a channel can do, so that the rest can adapt. */
export interface ChannelAbilities {
  maxTextLength: number
  edits: boolean
  buttons: boolean
  threads: boolean
  typing: boolean
  media: boolean
  /** The platform refuses a second send with the same key. */
  idempotentSend: boolean
  /** Markdown as Claude writes it is turned into this. */
  formatting: 'html' | 'markdown' | 'whatsapp' | 'plain'
}

export type SendOutcome =
  | { kind: 'sent'; messageIds: string[] }
  /** The platform said no, for good. */
  | { kind: 'refused'; reason: string }
  /** Certainly not delivered; try again, not before `retryAfterMs`. */
  | { kind: 'retry'; reason: string; retryAfterMs?: number }
  /** Nobody knows whether it arrived. */
  | { kind: 'unknown'; reason: string }

export interface Channel {
  readonly name: string
  readonly accountId: string
  readonly abilities: ChannelAbilities
  /** Begins to receive. `accept` resolves when the message is durable; only then may the platform be told so. */
  start(accept: (message: Message) => Promise<void>): Promise<void>
  stop(): Promise<void>
  status(): ChannelStatus
  onStatus(listener: (status: ChannelStatus) => void): () => void
  send(
    address: Address,
    reply: Reply,
    options: { idempotencyKey: string; resent: boolean },
  ): Promise<SendOutcome>
  /** Replaces the text of a message that we sent; for streaming. */
  edit?(address: Address, messageId: string, reply: Reply): Promise<SendOutcome>
  typing?(address: Address): Promise<void>
  /** Answers a button press, so that the platform stops waiting. */
  acknowledgeButton?(message: Message, text?: string): Promise<void>
}
