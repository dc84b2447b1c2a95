// The adapter for a platform. One file each in channels/; all of them pass test/support/channel-contract.ts.
import type { Address } from './address.ts'
import type { Clock } from './clock.ts'
import type { Log } from './log.ts'
import type { Media, Message } from './message.ts'
import type { Reply, Button } from './reply.ts'

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
  /** For how long after the first one, when not for ever. */
  idempotentForMs?: number
  /** Sends through the platform's web address, also while another process receives. */
  sendsUnconnected?: boolean
  /** Markdown as Claude writes it is turned into this. */
  formatting: 'html' | 'markdown' | 'whatsapp' | 'plain'
}

export type SendOutcome =
  | { kind: 'sent'; messageIds: string[] }
  /** The platform said no, for good. */
  | { kind: 'refused'; reason: string }
  /** Certainly not delivered; try again, not before `retryAfterMs`. */
  | { kind: 'retry'; reason: string; retryAfterMs?: number }
  /** Whether it arrived is unknown. */
  | { kind: 'unknown'; reason: string }

export interface SendOptions {
  /** The same for every try of the same reply, also after a restart. */
  idempotencyKey: string
  /** An earlier try may have arrived, and the platform would not know this one for a repeat: people must see it. */
  resent: boolean
  /** Outcomes of the parts already sent; a retry continues after them. */
  sentIds?: readonly string[]
  /** One message of several was sent. It is kept, so that not even a crash sends it again. */
  onPart?: (messageId: string) => Promise<void>
}

/** Thrown for a refused message. Most platforms ignore it; a page that waits for an answer shows it. */
export interface NotAccepted {
  reason: string
  /** How long until a message of this sender is accepted again. */
  waitMs?: number
}

export interface Channel {
  readonly name: string
  readonly accountId: string
  readonly abilities: ChannelAbilities
  /**
   * Begins to receive. `accept` resolves when the message is durable; only then is the platform told so. When it
   * rejects, the message is offered again. Resolves when the channel is on its way: a platform that cannot be reached
   * is a status, not an error. Rejects only for what no waiting will mend (a blank webhook secret, a second poller).
   */
  start(accept: (message: Message) => Promise<NotAccepted | void>): Promise<void>
  /** Receives nothing more, waits for what is being accepted, and closes its connections. */
  stop(): Promise<void>
  status(): ChannelStatus
  onStatus(listener: (status: ChannelStatus) => void): () => void
  /** Works from `start` on. Markdown in, the platform's formatting out; text over the limit becomes several messages. */
  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome>
  /** Replaces the text of a message that we sent; for streaming. */
  edit?(address: Address, messageId: string, reply: Reply): Promise<SendOutcome>
  typing?(address: Address): Promise<void>
  /** Answers a button press, so that the platform stops waiting. */
  acknowledgeButton?(message: Message, text?: string): Promise<void>
}

/** A command that people can give in a chat, for platforms that show them in a menu. */
export interface CommandInfo {
  /** Without the slash. */
  name: string
  description: string
  /** What may follow it; nothing when absent. */
  usage?: string
}

/** What a channel is given by the rest of the program. */
export interface ChannelHost {
  clock: Clock
  log: Log
  commands: readonly CommandInfo[]
  media: MediaFiles
  secrets(name: string): SecretStore
  /** May files that came with this message be fetched and kept? Strangers fill no disks. */
  takesMedia(message: Message): boolean
  /**
   * Takes a name for this process; the returned function gives it back. Rejects with `locked` while another live
   * process has it: one on this machine, or, for what is kept in the state directory, one that uses the same.
   */
  hold(name: string, among: 'machine' | 'state'): Promise<() => Promise<void>>
}

/** A file that is allowed to leave. */
export interface OutgoingFile {
  path: string
  name: string
  mimeType: string
  kind: Media['kind']
  bytes: number
}

export interface MediaFiles {
  /** Keeps a file that arrived, under a name of our own. Rejects with `refused` when it is over the limit. */
  keep(bytes: AsyncIterable<Uint8Array>, about: { name?: string; mimeType?: string }): Promise<Media>
  /** Checks a file that is to be sent: it must really be inside the media folder. Rejects with `refused`. */
  outgoing(path: string): Promise<OutgoingFile>
}

/** Small secrets that a platform's library needs back after a restart. Durable, readable by us alone. */
export interface SecretStore {
  get(key: string): string | undefined
  /** The keys that begin like this. */
  keys(prefix: string): string[]
  /** All or nothing; `undefined` removes. */
  set(changes: Record<string, string | undefined>): Promise<void>
  clear(): Promise<void>
  close(): Promise<void>
}

// Events for a page that shows a chat of the web channel. The text itself is also in the transcript.

export interface WebMessage {
  id: string
  text: string
  replyTo?: string
  buttons: Button[][]
  files: Array<Pick<OutgoingFile, 'path' | 'name' | 'mimeType' | 'bytes'>>
  isError: boolean
}

export type WebOutput =
  | { type: 'message'; address: Address; message: WebMessage }
  | { type: 'edit'; address: Address; message: WebMessage }
  | { type: 'typing'; address: Address }
