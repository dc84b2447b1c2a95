// Where a coding session came from: the chat that is told about it, and the marker in its first message.
import { formatOriginChannel, parseOriginChannel } from '../../domain/address.ts'
import type { Address } from '../../domain/address.ts'
import type { CodingRequest } from '../../domain/coding-session.ts'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'

/** The seeds' order: said explicitly, the chat that asks, the directory's own channel, the fallback, `unknown`. */
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

/** The longest configured directory that holds the working directory. */
function channelOfDirectory(
  workdir: string,
  config: Pick<CodingConfig, 'agentChannels'>,
): string | undefined {
  const holding = Object.keys(config.agentChannels)
    .filter((directory) => workdir === directory || workdir.startsWith(`${directory.replace(/\/+$/, '')}/`))
    .sort((a, b) => b.length - a.length)
  return holding[0] === undefined ? undefined : config.agentChannels[holding[0]]
}

/** The chat to tell; undefined for `unknown`, `gateway` and whatever cannot be read as an address. */
export function addressOfOrigin(originChannel: string, threadId?: string): Address | undefined {
  const address = parseOriginChannel(originChannel)
  return address && (threadId === undefined ? address : { ...address, threadId })
}

/** Whether two names mean the same chat: the default account may be named or left out. */
export function isSameOrigin(one: string, other: string): boolean {
  const plain = (name: string): string => {
    const address = parseOriginChannel(name)
    return address ? formatOriginChannel(address) : name
  }
  return plain(one) === plain(other)
}

/** Marks the first message as ours. Whatever the text itself says at its beginning is not believed. */
export function withOriginMarker(agentId: string, prompt: string): string {
  return `[openclaw:agent=${agentId}]\n\n${withoutOriginMarker(prompt)}`
}

export function withoutOriginMarker(prompt: string): string {
  return prompt.replace(/^(\s*\[openclaw:agent=[^\]]*\]\s*)+/, '')
}

/** Says the same as the marker where no prompt can imitate it. A conversation that was somebody else's stays theirs. */
export function tagOf({ agentId, resume }: Pick<CodingRequest, 'agentId' | 'resume'>): string | undefined {
  return resume && !resume.fork ? undefined : `rockpool:${agentId}`
}
