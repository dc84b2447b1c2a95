// Makes a Message from a Telegram update. Pure: telegram-intake.ts fetches the files that are named here.
import type {
  CallbackQuery,
  Chat,
  Message as TelegramMessage,
  MessageEntity,
  MessageReactionUpdated,
  Update,
  User,
} from 'grammy/types'
import type { Address } from '../domain/address.ts'
import type { ChatType, Message, Sender } from '../domain/message.ts'

/** Our identity on Telegram, to recognize messages to us. */
export interface BotIdentity {
  id: number
  username: string
}

export interface TelegramFile {
  fileId: string
  bytes: number
  name?: string
  mimeType?: string
}

interface Received {
  message: Message
  files: TelegramFile[]
}

/** The kinds of updates that we ask Telegram for. */
export const wantedUpdates = [
  'message',
  'edited_message',
  'channel_post',
  'edited_channel_post',
  'callback_query',
  'message_reaction',
] as const

/** Returns nothing for updates without content for the agent: a person joined, a title changed. */
export function readUpdate(
  update: Update,
  bot: BotIdentity,
  accountId: string,
  now: number,
): Received | undefined {
  const written = update.message ?? update.channel_post
  if (written) return readMessage(written, bot, accountId)
  const edited = update.edited_message ?? update.edited_channel_post
  if (edited) return asEdit(readMessage(edited, bot, accountId), update.update_id)
  if (update.callback_query) return readButton(update.callback_query, accountId, now)
  if (update.message_reaction) return readReaction(update.message_reaction, update.update_id, accountId)
  return undefined
}

