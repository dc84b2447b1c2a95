// The replies of a turn: what the agent said, with what the person asked to see beside it (tools, reasoning, tokens).
import type { Reply } from '../domain/reply.ts'
import type { Session, SessionEntry } from '../domain/session.ts'
import type { TurnEvent, TurnResult } from '../domain/turn.ts'
import { composeReplies, isSilentReplyText } from '../replies/compose.ts'
import type { SendableFiles } from '../store/media/outgoing-files.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { FlowParts } from './flow-parts.ts'
import { toolLine } from './tool-line.ts'

interface ReplySource {
  session: Session
  inputs: readonly WaitingInput[]
  /** The files that the agent may send. */
  sendable: SendableFiles
  /** Lines before the answer: a reset, a lost conversation, a retry. */
  announcements: readonly string[]
  events: readonly TurnEvent[]
}

export async function repliesOf(result: TurnResult, turn: ReplySource, parts: FlowParts): Promise<Reply[]> {
  const isHeartbeat = turn.inputs[0]!.turnOptions?.heartbeat === true
  const replies = await answerOf(result, turn, isHeartbeat, parts)
  const fresh = isHeartbeat ? await withoutRepeat(replies, turn.session, parts) : replies
  return fresh.length === 0 ? compactionReply(turn.events) : fresh
}

async function answerOf(
  result: TurnResult,
  turn: ReplySource,
  isHeartbeat: boolean,
  parts: FlowParts,
): Promise<Reply[]> {
  const { announcements } = turn
  if (result.end.kind === 'failed')
    return [{ text: [...announcements, result.end.message].join('\n\n'), isError: true }]
  if (result.end.kind === 'interrupted') return []
  const said = isSilentReplyText(result.said.at(-1)) ? [] : result.said
  const currentMessageId = turn.inputs.at(-1)!.message.id
  const { replies: composed, refused } = composeReplies(said, { isHeartbeat, currentMessageId })
  const attached: Reply[] = []
  for (const reply of composed) attached.push(reply.media ? await attach(reply, turn, parts, refused) : reply)
  const replies = joinTexts(attached.filter((reply) => reply.text || reply.media))
  const notSent = refused.map((line) => `(Not sent: ${line}.)`)
  if (replies.length === 0) {
    const lines = [...announcements, ...notSent]
    return lines.length === 0 ? [] : [{ text: lines.join('\n') }]
  }
  const before = [...announcements, ...extrasBefore(turn), ...notSent]
  return decorate(replies, before, usageLine(turn.session.entry, result, parts))
}

/** Joins texts into one message; a file, or an answer to another message, starts a new one. */
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
        replyToId: last.replyToId ?? reply.replyToId,
      }
    else joined.push(reply)
  }
  return joined
}

/** Replaces the paths of files by copies that may be sent. */
async function attach(
  reply: Reply,
  { session, sendable }: ReplySource,
  parts: FlowParts,
  refused: string[],
): Promise<Reply> {
  const media: string[] = []
  for (const path of reply.media ?? []) {
    const file = (await parts.attach?.(session, path, sendable)) ?? {
      refused: 'files cannot be sent from here',
    }
    if ('path' in file) media.push(file.path)
    else refused.push(`${path}: ${file.refused}`)
  }
  return { ...reply, media: media.length > 0 ? media : undefined }
}

function extrasBefore({ session, events }: ReplySource): string[] {
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

/** A heartbeat that repeats the text of the last one, within a day, is not sent. */
async function withoutRepeat(replies: Reply[], session: Session, parts: FlowParts): Promise<Reply[]> {
  const text = replies
    .map((reply) => reply.text ?? '')
    .join('\n\n')
    .trim()
  if (text === '') return replies
  const { lastHeartbeatText, lastHeartbeatSentAt = 0 } = session.entry
  const now = parts.clock.now()
  if (text === lastHeartbeatText && now - lastHeartbeatSentAt < 86_400_000) return []
  await parts
    .sessions(session.agentId)
    .update(session.key, (entry) => entry && { ...entry, lastHeartbeatText: text, lastHeartbeatSentAt: now })
  return replies
}

function compactionReply(events: readonly TurnEvent[]): Reply[] {
  const done = events.findLast((event) => event.type === 'compaction' && event.phase === 'end')
  if (done?.type !== 'compaction' || done.trigger !== 'manual') return []
  const { tokensBefore, tokensAfter } = done
  const figures = tokensBefore && tokensAfter ? `: ${tokensBefore} tokens became ${tokensAfter}` : ''
  return [{ text: `The conversation was summarised${figures}.` }]
}

function isOn(level: string | undefined): boolean {
  return level !== undefined && level !== 'off'
}

function count(tokens: number): string {
  return tokens < 1_000 ? String(tokens) : `${(tokens / 1_000).toFixed(1)}k`
}
