// Stores the files that came with a message. If that fails, the message says that a file is missing and is still
// delivered with everything else.
import type { ChannelHost } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Media, Message } from '../domain/message.ts'

/** How long the download of a file may take. */
export const fetchMs = 60_000

/** Adds a file to `message`, or a line that says why it is missing. `describe` puts an error into words without secrets. */
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

/** Downloads a file from a platform's server. Errors never contain `url`: it may hold a token. */
export async function download(
  url: string,
  { name, mimeType }: { name?: string; mimeType?: string },
  platform: string,
  host: ChannelHost,
): Promise<Media> {
  const response = await fetch(url, { signal: AbortSignal.timeout(fetchMs), redirect: 'error' })
  if (!response.ok || !response.body)
    throw new RockpoolError('unavailable', `${platform} answered ${response.status} for a file.`)
  return host.media.keep(response.body, { name, mimeType })
}
