// Library functions on reply payloads: what the agent said becomes what is sent, in this order of steps (heartbeat tokens,
// threading, directives, only what can be shown, nothing that a tool or the stream has sent already).
import { parseDirectives, stripHeartbeatToken, type ParsedDirectives } from '../replies/compose.ts'

export interface ReplyPayload {
  text?: string
  mediaUrl?: string
  mediaUrls?: string[]
  /** Reply to this message. */
  replyToId?: string
  /** The agent asked for a reply to a message. */
  replyToTag?: boolean
  /** Reply to the message that started the turn. */
  replyToCurrent?: boolean
  audioAsVoice?: boolean
  isError?: boolean
  channelData?: Record<string, unknown>
}

export interface ReplyPayloadOptions {
  isHeartbeat?: boolean
  currentMessageId?: string
  /** Which replies quote the message that they answer, if the agent does not say. */
  replyToMode?: 'off' | 'first' | 'all'
  /** Texts that a tool sent to this chat during the turn. */
  sentTexts?: readonly string[]
  /** Texts that the stream has shown, block by block. */
  streamedTexts?: readonly string[]
}

export function buildReplyPayloads(
  payloads: readonly ReplyPayload[],
  options: ReplyPayloadOptions = {},
): { replyPayloads: ReplyPayload[]; refused: string[] } {
  const spoken = payloads.flatMap((payload) => withoutHeartbeat(payload, options))
  const refused: string[] = []
  const threaded = applyReplyThreading(spoken, options)
  const directed = threaded.map((payload) => withDirectives(payload, options, refused))
  const unsent = filterMessagingToolDuplicates({
    payloads: directed.filter(isRenderablePayload),
    sentTexts: options.sentTexts ?? [],
  })
  const streamed = new Set((options.streamedTexts ?? []).map((text) => text.trim()))
  const replyPayloads = unsent.filter(
    (payload) => hasMedia(payload) || !streamed.has(payload.text?.trim() ?? ''),
  )
  return { replyPayloads, refused }
}

/** Sets which message each reply answers. A directive of the agent, applied later, overrides this. */
export function applyReplyThreading(
  payloads: readonly ReplyPayload[],
  options: ReplyPayloadOptions,
): ReplyPayload[] {
  const { replyToMode = 'off', currentMessageId } = options
  return payloads.map((payload, index) => {
    const wanted = payload.replyToCurrent || replyToMode === 'all' || (replyToMode === 'first' && index === 0)
    if (payload.replyToId !== undefined || !wanted || currentMessageId === undefined) return payload
    return { ...payload, replyToId: currentMessageId }
  })
}

/** `ParsedDirectives` with the field names of `ReplyPayload`. */
export function parseReplyDirectives(
  raw: string,
  options: { currentMessageId?: string } = {},
): ReplyPayload & Pick<ParsedDirectives, 'text' | 'isSilent' | 'refused'> {
  const { media, ...parsed } = parseDirectives(raw, options.currentMessageId)
  return {
    ...parsed,
    ...(media ? { mediaUrls: media } : {}),
    ...(parsed.replyToCurrent === undefined ? {} : { replyToTag: true }),
  }
}

/** Is there anything to show? */
export function isRenderablePayload(payload: ReplyPayload): boolean {
  const { text, audioAsVoice, channelData = {} } = payload
  return Boolean(text?.trim() || hasMedia(payload) || audioAsVoice || Object.keys(channelData).length > 0)
}

/** Texts shorter than this ("Done.") are never treated as duplicates. */
const shortestDuplicate = 10

/** Removes what the agent has already sent with a tool during the turn. */
export function filterMessagingToolDuplicates(params: {
  payloads: readonly ReplyPayload[]
  sentTexts: readonly string[]
}): ReplyPayload[] {
  const sent = params.sentTexts.map(normalize).filter((text) => text.length >= shortestDuplicate)
  return params.payloads.filter((payload) => {
    const text = normalize(payload.text ?? '')
    return hasMedia(payload) || text.length < shortestDuplicate || !sent.includes(text)
  })
}

function withoutHeartbeat(payload: ReplyPayload, options: ReplyPayloadOptions): ReplyPayload[] {
  if (payload.text === undefined) return [payload]
  const mode = options.isHeartbeat ? 'heartbeat' : 'message'
  const { text, shouldSkip, didStrip } = stripHeartbeatToken(payload.text, { mode })
  if (!didStrip) return [payload]
  return shouldSkip && !hasMedia(payload) ? [] : [{ ...payload, text }]
}

function withDirectives(
  payload: ReplyPayload,
  { currentMessageId }: ReplyPayloadOptions,
  refused: string[],
): ReplyPayload {
  if (payload.text === undefined) return payload
  const parsed = parseReplyDirectives(payload.text, { currentMessageId })
  const { isSilent: _silent, refused: notSent, mediaUrls = [], ...directives } = parsed
  refused.push(...notSent)
  const media = [...(payload.mediaUrls ?? []), ...mediaUrls]
  return { ...payload, ...directives, ...(media.length > 0 ? { mediaUrls: media } : {}) }
}

function hasMedia({ mediaUrl, mediaUrls }: ReplyPayload): boolean {
  return Boolean(mediaUrl || mediaUrls?.length)
}

function normalize(text: string): string {
  return text
    .toLowerCase()
    .replace(/\p{Extended_Pictographic}/gu, '')
    .replace(/\s+/g, ' ')
    .trim()
}
