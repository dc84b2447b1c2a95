// Fetches the files that came with a Telegram message. A file that cannot be fetched is named in the message: whoever
// reads it must know that something is missing.
import { GrammyError } from 'grammy'
import type { Api } from 'grammy'
import type { ChannelHost } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Media, Message } from '../domain/message.ts'
import { backOffMs, pause } from './back-off.ts'
import { addFile } from './received-files.ts'
import { describeFailure } from './telegram-send.ts'
import type { TelegramFile } from './telegram-updates.ts'

const tries = 3
const fetchMs = 60_000

/** Adds the files to `message`, or a line on each that is missing. */
export async function fetchFiles(
  api: Api,
  urlOf: (filePath: string) => string,
  files: TelegramFile[],
  message: Message,
  host: ChannelHost,
): Promise<void> {
  for (const file of files) {
    await addFile(message, host, () => fetchWithPatience(api, urlOf, file, host), describeFailure)
  }
}

async function fetchWithPatience(
  api: Api,
  urlOf: (filePath: string) => string,
  file: TelegramFile,
  host: ChannelHost,
): Promise<Media> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fetchOne(api, urlOf, file, host)
    } catch (error) {
      const forGood = error instanceof GrammyError || error instanceof RockpoolError
      if (forGood || attempt === tries) throw error
      await pause(host.clock, backOffMs(attempt), AbortSignal.timeout(fetchMs))
    }
  }
}

async function fetchOne(
  api: Api,
  urlOf: (filePath: string) => string,
  file: TelegramFile,
  host: ChannelHost,
): Promise<Media> {
  const { file_path: path } = await api.getFile(file.fileId)
  if (!path) throw new RockpoolError('unavailable', 'Telegram does not give this file out.')
  const response = await fetch(urlOf(path), { signal: AbortSignal.timeout(fetchMs), redirect: 'error' })
  // The address holds the bot's token, so it stays out of every error.
  if (!response.ok || !response.body) throw new Error(`Telegram answered ${response.status} for a file`)
  return host.media.keep(response.body, { name: file.name, mimeType: file.mimeType })
}
