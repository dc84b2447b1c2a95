// The origin of a coding session: the chat that gets its notifications, and the marker in its first message.
import { formatOriginChannel, openclawChannel, parseOriginChannel } from '../../domain/address.ts'
import type { Address } from '../../domain/address.ts'
import type { CodingRequest } from '../../domain/coding-session.ts'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import { withoutMarker } from '../../domain/machine-text.ts'

/** The first of these that exists: the channel that the caller names, the chat of the caller, the directory's own channel,
 *  the fallback, `unknown`. */
export function resolveOriginChannel(
  asked: { originChannel?: string; messageChannel?: string; workdir: string },
  config: Pick<CodingConfig, 'agentChannels' | 'fallbackChannel'>,
): string {
  return (
    asked.originChannel ??
    asked.messageChannel ??
    channelOfDirectory(asked.workdir, config) ??
    config.fallbackChannel ??
    'unknown'
  )
}

/** The channel of the longest configured directory that contains the working directory. */
function channelOfDirectory(
  workdir: string,
  config: Pick<CodingConfig, 'agentChannels'>,
): string | undefined {
  const holding = Object.keys(config.agentChannels)
    .filter((directory) => workdir === directory || workdir.startsWith(`${directory.replace(/\/+$/, '')}/`))
    .sort((a, b) => b.length - a.length)
  return holding[0] === undefined ? undefined : config.agentChannels[holding[0]]
}

/** The chat to notify; undefined for `unknown`, `gateway` and anything else that is not an address. */
export function addressOfOrigin(originChannel: string, threadId?: string): Address | undefined {
  const address = parseOriginChannel(originChannel)
  return address && (threadId === undefined ? address : { ...address, threadId })
}

/** Was the session asked for in a chat of OpenClaw? Then OpenClaw's plugin delivers what it says. */
export function isOpenClawOrigin(originChannel: string): boolean {
  return parseOriginChannel(originChannel)?.channel === openclawChannel
}

/** Do two names mean the same chat? The default account may be named or left out. */
export function isSameOrigin(one: string, other: string): boolean {
  const plain = (name: string): string => {
    const address = parseOriginChannel(name)
    return address ? formatOriginChannel(address) : name
  }
  return plain(one) === plain(other)
}

/** Marks the first message as ours. A marker in the text itself is removed, because anybody could write it. */
export function withOriginMarker(agentId: string, prompt: string): string {
  return `[openclaw:agent=${agentId}]\n\n${withoutMarker(prompt)}`
}

/** The marker as a tag: a record in the transcript that no prompt can imitate. A resumed conversation keeps its tag. */
export function originTag({
  agentId,
  resume,
}: Pick<CodingRequest, 'agentId' | 'resume'>): string | undefined {
  return resume && !resume.fork ? undefined : `rockpool:${agentId}`
}
