// Routes replies of people to our messages: a reply goes to the session that sent the message. If that session was reset since,
// the reply goes to a fork of the old conversation, at the point of the message.
import { createHash } from 'node:crypto'
import type { Address } from '../domain/address.ts'
import type { Clock } from '../domain/clock.ts'
import type { Events } from '../domain/events.ts'
import type { Message } from '../domain/message.ts'
import type { Delivery, SessionPoint } from '../domain/reply.ts'
import { parseAgentSessionKey } from '../domain/session-key-forms.ts'
import type { SessionEntry } from '../domain/session.ts'
import type { OnSent } from '../replies/deliver.ts'
import { authorOf } from '../rights/author.ts'
import { mayFollowReply } from '../rights/chat-rights.ts'
import { newEntry } from '../sessions/session-parts.ts'
import { routeReply } from '../store/tables/reply-map.ts'
import type { ReplyMap, ReplyRoute } from '../store/tables/reply-map.ts'
import type { SessionStore, TranscriptRef, TranscriptStore } from '../store/session-store.ts'
import { transcriptOf } from '../store/transcripts/transcript-paths.ts'
import { addressOfSession } from '../domain/session.ts'
import { authorOfSession } from './turn-rights.ts'

export interface ReplyRoutingParts {
  replies: ReplyMap
  sessions: (agentId: string) => SessionStore
  transcripts: (agentId: string) => TranscriptStore
  clock: Clock
  events: Pick<Events, 'emit'>
  /** The command that sends a text to a coding session, whether it runs or must be resumed. */
  codingCommand: (codingId: string, text: string) => string
  /** Is this private chat the owner's? */
  isOwners: (address: Address) => boolean
}

/** Parts of the flow: see FlowParts. */
export interface ReplyRouting {
  onSent: OnSent
  routeReply(message: Message): Promise<{ agentId: string; sessionKey: string } | undefined>
  /** The notice or question that the message is a reply to. */
  answered(message: Message): Promise<AnsweredNotice | undefined>
  /** The command for a reply to a notice of a coding session. */
  replyCommand(message: Message): Promise<string | undefined>
}

/** What a reply answers: a question, a notice of a coding session, or both. */
export interface AnsweredNotice {
  codingId?: string
  approvalId?: string
}

/** The key of a coding session's notices; they are answered by a command. */
const codingKey = /^coding:(.+)$/

export function makeReplyRouting(parts: ReplyRoutingParts): ReplyRouting {
  const answered = async ({ address, replyTo }: Message): Promise<AnsweredNotice | undefined> => {
    const sent = replyTo && (await parts.replies.find(address, replyTo.id))
    const codingId = sent && codingKey.exec(sent.sessionKey)?.[1]
    const approvalId = sent?.approvalId
    return codingId === undefined && approvalId === undefined ? undefined : { codingId, approvalId }
  }
  return {
    answered,
    onSent: (delivery, messageIds, sentAt = parts.clock.now()) =>
      recordSent(parts, delivery, messageIds, sentAt),
    async routeReply(message) {
      const sent = message.replyTo && (await parts.replies.find(message.address, message.replyTo.id))
      if (!sent || sent.agentId === noAgent) return undefined
      const current = await parts.sessions(sent.agentId).get(sent.sessionKey)
      if (!mayFollow(message, sent.sessionKey, current, parts)) return undefined
      const route = routeReply(sent, current)
      return route.kind === 'continue' ? route : forkAt(parts, route, message)
    },
    async replyCommand(message) {
      const isPlain =
        message.event === 'message' && message.text.trim() !== '' && !message.text.trim().startsWith('/')
      const codingId = isPlain ? (await answered(message))?.codingId : undefined
      return codingId && parts.codingCommand(codingId, message.text.trim())
    },
  }
}

