// Which session each message that we sent belongs to, so that a reply to it reaches that session: days later, from another
// chat's thread, after a restart.
import type { Address } from '../../domain/address.ts'
import { fromRow, type SqlDatabase } from './sql-database.ts'

interface SentMessage {
  agentId: string
  sessionKey: string
  /** The transcript that was current when the message was sent. Absent for a message that is in no transcript. */
  sessionId?: string
  /** The transcript's entry that the message shows. */
  entryId?: string
  /** The approval that the message asks for. */
  approvalId?: string
  sentAt: number
}

/** Where a reply to one of our messages goes. */
export type ReplyRoute =
  | { kind: 'continue'; agentId: string; sessionKey: string }
  /** The session has another transcript now: a fork begins at the message that the person replied to. */
  | { kind: 'fork'; agentId: string; sessionKey: string; sessionId: string; entryId?: string }

export const sentKeptMs = 180 * 86_400_000

export interface ReplyMap {
  /** Records all messages that one reply became. Call it before the delivery is marked as sent. */
  record(address: Address, messageIds: readonly string[], sent: SentMessage): Promise<void>
  find(address: Address, messageId: string): Promise<SentMessage | undefined>
  /** Replies to messages older than half a year are not routed. */
  forget(now: number): Promise<void>
}

export function replyMapIn(sql: SqlDatabase): ReplyMap {
  return {
    async record({ channel, accountId, to }, messageIds, sent) {
      const { agentId, sessionKey, sessionId = null, entryId = null, approvalId = null, sentAt } = sent
      const session = [agentId, sessionKey, sessionId, entryId, approvalId, sentAt]
      if (messageIds.length === 0) return
      await sql.repeat(
        `INSERT INTO sent_message (channel, account, chat, message, agent, session_key, session_id, entry_id, approval_id, sent_at)
         VALUES ${messageIds.map(() => '(?, ?, ?, ?, ?, ?, ?, ?, ?, ?)').join(', ')}
         ON CONFLICT (channel, account, chat, message) DO UPDATE SET agent = excluded.agent,
           session_key = excluded.session_key, session_id = excluded.session_id, entry_id = excluded.entry_id,
           approval_id = excluded.approval_id, sent_at = excluded.sent_at`,
        messageIds.flatMap((id) => [channel, accountId, to, id, ...session]),
      )
    },
    async find({ channel, accountId, to }, messageId) {
      const row = await sql.get<object>(
        `SELECT agent AS agent_id, session_key, session_id, entry_id, approval_id, sent_at FROM sent_message
         WHERE channel = ? AND account = ? AND chat = ? AND message = ?`,
        [channel, accountId, to, messageId],
      )
      return row && fromRow<SentMessage>(row)
    },
    async forget(now) {
      await sql.repeat('DELETE FROM sent_message WHERE sent_at < ?', [now - sentKeptMs])
    },
  }
}

/** `current`: the session's row now; undefined when the session was deleted. */
export function routeReply(sent: SentMessage, current: { sessionId: string } | undefined): ReplyRoute {
  const { agentId, sessionKey, sessionId, entryId } = sent
  const isCurrent = sessionId === undefined || current?.sessionId === sessionId
  if (isCurrent) return { kind: 'continue', agentId, sessionKey }
  return { kind: 'fork', agentId, sessionKey, sessionId, entryId }
}
