// Fetches the file that came with a WhatsApp message, from WhatsApp's own media servers and nowhere else: a message may
// name any host it likes, and Baileys would go there.
import type { Readable } from 'node:stream'
import { downloadMediaMessage, getContentType, normalizeMessageContent } from 'baileys'
import type { proto, WAMessage, WASocket } from 'baileys'
import type { ChannelHost } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import { addFile } from './received-files.ts'
import { quietLogger } from './whatsapp-logger.ts'

/** Kinds of content that are a file. */
const mediaTypes = [
  'imageMessage',
  'videoMessage',
  'audioMessage',
  'documentMessage',
  'stickerMessage',
] as const

type MediaContent = NonNullable<proto.IMessage[(typeof mediaTypes)[number]]>

export function hasMedia(source: WAMessage): boolean {
  return mediaOf(source) !== undefined
}

/** Adds the file to `message`, or a line on why it is missing. */
export function fetchWhatsappFile(
  source: WAMessage,
  message: Message,
  download: (source: WAMessage) => Promise<Readable>,
  host: ChannelHost,
): Promise<void> {
  const media = mediaOf(source)
  return addFile(message, host, async () => {
    const name = media && 'fileName' in media ? (media.fileName ?? undefined) : undefined
    return host.media.keep(await download(source), { name, mimeType: media?.mimetype ?? undefined })
  })
}

/** Over this connection, from the servers that it names. */
export async function downloadOver(socket: WASocket, source: WAMessage): Promise<Readable> {
  const path = mediaOf(source)?.directPath
  // `@elsewhere/x` behind a host would make it a password, and the rest another host.
  if (!path?.startsWith('/')) throw new RockpoolError('refused', 'it is not on a server of WhatsApp.')
  const { hosts } = await socket.refreshMediaConn()
  const options = { host: hosts[0]?.hostname ?? socket.getMediaHost() }
  const context = { logger: quietLogger, reuploadRequest: socket.updateMediaMessage }
  return downloadMediaMessage(source, 'stream', options, context)
}

function mediaOf(source: WAMessage): MediaContent | undefined {
  const content = normalizeMessageContent(source.message)
  const type = mediaTypes.find((one) => one === getContentType(content ?? undefined))
  return (type && content?.[type]) ?? undefined
}
