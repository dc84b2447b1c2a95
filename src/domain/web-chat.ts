// Events for a page that shows a chat of the web channel. The text itself is also in the transcript.
import type { Address } from './address.ts'
import type { OutgoingFile } from './channel.ts'
import type { Button } from './reply.ts'

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
