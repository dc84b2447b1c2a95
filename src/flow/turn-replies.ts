// Step four: what the agent said becomes replies, with what the person asked to see beside them: tools, reasoning,
// tokens.
import type { Address } from '../domain/address.ts'
import type { Reply } from '../domain/reply.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import { asReply, buildReplyPayloads } from '../replies/compose.ts'
import type { ReplyPayload } from '../replies/payload.ts'
import { isSilentReplyText } from '../replies/silent-tokens.ts'
import type { SendableFiles } from '../store/media/workspace-attachment.ts'
import { toolLine } from './tool-line.ts'
import type { FlowParts } from './flow-parts.ts'

export interface ReplyContext {
  session: Session
  address: Address
  sendable: SendableFiles
  currentMessageId?: string
  isHeartbeat: boolean
  /** What people must know before the answer: a reset, a lost thread, a retry. */
  announcements: readonly string[]
  events: readonly TurnEvent[]
}

export async function composeReplies(
  result: TurnResult,
  context: ReplyContext,
  parts: FlowParts,
): Promise<Reply[]> {
  if (result.end.kind === 'failed') {
    return [announced({ text: result.end.message, isError: true }, context.announcements)]
  }
  if (result.end.kind === 'interrupted') return []
  const spoken: ReplyPayload[] = isSilentReplyText(result.said.at(-1))
    ? []
    : result.said.map((text) => ({ text }))
  const { replyPayloads, refused } = buildReplyPayloads(spoken, {
    isHeartbeat: context.isHeartbeat,
    ...(context.currentMessageId === undefined ? {} : { currentMessageId: context.currentMessageId }),
  })
  const attached = await Promise.all(replyPayloads.map((payload) => attach(payload, context, parts, refused)))
  const replies = joinTexts(attached.map(asReply).filter((reply) => reply.text || reply.media))
  const notSent = refused.map((line) => `(Not sent: ${line}.)`)
  if (replies.length === 0) {
    const told = [...context.announcements, ...notSent]
    return told.length === 0 ? [] : [{ text: told.join('\n') }]
  }
  const before = [...extrasBefore(context), ...notSent]
  const after = usageLine(context.session.entry, result, parts)
  return decorate(replies, [...context.announcements, ...before], after)
}

/** Words that belong together go as one message; a file or an answer to another message begins a new one. */
function joinTexts(replies: readonly Reply[]): Reply[] {
  const joined: Reply[] = []
  for (const reply of replies) {
    const last = joined.at(-1)
    const mayJoin =
      last &&
      !last.media &&
      !last.audioAsVoice &&
      (reply.replyToId === undefined || reply.replyToId === last.replyToId)
    if (mayJoin && last.text && reply.text)
      joined[joined.length - 1] = {
        ...last,
        ...reply,
        text: `${last.text}\n\n${reply.text}`,
        ...(last.replyToId ? { replyToId: last.replyToId } : {}),
      }
    else joined.push(reply)
  }
  return joined
}

async function attach(
  payload: ReplyPayload,
  { session, sendable }: Pick<ReplyContext, 'session' | 'sendable'>,
  parts: FlowParts,
  refused: string[],
): Promise<ReplyPayload> {
  if (!payload.mediaUrls?.length) return payload
  const mediaUrls: string[] = []
  for (const path of payload.mediaUrls) {
    const file = (await parts.attach?.(session, path, sendable)) ?? {
      refused: 'files cannot be sent from here',
    }
    if ('path' in file) mediaUrls.push(file.path)
    else refused.push(`${path}: ${file.refused}`)
  }
  const { mediaUrls: _wanted, ...rest } = payload
  return mediaUrls.length > 0 ? { ...rest, mediaUrls } : rest
}

function extrasBefore({ session, events }: ReplyContext): string[] {
  const { verboseLevel, reasoningLevel } = session.entry
  const tools = isOn(verboseLevel)
    ? events.flatMap((event) => (event.type === 'tool-start' ? [toolLine(event.name, event.input)] : []))
    : []
  const thoughts = isOn(reasoningLevel)
    ? events.flatMap((event) => (event.type === 'thinking' ? [event.text.trim()] : []))
    : []
  const reasoning = thoughts.filter((thought) => thought !== '')
  return [
    ...(reasoning.length > 0 ? [`Reasoning:\n${reasoning.join('\n\n')}`] : []),
    ...(tools.length > 0 ? [tools.join('\n')] : []),
  ]
}

function usageLine(entry: SessionEntry, result: TurnResult, parts: FlowParts): string | undefined {
  const wanted = entry.responseUsage
  if (wanted === undefined || wanted === 'off') return undefined
  const { input, output, cacheRead, cacheWrite } = result.usage
  const tokens = `${count(input + cacheRead + cacheWrite)} in, ${count(output)} out`
  if (wanted !== 'full') return `(${tokens})`
  const cost = `$${result.costUsd.toFixed(4)}${parts.runtime.billing === 'subscription' ? ' at API prices' : ''}`
  const context =
    result.contextTokens && result.contextWindow
      ? `, context ${Math.round((100 * result.contextTokens) / result.contextWindow)}%`
      : ''
  return `(${tokens}, ${cost}${context}, ${result.model ?? 'unknown model'})`
}

function decorate(replies: readonly Reply[], before: readonly string[], after: string | undefined): Reply[] {
  return replies.map((reply, index) => {
    const text = [
      ...(index === 0 ? before : []),
      reply.text,
      ...(index === replies.length - 1 && after ? [after] : []),
    ]
      .filter((part) => part !== undefined && part !== '')
      .join('\n\n')
    return text === '' ? reply : { ...reply, text }
  })
}

function announced(reply: Reply, announcements: readonly string[]): Reply {
  return { ...reply, text: [...announcements, reply.text].join('\n\n') }
}

function isOn(level: string | undefined): boolean {
  return level !== undefined && level !== 'off'
}

function count(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : `${(tokens / 1_000).toFixed(1)}k`
}
