// Two small memories that all machines share: which session a sent message belongs to, and what was answered to a
// request that may come again.
import type { Answers } from '../sqlite/answers.ts'
import { asSent, sentKeptMs } from '../sqlite/reply-map.ts'
import type { ReplyMap, SentRow } from '../sqlite/reply-map.ts'
import type { Postgres } from './connection.ts'

export function postgresReplyMap(postgres: Postgres): ReplyMap {
  return {
    async record(address, messageIds, sent) {
      await postgres.repeat(
        `INSERT INTO sent_message SELECT $1, $2, $3, message, $5, $6, $7, $8, $9 FROM unnest($4::text[]) AS message
         ON CONFLICT (channel, account, chat, message) DO UPDATE SET agent = excluded.agent,
           session_key = excluded.session_key, session_id = excluded.session_id, entry_id = excluded.entry_id,
           sent_at = excluded.sent_at`,
        [
          address.channel,
          address.accountId,
          address.to,
          messageIds,
          sent.agentId,
          sent.sessionKey,
          sent.sessionId ?? null,
          sent.entryId ?? null,
          sent.sentAt,
        ],
      )
    },
    async find({ channel, accountId, to }, messageId) {
      const [row] = await postgres.read<SentRow>(
        'SELECT * FROM sent_message WHERE channel = $1 AND account = $2 AND chat = $3 AND message = $4',
        [channel, accountId, to, messageId],
      )
      return row && asSent(row)
    },
    async forget(now) {
      await postgres.repeat('DELETE FROM sent_message WHERE sent_at < $1', [now - sentKeptMs])
    },
  }
}

export function postgresAnswers(postgres: Postgres): Answers {
  const place = ({ who, operation, key }: { who: string; operation: string; key: string }): string[] => [
    who,
    operation,
    key,
  ]
  const same = 'who = $1 AND operation = $2 AND key = $3'
  return {
    async claim(request, hash, now, forgetBefore) {
      await postgres.write('DELETE FROM answer WHERE at < $1', [forgetBefore])
      const made = await postgres.write(
        `INSERT INTO answer (who, operation, key, input_hash, at) VALUES ($1, $2, $3, $4, $5)
         ON CONFLICT DO NOTHING RETURNING key`,
        [...place(request), hash, now],
      )
      if (made.length > 0) return undefined
      const [row] = await postgres.read<{ input_hash: string; output: string | null }>(
        `SELECT input_hash, output FROM answer WHERE ${same}`,
        place(request),
      )
      return row
    },
    async keep(request, output) {
      await postgres.repeat(`UPDATE answer SET output = $4 WHERE ${same}`, [...place(request), output])
    },
    async forget(request) {
      await postgres.repeat(`DELETE FROM answer WHERE ${same}`, place(request))
    },
  }
}
