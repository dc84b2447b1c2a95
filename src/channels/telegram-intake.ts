// Passes on the updates that Telegram sends: in order for each chat, with the files that came with them.
import { GrammyError, type Api } from 'grammy'
import type { Update } from 'grammy/types'
import { RockpoolError } from '../domain/errors.ts'
import type { Media } from '../domain/message.ts'
import type { IntakeParts } from './base-channel.ts'
import { addFile, download, fetchMs } from './received-files.ts'
import { backOffMs, pause } from './retry.ts'
import { readUpdate, type BotIdentity, type TelegramFile } from './telegram-messages.ts'
import { describeFailure } from './telegram-send.ts'

interface TelegramIntakeParts extends IntakeParts {
  api: Api
  accountId: string
  /** The address of a file; it contains the bot's token. */
  fileUrl: (filePath: string) => string
}

const maxDownloads = 3

export class TelegramIntake {
  #parts: TelegramIntakeParts

  constructor(parts: TelegramIntakeParts) {
    this.#parts = parts
  }

  /** Chats are processed in parallel, each in its own order. The offset never passes an update that is not durable. */
  async takeAll(updates: Update[], bot: BotIdentity): Promise<{ offset?: number; failed?: unknown }> {
    const chats = Map.groupBy(updates, (update) => chatOf(update))
    const failures = await Promise.all(
      [...chats.values()].map(async (ofOneChat) => {
        for (const update of ofOneChat) {
          try {
            await this.take(update, bot)
          } catch (error) {
            return { at: update.update_id, error }
          }
        }
        return undefined
      }),
    )
    const failed = failures.filter((one) => one !== undefined).sort((a, b) => a.at - b.at)[0]
    if (failed) return { offset: failed.at, failed: failed.error }
    const last = updates.at(-1)
    return last ? { offset: last.update_id + 1 } : {}
  }

  /** Resolves when the update is durable or needs no action. */
  async take(update: Update, bot: BotIdentity): Promise<void> {
    const { accountId, host, accept } = this.#parts
    const received = readUpdate(update, bot, accountId, host.clock.now())
    if (!received) return
    const { message, files } = received
    if (files.length > 0 && (await host.takesMedia(message))) {
      for (const file of files) await addFile(message, host, () => this.#fetch(file), describeFailure)
    }
    await accept(message)
  }

  async #fetch(file: TelegramFile): Promise<Media> {
    const { api, fileUrl, host, signal } = this.#parts
    for (let attempt = 1; ; attempt++) {
      try {
        const { file_path: path } = await api.getFile(file.fileId)
        if (!path) throw new RockpoolError('refused', 'Telegram does not give this file out.')
        return await download(fileUrl(path), file, 'Telegram', host)
      } catch (error) {
        if (isFinal(error) || attempt === maxDownloads) throw error
        await pause(host.clock, backOffMs(attempt), AbortSignal.any([signal, AbortSignal.timeout(fetchMs)]))
      }
    }
  }
}

/** Would a further attempt fail in the same way? */
function isFinal(error: unknown): boolean {
  if (error instanceof RockpoolError) return error.code !== 'unavailable'
  return error instanceof GrammyError
}

function chatOf(update: Update): number {
  const from = update.message ?? update.edited_message ?? update.channel_post ?? update.edited_channel_post
  return (from ?? update.callback_query?.message ?? update.message_reaction)?.chat.id ?? 0
}
