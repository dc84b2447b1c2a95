// Fetches the files that came with a Discord message, from Discord's own servers and nowhere else.
import type { ChannelHost } from '../domain/channel.ts'
import { RockpoolError } from '../domain/errors.ts'
import type { Message } from '../domain/message.ts'
import type { DiscordFile } from './discord-events.ts'
import { addFile } from './received-files.ts'

const fetchMs = 60_000

/** Adds the files to `message`, or a line on each that is missing. */
export async function fetchDiscordFiles(
  files: DiscordFile[],
  message: Message,
  hosts: ReadonlySet<string>,
  host: ChannelHost,
): Promise<void> {
  for (const file of files) await addFile(message, host, () => fetchOne(file, hosts, host))
}

async function fetchOne(
  file: DiscordFile,
  hosts: ReadonlySet<string>,
  host: ChannelHost,
): Promise<Message['media'][number]> {
  if (!hosts.has(new URL(file.url).host)) {
    throw new RockpoolError('refused', 'it is not on a server of Discord.')
  }
  const response = await fetch(file.url, { signal: AbortSignal.timeout(fetchMs), redirect: 'error' })
  if (!response.ok || !response.body)
    throw new RockpoolError('unavailable', `Discord answered ${response.status}.`)
  return host.media.keep(response.body, { name: file.name, mimeType: file.mimeType })
}
