// Makes a Message from what Discord's gateway sends. Pure: discord-intake.ts looks up the channel and fetches files.
import { ChannelType, InteractionType, MessageReferenceType } from 'discord.js'
import type {
  APIAttachment,
  APIChatInputApplicationCommandInteraction,
  APIInteraction,
  APIMessage,
  APIMessageComponentInteraction,
  APIUser,
  GatewayMessageReactionAddDispatchData,
} from 'discord.js'
import { privateChatWith } from '../domain/address.ts'
import type { Message, Sender } from '../domain/message.ts'

/** A person as a member of a server. */
interface Member {
  nick?: string | null
  roles: string[]
}

/** A message from the gateway or from a channel's history; only the gateway adds `member`. */
export type DiscordMessage = APIMessage & { guild_id?: string; member?: Partial<Member> }

/** The channel or thread that a message is in. */
export interface DiscordPlace {
  channelId: string
  guildId?: string
  name?: string
  /** The channel that a thread belongs to. */
  parentId?: string
}

export interface DiscordFile {
  url: string
  name: string
  mimeType?: string
  bytes: number
}

export interface Received {
  message: Message
  files: DiscordFile[]
}

export interface Self {
  accountId: string
  botId: string
}

const threadTypes: ReadonlySet<ChannelType> = new Set([
  ChannelType.AnnouncementThread,
  ChannelType.PublicThread,
  ChannelType.PrivateThread,
])

export function isThread(type: ChannelType): boolean {
  return threadTypes.has(type)
}

/** Returns nothing for our own messages and for system messages (a person joined, a pin). */
export function readMessage(source: DiscordMessage, place: DiscordPlace, self: Self): Received | undefined {
  if (source.author.id === self.botId) return undefined
  const forwarded = source.message_reference?.type === MessageReferenceType.Forward
  const snapshot = forwarded ? source.message_snapshots?.[0]?.message : undefined
  const text = snapshot?.content ?? source.content
  const files = (snapshot?.attachments ?? source.attachments ?? []).map(fileOf)
  if (text === '' && files.length === 0) return undefined
  const message: Message = {
    id: source.id,
    event: 'message',
    ...whereOf(place, self, source.author.id),
    sender: senderOf(source.author, source.member, source.webhook_id !== undefined),
    text,
    sentAt: Date.parse(source.timestamp),
    mentioned: place.guildId === undefined || isAddressed(source, self.botId),
    media: [],
    forwarded: forwarded || undefined,
    replyTo: forwarded ? undefined : replyOf(source),
  }
  return { message, files }
}

/** Discord also sends an update when a link preview appears; only people edit. */
export function readEdit(source: DiscordMessage, place: DiscordPlace, self: Self): Received | undefined {
  if (!source.edited_timestamp || !source.author) return undefined
  const received = readMessage(source, place, self)
  if (!received) return undefined
  const id = `${source.id}#edit-${Date.parse(source.edited_timestamp)}`
  return { files: received.files, message: { ...received.message, id, event: 'edit', about: source.id } }
}

export function readReaction(
  source: GatewayMessageReactionAddDispatchData,
  place: DiscordPlace,
  self: Self,
  now: number,
): Message | undefined {
  if (source.user_id === self.botId || !source.emoji.name) return undefined
  const user = source.member?.user
  return {
    id: `${source.message_id}#reaction-${source.user_id}-${source.emoji.name}`,
    event: 'reaction',
    ...whereOf(place, self, source.user_id),
    sender: user ? senderOf(user, source.member) : { id: source.user_id },
    text: source.emoji.name,
    sentAt: now,
    mentioned: false,
    media: [],
    about: source.message_id,
  }
}

export function readInteraction(
  source: APIInteraction,
  place: DiscordPlace,
  self: Self,
  now: number,
): Message | undefined {
  const user = source.member?.user ?? source.user
  if (!user) return undefined
  const shared = {
    ...whereOf(place, self, user.id),
    sender: senderOf(user, source.member),
    sentAt: now,
    mentioned: true,
    media: [],
  }
  if (source.type === InteractionType.MessageComponent) return { ...shared, ...pressOf(source) }
  if (source.type !== InteractionType.ApplicationCommand) return undefined
  return { ...shared, ...commandOf(source as APIChatInputApplicationCommandInteraction) }
}

/** The message on Discord that the id of a Message refers to: edits, presses and reactions append to it. */
export function messageIdOf(id: string): string {
  return id.split('#', 1)[0]!
}

export function pressIdOf(id: string): string | undefined {
  return /#press-(\d+)$/.exec(id)?.[1]
}

function pressOf(source: APIMessageComponentInteraction): Pick<Message, 'id' | 'event' | 'text' | 'button'> {
  const messageId = source.message.id
  return {
    id: `${messageId}#press-${source.id}`,
    event: 'button',
    text: '',
    button: { data: source.data.custom_id, messageId },
  }
}

function commandOf(
  source: APIChatInputApplicationCommandInteraction,
): Pick<Message, 'id' | 'event' | 'text'> {
  const words = (source.data.options ?? []).map((option) =>
    'value' in option ? String(option.value) : option.name,
  )
  return { id: source.id, event: 'command', text: [`/${source.data.name}`, ...words].join(' ') }
}

/** A private chat is addressed by its person: the id of its channel does not tell who is in it. */
function whereOf(
  place: DiscordPlace,
  self: Self,
  senderId: string,
): Pick<Message, 'address' | 'chatType' | 'group'> {
  const { accountId } = self
  if (place.guildId === undefined)
    return { address: privateChatWith({ channel: 'discord', accountId, senderId }), chatType: 'direct' }
  const address = {
    channel: 'discord',
    accountId,
    to: place.parentId ?? place.channelId,
    threadId: place.parentId === undefined ? undefined : place.channelId,
  }
  return { address, chatType: 'group', group: { channelName: place.name, space: place.guildId } }
}

function senderOf(user: APIUser, member?: Partial<Member>, isWebhook = false): Sender {
  return {
    id: user.id,
    name: member?.nick ?? user.global_name ?? user.username,
    username: user.username,
    isBot: user.bot === true || isWebhook,
    roles: member?.roles?.length ? member.roles : undefined,
  }
}

function replyOf(source: APIMessage): Message['replyTo'] {
  const id = source.message_reference?.message_id
  const to = source.referenced_message
  return id ? { id, text: to?.content || undefined, senderName: to?.author.username } : undefined
}

function isAddressed(source: APIMessage, botId: string): boolean {
  return source.mentions.some((user) => user.id === botId) || source.referenced_message?.author.id === botId
}

function fileOf(attachment: APIAttachment): DiscordFile {
  const { url, filename: name, content_type: mimeType, size: bytes } = attachment
  return { url, name, mimeType, bytes }
}
