// What arrived from a channel, without the platform's own shape. Channels make it; inbound/ admits it.
import type { Address } from './address.ts'

export type ChatType = 'direct' | 'group' | 'channel'

export interface Sender {
  /** The platform's immutable id of the person. Names are for display only and decide nothing. */
  id: string
  name?: string
  username?: string
  tag?: string
  e164?: string
  isBot?: boolean
  /** Their roles in this group, by the platform's ids; on Discord. */
  roles?: string[]
}

export interface Media {
  /** Where the bytes are in the state directory, under a name of our own. */
  path: string
  mimeType: string
  bytes: number
  /** The sender's name for the file; shown, never used as a path. */
  name?: string
  kind: 'image' | 'audio' | 'video' | 'file'
}

export type MessageEvent = 'message' | 'edit' | 'button' | 'reaction' | 'command'

export interface Message {
  /**
   * The platform's id of this message; with channel, account and chat it identifies it for ever, so an edit or a
   * button press has an id of its own. Channels understand all of them as `Reply.replyToId`.
   */
  id: string
  event: MessageEvent
  /** Where it came from and where the reply goes. */
  address: Address
  chatType: ChatType
  sender: Sender
  text: string
  /** Milliseconds since 1970, by the platform's clock. */
  sentAt: number
  /** Was the agent addressed: a mention, a reply to it, or a direct chat? */
  mentioned: boolean
  replyTo?: { id: string; text?: string; senderName?: string }
  media: Media[]
  /** For `edit` and `reaction`: the id of the message that it is about. */
  about?: string
  /** For `button`: the data that the button carried, and the message that it was on. */
  button?: { data: string; messageId: string }
  group?: { title?: string; channelName?: string; space?: string }
  /** The text was forwarded: it is content by another author, never a command. */
  forwarded?: boolean
  /** Metadata that must not be read as instructions (group topic, link previews). */
  untrusted?: string[]
}
