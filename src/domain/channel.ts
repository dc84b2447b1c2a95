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
  /** The bot's own name and id, when known. */
  identity?: { id: string; name: string }
  since: number
  lastError?: string
  /** The step that a person must take, if any: scan this QR code, check this token. */
  needs?: { kind: 'qr' | 'token' | 'login'; detail: string }
}

/** The abilities of a channel, to which the rest of the program adapts. The channel lacks an ability that is absent here. */
export interface ChannelAbilities {
  maxTextLength: number
  edits?: boolean
  typing?: boolean
  /** The platform refuses a second send with the same key. */
  idempotentSend?: boolean
  /** How long it remembers a key; for ever when absent. */
  idempotentForMs?: number
  /** Can send without a connection, also while another process receives. */
  sendsUnconnected?: boolean
  /** Markdown as Claude writes it is turned into this. */
  formatting: 'html' | 'markdown' | 'whatsapp' | 'plain'
}

export type SendOutcome =
  /** `sentAt`: when the platform accepted the last of them, by the platform's clock; as exact as `Message.sentAt`. */
  | { kind: 'sent'; messageIds: string[]; sentAt?: number }
  /** The platform refused the message; a retry would not help. */
  | { kind: 'refused'; reason: string }
  /** Not delivered; retry, not before `retryAfterMs`. */
  | { kind: 'retry'; reason: string; retryAfterMs?: number }
  /** Whether it arrived is unknown. */
  | { kind: 'unknown'; reason: string }

export interface SendOptions {
  /** The same for every attempt of one reply, also after a restart. */
  idempotencyKey: string
  /** An earlier attempt may have arrived, and the platform cannot recognize the repeat, so it must be marked for people. */
  resent: boolean
  /** Message ids of the parts already sent; a retry continues after them. */
  sentIds?: readonly string[]
  /** Called when one message of several was sent. The id is stored, so that not even a crash sends the part again. */
  onPart?: (messageId: string) => Promise<void>
  /** The session that the reply belongs to; `coding:<id>` for a coding session. */
  sessionKey?: string
  /** Streamed output of a coding session. */
  isOutput?: boolean
}

/** Why a message was refused. Most platforms ignore it; a page that waits for an answer shows it. */
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
   * Starts to receive. `accept` resolves when the message is durable; only then the platform gets its confirmation. If
   * `accept` rejects, it is called again with the message. An unreachable platform is a status, not an error: `start`
   * rejects only when a retry would not help (a blank webhook secret, a second poller).
   */
  start(accept: (message: Message) => Promise<NotAccepted | void>): Promise<void>
  /** Stops receiving, waits for messages that are being accepted, and closes the connections. */
  stop(): Promise<void>
  /** False while no send could begin: replies then wait, and no attempt is made. Always true when absent. */
  readonly canSend?: boolean
  status(): ChannelStatus
  onStatus(listener: (status: ChannelStatus) => void): () => void
  /** Possible after `start`. Converts Markdown to the platform's formatting; long text becomes several messages. */
  send(address: Address, reply: Reply, options: SendOptions): Promise<SendOutcome>
  /** Replaces the text of a message that we sent; for streaming. */
  edit?(address: Address, messageId: string, reply: Reply): Promise<SendOutcome>
  typing?(address: Address): Promise<void>
  /** Answers a button press, so that the platform stops waiting. */
  acknowledgeButton?(message: Message, text?: string): Promise<void>
}

/** A chat command, for platforms that list commands in a menu. */
export interface CommandInfo {
  /** Without the slash. */
  name: string
  description: string
  /** The arguments of the command; none when absent. */
  usage?: string
}

/** The services of the program for a channel. */
export interface ChannelHost {
  clock: Clock
  log: Log
  commands: readonly CommandInfo[]
  media: MediaFiles
  secrets(name: string): SecretStore
  /** May the files of this message be fetched and stored? Only if it gets a turn: strangers must not fill the disk, and of a
   *  message that is only overheard no file is needed. */
  takesMedia(message: Message): Promise<boolean>
  /**
   * Locks a name for this process; the returned function releases it. Rejects with `locked` while another live process
   * holds it: one on this machine, or one with the same state directory.
   */
  hold(name: string, among: 'machine' | 'state'): Promise<() => Promise<void>>
}

/** A file that may be sent. */
export interface OutgoingFile {
  path: string
  name: string
  mimeType: string
  kind: Media['kind']
  bytes: number
}

export interface MediaFiles {
  /** Stores a received file under a name of our own. Rejects with `refused` when it is too large. */
  keep(bytes: AsyncIterable<Uint8Array>, about: { name?: string; mimeType?: string }): Promise<Media>
  /** Checks that a file to send is really inside the media folder. Rejects with `refused`. */
  outgoing(path: string): Promise<OutgoingFile>
}

/** Small secrets that a platform's library needs after a restart. Durable, and readable only by our user. */
export interface SecretStore {
  get(key: string): string | undefined
  keys(prefix: string): string[]
  /** Atomic; `undefined` removes a key. */
  set(changes: Record<string, string | undefined>): Promise<void>
  clear(): Promise<void>
  close(): Promise<void>
}

/** A reply for the page that shows a chat of the web channel. The transcript has its text, too. */
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
