// Makes a Message from a WhatsApp message. A person is identified by phone number where WhatsApp reveals it, else by the
// hidden id (LID); never by name.
import { getContentType, isLidUser, isPnUser, jidDecode, normalizeMessageContent, proto } from 'baileys'
import type { WAMessage } from 'baileys'
import type { Address } from '../domain/address.ts'
import type { Message, Sender } from '../domain/message.ts'

/** Our own number and hidden id. */
export interface OwnIds {
  accountId: string
  pn: string
  lid?: string
}

/** Finds the phone number of a hidden id (LID); null unless WhatsApp has revealed the number. */
export type FindNumber = (lid: string) => Promise<string | null>

/** The ids of our own messages begin like this, so that we recognize them in a chat with ourselves. */
const ownMark = '3EB052504F4F4C'

export function ownMessageId(hash: string): string {
  return ownMark + hash.slice(0, 18).toUpperCase()
}

/** Returns nothing for our own messages, receipts and broadcasts. */
export async function readWhatsappMessage(
  source: WAMessage,
  own: OwnIds,
  findNumber: FindNumber,
): Promise<Message | undefined> {
  const { key } = source
  const chat = key.remoteJid ?? ''
  const isGroup = chat.endsWith('@g.us')
  if (!key.id || !source.message || (!isGroup && !isPnUser(chat) && !isLidUser(chat))) return undefined
  if (key.fromMe && (key.id.startsWith(ownMark) || !isOwn(chat, own))) return undefined
  const from = key.fromMe ? own.pn : isGroup ? key.participant : chat
  const alternative = isGroup ? key.participantAlt : key.remoteJidAlt
  const sender = await senderOf(from ?? '', alternative, source.pushName, findNumber)
  const address: Address = { channel: 'whatsapp', accountId: own.accountId, to: isGroup ? chat : sender.id }
  const content = contentOf(source.message)
  if (!content) return undefined
  return {
    address,
    chatType: isGroup ? 'group' : 'direct',
    sender,
    sentAt: Number(source.messageTimestamp ?? 0) * 1_000,
    media: [],
    ...bodyOf(content, key.id, own, isGroup),
  }
}

/** `+491701234567` and `123@lid` as WhatsApp addresses them; groups are addressed as they are. */
export function jidOf(to: string): string {
  return to.startsWith('+') ? `${to.slice(1)}@s.whatsapp.net` : to
}

export function personOfJid(jid: string): string {
  const user = jidDecode(jid)?.user ?? ''
  return isPnUser(jid) ? `+${user}` : user === '' ? '' : `${user}@lid`
}

function contentOf(message: proto.IMessage): proto.IMessage | undefined {
  return normalizeMessageContent(message) ?? undefined
}

type Body = Pick<Message, 'event' | 'text' | 'mentioned' | 'replyTo' | 'forwarded' | 'about'> & { id: string }

function bodyOf(content: proto.IMessage, id: string, own: OwnIds, isGroup: boolean): Body {
  const reaction = content.reactionMessage
  if (reaction) {
    const about = reaction.key?.id ?? ''
    return { id, event: 'reaction', text: reaction.text ?? '', mentioned: false, about }
  }
  const protocol = content.protocolMessage
  const isEdit = protocol?.type === proto.Message.ProtocolMessage.Type.MESSAGE_EDIT && protocol.editedMessage
  const said = isEdit ? (contentOf(protocol.editedMessage!) ?? {}) : content
  const context = contextOf(said)
  const quoted = context?.stanzaId
  return {
    id,
    // An edit has its own id on WhatsApp and names the message that it changes.
    event: isEdit ? 'edit' : 'message',
    about: isEdit ? (protocol.key?.id ?? '') : undefined,
    text: textOf(said),
    mentioned: !isGroup || isAddressed(context, own),
    replyTo: quoted ? { id: quoted, text: quotedText(context) } : undefined,
    forwarded: context?.isForwarded || undefined,
  }
}

function textOf(content: proto.IMessage): string {
  const text =
    content.conversation ??
    content.extendedTextMessage?.text ??
    content.imageMessage?.caption ??
    content.videoMessage?.caption ??
    content.documentMessage?.caption
  if (text) return text
  const place = content.locationMessage
  if (place) return `[location: ${place.degreesLatitude}, ${place.degreesLongitude}]`
  return content.contactMessage ? `[contact: ${content.contactMessage.displayName ?? ''}]` : ''
}

function contextOf(content: proto.IMessage): proto.IContextInfo | undefined {
  const type = getContentType(content)
  const part = type === undefined ? undefined : content[type]
  if (typeof part !== 'object' || part === null || !('contextInfo' in part)) return undefined
  return part.contextInfo ?? undefined
}

function quotedText(context: proto.IContextInfo | undefined): string | undefined {
  const quoted = context?.quotedMessage && contentOf(context.quotedMessage)
  return (quoted && textOf(quoted)) || undefined
}

function isAddressed(context: proto.IContextInfo | undefined, own: OwnIds): boolean {
  const named = [...(context?.mentionedJid ?? []), context?.participant ?? '']
  return named.some((jid) => isOwn(jid, own))
}

function isOwn(jid: string, own: OwnIds): boolean {
  const user = jidDecode(jid)?.user
  if (user === undefined) return false
  return isPnUser(jid)
    ? user === jidDecode(own.pn)?.user
    : own.lid !== undefined && user === jidDecode(own.lid)?.user
}

async function senderOf(
  jid: string,
  alternative: string | null | undefined,
  name: string | null | undefined,
  findNumber: FindNumber,
): Promise<Sender> {
  const number = [jid, alternative ?? ''].find((one) => isPnUser(one)) ?? (await findNumber(jid))
  const id = personOfJid(number ?? jid)
  return { id, name: name || undefined, e164: id.startsWith('+') ? id : undefined }
}