/** False if the session belongs to another author: then the reply stays in its own chat's session. */
function mayFollow(
  { address, chatType }: Message,
  sessionKey: string,
  entry: SessionEntry | undefined,
  parts: Pick<ReplyRoutingParts, 'isOwners'>,
): boolean {
  // The chat of the reply decides its author, not the session that it would reach.
  const author = authorOf({ sessionKey: '', chatType, address }, parts.isOwners)
  const session = { author: authorOfSession(sessionKey, entry, parts), address: addressOfSession(entry) }
  return mayFollowReply({ author, address }, session)
}

/** Of messages that are in no session of an agent. */
const noAgent = ''

async function recordSent(
  parts: ReplyRoutingParts,
  { address, sessionKey = '', sessionPoint, reply: { approvalId } }: Delivery,
  messageIds: string[],
  sentAt: number,
): Promise<void> {
  const agentId = parseAgentSessionKey(sessionKey)?.agentId ?? noAgent
  const isAnswerable = agentId !== noAgent || codingKey.test(sessionKey) || approvalId !== undefined
  if (!isAnswerable) return
  // A question is in no transcript, and must be known at once: its answer may come before the turn that asks is recorded.
  const isInTranscript = agentId !== noAgent && approvalId === undefined
  const point = isInTranscript ? (sessionPoint ?? (await pointOf(parts, agentId, sessionKey))) : {}
  await parts.replies.record(address, messageIds, { agentId, sessionKey, sentAt, approvalId, ...point })
}

/** The current end of the session's transcript, for messages that are not answers of a turn. */
async function pointOf(
  parts: ReplyRoutingParts,
  agentId: string,
  sessionKey: string,
): Promise<SessionPoint | undefined> {
  const entry = await parts.sessions(agentId).get(sessionKey)
  if (!entry) return undefined
  const page = await parts.transcripts(agentId).tail(transcriptOf({ key: sessionKey, entry }), 1)
  const last = page.entries.at(-1)
  return { sessionId: entry.sessionId, ...(last ? { entryId: last.id } : {}) }
}

type ForkRoute = Extract<ReplyRoute, { kind: 'fork' }>

/** The key is derived from the answered message, so that a second reply to it finds the same fork. */
async function forkAt(
  parts: ReplyRoutingParts,
  route: ForkRoute,
  message: Message,
): Promise<{ agentId: string; sessionKey: string } | undefined> {
  const { agentId } = route
  const sessions = parts.sessions(agentId)
  const sessionId = forkIdOf(message)
  const sessionKey = `agent:${agentId}:dashboard:${sessionId}`
  if (await sessions.get(sessionKey)) return { agentId, sessionKey }
  const forked = await forkOldTranscript(parts.transcripts(agentId), route, sessionId)
  if (!forked) return undefined
  await sessions.update(
    sessionKey,
    (entry) =>
      entry ??
      newEntry(parts.clock.now(), {
        sessionId,
        sessionFile: forked.file,
        parentSessionKey: route.sessionKey,
        forkedFromParent: true,
      }),
  )
  parts.events.emit({ type: 'session-changed', agentId, key: sessionKey, why: 'created' })
  return { agentId, sessionKey }
}

/** A reset has archived the old transcript: unarchives it, forks it, and archives it again. */
async function forkOldTranscript(
  transcripts: TranscriptStore,
  route: ForkRoute,
  sessionId: string,
): Promise<TranscriptRef | undefined> {
  const to = { sessionId, ...(route.entryId === undefined ? {} : { leafId: route.entryId }) }
  const live: TranscriptRef = { sessionId: route.sessionId }
  if (await transcripts.exists(live)) return transcripts.fork(live, to)
  const archived = (await transcripts.archives()).findLast((one) => one.sessionId === route.sessionId)
  if (!archived) return undefined
  const ref = await transcripts.unarchive(archived.name)
  try {
    return await transcripts.fork(ref, to)
  } finally {
    await transcripts.archive(ref, 'reset')
  }
}

function forkIdOf(message: Message): string {
  const { channel, accountId, to } = message.address
  const hash = createHash('sha256').update(JSON.stringify([channel, accountId, to, message.replyTo?.id]))
  const hex = hash.digest('hex')
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join('-')
}
