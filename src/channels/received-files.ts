// Stores a file that came with a message. If that fails, the message says that the file is missing and is still
// delivered with everything else.
import type { ChannelHost } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Media, Message } from '../domain/message.ts'

/** `describe` says what went wrong in words that hold no secret. */
export async function addFile(
  message: Message,
  host: ChannelHost,
  fetch: () => Promise<Media>,
  describe: (error: unknown) => string = () => 'it could not be fetched.',
): Promise<void> {
  try {
    message.media.push(await fetch())
  } catch (error) {
    const reason = error instanceof RockpoolError ? error.message : describe(error)
    host.log.warn(
      { event: 'attachment-missing', reason },
      'Could not store an attachment; the message says that it is missing.',
    )
    const line = `A file came with this message but is missing: ${reason}`
    message.untrusted = [...(message.untrusted ?? []), line]
  }
}
