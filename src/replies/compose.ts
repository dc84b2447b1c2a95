// From what the agent said to what is sent, in the seeds' order: heartbeat tokens, threading, directives, only what can
// be shown, nothing that a tool or the stream has sent already.
import type { Reply } from '../domain/reply.ts'
import type { ParsedDirectives } from './directives.ts'
import { parseReplyDirectives } from './directives.ts'
import { filterMessagingToolDuplicates } from './dedupe.ts'
import type { ReplyPayload } from './payload.ts'
import { isRenderablePayload } from './payload.ts'
import { stripHeartbeatToken } from './silent-tokens.ts'

export type ReplyToMode = 'off' | 'first' | 'all'

export interface ComposeOptions {
  isHeartbeat?: boolean
  currentMessageId?: string
  /** Which replies answer the message by quoting it, if the agent does not say. */
  replyToMode?: ReplyToMode
  /** What a tool of ours sent to this chat during the turn. */
  sentTexts?: readonly string[]
  /** What the stream has shown already, block by block. */
  streamedTexts?: readonly string[]
  mayAttach?: (path: string) => string | undefined
}

export interface Composed {
  replyPayloads: ReplyPayload[]
  /** Files that the agent wanted to send and may not, with the reason. */
  refused: string[]
}

export function buildReplyPayloads(
  payloads: readonly ReplyPayload[],
  options: ComposeOptions = {},
): Composed {
  const spoken = payloads.flatMap((payload) => withoutHeartbeat(payload, options))
  const threaded = applyReplyThreading(spoken, options)
  const refused: string[] = []
  const directed = threaded.flatMap((payload) => withDirectives(payload, options, refused))
  const renderable = directed.filter(isRenderablePayload)
  const unsent = filterMessagingToolDuplicates({ payloads: renderable, sentTexts: options.sentTexts ?? [] })
  const streamed = new Set((options.streamedTexts ?? []).map((text) => text.trim()))
  const replyPayloads = unsent.filter(
    (payload) => hasMedia(payload) || !streamed.has(payload.text?.trim() ?? ''),
  )
  return { replyPayloads, refused }
}

/** Which message a reply answers, before the agent's own directives have their say. */
export function applyReplyThreading(
  payloads: readonly ReplyPayload[],
  options: ComposeOptions,
): ReplyPayload[] {
  const { replyToMode = 'off', currentMessageId } = options
  return payloads.map((payload, index) => {
    const wanted = payload.replyToCurrent || replyToMode === 'all' || (replyToMode === 'first' && index === 0)
    if (payload.replyToId !== undefined || !wanted || currentMessageId === undefined) return payload
    return { ...payload, replyToId: currentMessageId }
  })
}

export function asReply(payload: ReplyPayload): Reply {
  const media = [...(payload.mediaUrl ? [payload.mediaUrl] : []), ...(payload.mediaUrls ?? [])]
  return {
    ...(payload.text ? { text: payload.text } : {}),
    ...(media.length > 0 ? { media } : {}),
    ...(payload.replyToId === undefined ? {} : { replyToId: payload.replyToId }),
    ...(payload.audioAsVoice ? { audioAsVoice: true } : {}),
    ...(payload.isError ? { isError: true } : {}),
  }
}

function withoutHeartbeat(payload: ReplyPayload, options: ComposeOptions): ReplyPayload[] {
  if (payload.text === undefined) return [payload]
  const { text, shouldSkip, didStrip } = stripHeartbeatToken(payload.text, {
    mode: options.isHeartbeat ? 'heartbeat' : 'message',
  })
  if (!didStrip) return [payload]
  return shouldSkip && !hasMedia(payload) ? [] : [{ ...payload, text }]
}

function withDirectives(payload: ReplyPayload, options: ComposeOptions, refused: string[]): ReplyPayload[] {
  if (payload.text === undefined) return [payload]
  const { currentMessageId, mayAttach } = options
  const parsed = parseReplyDirectives(payload.text, {
    ...(currentMessageId === undefined ? {} : { currentMessageId }),
    ...(mayAttach === undefined ? {} : { mayAttach }),
  })
  refused.push(...parsed.refused)
  return [merge(payload, parsed)]
}

function merge(payload: ReplyPayload, parsed: ParsedDirectives): ReplyPayload {
  const { isSilent: _silent, refused: _refused, mediaUrls = [], ...directives } = parsed
  const media = [...(payload.mediaUrls ?? []), ...mediaUrls]
  return { ...payload, ...directives, ...(media.length > 0 ? { mediaUrls: media } : {}) }
}

function hasMedia(payload: ReplyPayload): boolean {
  return Boolean(payload.mediaUrl || payload.mediaUrls?.length)
}
