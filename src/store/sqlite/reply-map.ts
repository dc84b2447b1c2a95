// Which session each message that we sent belongs to, so that an answer to it reaches that session: days later, from
// another chat's thread, after a restart.
import type { Address } from '../../domain/address.ts'
import type { Database, Queries } from './database.ts'

export interface SentMessage {
  agentId: string
  sessionKey: string
  /** The transcript that was current then. Absent for a message that no transcript mirrors. */
  sessionId?: string
  /** The transcript's entry that the message shows. */
  entryId?: string
  sentAt: number
}

/** Where an answer to one of our messages goes. */
export type ReplyRoute =
  | { kind: 'continue'; agentId: string; sessionKey: string }
  /** That conversation has gone elsewhere since: a new one begins at the point that was answered. */
  | { kind: 'fork'; agentId: string; sessionKey: string; sessionId: string; entryId?: string }

export const sentKeptMs = 180 * 86_400_000

export const sentMessageTables = `
  CREATE TABLE sent_message (
    channel TEXT NOT NULL, account TEXT NOT NULL, chat TEXT NOT NULL, message TEXT NOT NULL,
    agent TEXT NOT NULL, session_key TEXT NOT NULL, session_id TEXT, entry_id TEXT, sent_at INTEGER NOT NULL,
    PRIMARY KEY (channel, account, chat, message)
  ) STRICT, WITHOUT ROWID;
  CREATE INDEX sent_message_at ON sent_message (sent_at);
`

export interface ReplyMap {
  /** All messages that one reply became. Durable when it resolves; best done before the delivery counts as sent. */
  record(address: Address, messageIds: readonly string[], sent: SentMessage): Promise<void>
  find(address: Address, messageId: string): Promise<SentMessage | undefined>
  /** Answers to messages older than half a year are not routed. */
  forget(now: number): Promise<void>
}

export function sqliteReplyMap(database: Database): ReplyMap {
  return {
    record: (address, messageIds, sent) =>
      database.write((q) => {
        for (const messageId of messageIds) insertSent(q, address, messageId, sent)
      }),
    async find({ channel, accountId, to }, messageId) {
      const sql = 'SELECT * FROM sent_message WHERE channel = ? AND account = ? AND chat = ? AND message = ?'
      const row = database.read((q) => q.get<SentRow>(sql, channel, accountId, to, messageId))
      return row && asSent(row)
    },
    forget: (now) =>
      database.write((q) => void q.run('DELETE FROM sent_message WHERE sent_at < ?', now - sentKeptMs)),
  }
}

function insertSent(q: Queries, address: Address, messageId: string, sent: SentMessage): void {
  q.run(
    `INSERT OR REPLACE INTO sent_message
       (channel, account, chat, message, agent, session_key, session_id, entry_id, sent_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    address.channel,
    address.accountId,
    address.to,
    messageId,
    sent.agentId,
    sent.sessionKey,
    sent.sessionId ?? null,
    sent.entryId ?? null,
    sent.sentAt,
  )
}

/**
 * `current` is what the session's row says now: none when it was deleted.
 * A session moved on when its key has another transcript: a reset, a new conversation.
 */
export function routeReply(sent: SentMessage, current: { sessionId: string } | undefined): ReplyRoute {
  const { agentId, sessionKey, sessionId, entryId } = sent
  const hasMovedOn = sessionId !== undefined && current?.sessionId !== sessionId
  if (!hasMovedOn) return { kind: 'continue', agentId, sessionKey }
  return { kind: 'fork', agentId, sessionKey, sessionId, ...(entryId === undefined ? {} : { entryId }) }
}

/** A row of the table, whichever database holds it. */
export interface SentRow {
  agent: string
  session_key: string
  session_id: string | null
  entry_id: string | null
  sent_at: number
}

export function asSent(row: SentRow): SentMessage {
  return {
    agentId: row.agent,
    sessionKey: row.session_key,
    sentAt: row.sent_at,
    ...(row.session_id === null ? {} : { sessionId: row.session_id }),
    ...(row.entry_id === null ? {} : { entryId: row.entry_id }),
  }
}