/** Telegram's message id in the id of a Message. The ids of edits, presses and reactions have a suffix: `12#press-…`. */
export function messageIdOf(id: string): number | undefined {
  const found = /^(\d+)(#|$)/.exec(id)
  return found ? Number(found[1]) : undefined
}

export function pressIdOf(id: string): string | undefined {
  return /#press-(.+)$/.exec(id)?.[1]
}

function readMessage(source: TelegramMessage, bot: BotIdentity, accountId: string): Received | undefined {
  const files = filesOf(source)
  const text = textOf(source, bot)
  if (text === '' && files.length === 0) return undefined
  const isCommand = commandAt(source) !== undefined && text.startsWith('/')
  const message: Message = {
    id: String(source.message_id),
    event: isCommand ? 'command' : 'message',
    address: addressOf(source, accountId),
    chatType: chatTypeOf(source.chat),
    sender: senderOf(source.from, source.sender_chat),
    text,
    sentAt: source.date * 1_000,
    mentioned: isAddressed(source, bot),
    media: [],
    replyTo: replyOf(source),
    group: groupOf(source.chat),
    forwarded: source.forward_origin ? true : undefined,
  }
  return { message, files }
}

function asEdit(received: Received | undefined, updateId: number): Received | undefined {
  if (!received) return undefined
  const { message } = received
  return {
    files: received.files,
    message: { ...message, id: `${message.id}#edit-${updateId}`, event: 'edit', about: message.id },
  }
}

function readButton(query: CallbackQuery, accountId: string, now: number): Received | undefined {
  // Without a message there is no chat to answer in; our buttons always have one.
  if (!query.message || query.data === undefined) return undefined
  const on = query.message
  const messageId = String(on.message_id)
  const message: Message = {
    id: `${messageId}#press-${query.id}`,
    event: 'button',
    address: addressOf(on, accountId),
    chatType: chatTypeOf(on.chat),
    sender: senderOf(query.from),
    text: '',
    // Telegram does not send the time of a press, so its arrival is used.
    sentAt: now,
    mentioned: true,
    media: [],
    button: { data: query.data, messageId },
    group: groupOf(on.chat),
  }
  return { message, files: [] }
}

function readReaction(
  reaction: MessageReactionUpdated,
  updateId: number,
  accountId: string,
): Received | undefined {
  const about = String(reaction.message_id)
  const text = reaction.new_reaction.map((one) => (one.type === 'emoji' ? one.emoji : '')).join('')
  if (text === '') return undefined
  const message: Message = {
    id: `${about}#reaction-${updateId}`,
    event: 'reaction',
    address: { channel: 'telegram', accountId, to: String(reaction.chat.id) },
    chatType: chatTypeOf(reaction.chat),
    sender: senderOf(reaction.user, reaction.actor_chat),
    text,
    sentAt: reaction.date * 1_000,
    mentioned: false,
    media: [],
    about,
    group: groupOf(reaction.chat),
  }
  return { message, files: [] }
}

type Place = { chat: Chat; message_thread_id?: number; is_topic_message?: boolean }

function addressOf(source: Place, accountId: string): Address {
  // Outside of topics Telegram uses the same field for reply chains, which are not threads.
  const threadId =
    source.is_topic_message && source.message_thread_id ? String(source.message_thread_id) : undefined
  return { channel: 'telegram', accountId, to: String(source.chat.id), threadId }
}

function chatTypeOf(chat: Chat): ChatType {
  if (chat.type === 'private') return 'direct'
  return chat.type === 'channel' ? 'channel' : 'group'
}

/** The sender of a message written as a chat (a channel, an anonymous admin) is that chat, not a person. */
function senderOf(user: User | undefined, chat?: Chat): Sender {
  if (chat) return { id: String(chat.id), name: 'title' in chat ? chat.title : undefined }
  if (!user) return { id: '' }
  return {
    id: String(user.id),
    name: [user.first_name, user.last_name].filter(Boolean).join(' '),
    username: user.username,
    isBot: user.is_bot,
  }
}

function groupOf(chat: Chat): Message['group'] {
  return 'title' in chat && chat.title !== undefined ? { title: chat.title } : undefined
}

function replyOf(source: TelegramMessage): Message['replyTo'] {
  const to = source.reply_to_message
  // Telegram marks every message of a topic as a reply to the topic's first message; that is not a reply by a person.
  if (!to || 'forum_topic_created' in to) return undefined
  const text = (source.quote?.text ?? to.text ?? to.caption) || undefined
  const senderName = senderOf(to.from, to.sender_chat).name || undefined
  return { id: String(to.message_id), text, senderName }
}

function textOf(source: TelegramMessage, bot: BotIdentity): string {
  const text = source.text ?? source.caption ?? describe(source)
  const command = commandAt(source)
  if (!command) return text
  // `/new@ourbot` is our command `/new`; `/new@otherbot` is not a command of ours at all.
  const [word = '', addressee] = text.slice(0, command.length).split('@')
  if (addressee === undefined) return text
  const isOurs = addressee.toLowerCase() === bot.username.toLowerCase()
  return isOurs
    ? word + text.slice(command.length)
    : `@${addressee} ${word.slice(1)}${text.slice(command.length)}`
}

function describe(source: TelegramMessage): string {
  if (source.location) return `[location: ${source.location.latitude}, ${source.location.longitude}]`
  if (source.contact) return `[contact: ${source.contact.first_name} ${source.contact.phone_number}]`
  if (source.poll) return `[poll: ${source.poll.question}]`
  return source.sticker?.emoji ?? ''
}

function entitiesOf(source: TelegramMessage): MessageEntity[] {
  return source.entities ?? source.caption_entities ?? []
}

function commandAt(source: TelegramMessage): MessageEntity | undefined {
  return entitiesOf(source).find((entity) => entity.type === 'bot_command' && entity.offset === 0)
}

function isAddressed(source: TelegramMessage, bot: BotIdentity): boolean {
  if (source.chat.type === 'private') return true
  if (source.reply_to_message?.from?.id === bot.id) return true
  const text = source.text ?? source.caption ?? ''
  const ourName = `@${bot.username.toLowerCase()}`
  return entitiesOf(source).some((entity) => {
    const words = text.slice(entity.offset, entity.offset + entity.length).toLowerCase()
    if (entity.type === 'text_mention') return entity.user.id === bot.id
    if (entity.type === 'mention') return words === ourName
    return entity.type === 'bot_command' && words.endsWith(ourName)
  })
}

function filesOf(source: TelegramMessage): TelegramFile[] {
  const photo = source.photo?.at(-1)
  const files: Array<TelegramFile | undefined> = [
    photo && { fileId: photo.file_id, bytes: photo.file_size ?? 0, mimeType: 'image/jpeg' },
    file(source.document),
    file(source.audio),
    file(source.voice, 'audio/ogg'),
    source.animation ? undefined : file(source.video),
    file(source.video_note, 'video/mp4'),
    file(source.sticker, 'image/webp'),
  ]
  return files.filter((one) => one !== undefined)
}

interface Attachment {
  file_id: string
  file_size?: number
  file_name?: string
  mime_type?: string
}

function file(from: Attachment | undefined, mimeType?: string): TelegramFile | undefined {
  return (
    from && {
      fileId: from.file_id,
      bytes: from.file_size ?? 0,
      name: from.file_name,
      mimeType: from.mime_type ?? mimeType,
    }
  )
}
