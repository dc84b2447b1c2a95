// What the state database holds of a session, removed for good: messages, replies, what was overheard in its group, what
// it asked permission for, answers that were kept in case they are asked for again. What a turn cost stays: it has no words.
import type { Database, Queries } from './database.ts'
import { purgedAnswer } from './answers.ts'

export interface PurgedSession {
  key: string
  agentId: string
  /** Under which name its group's talk is kept. */
  group?: string
}

/** Resolves to the files that went with its replies. */
export async function purgeWork(db: Database, session: PurgedSession): Promise<string[]> {
  const files = await db.write((q) => purgeRows(q, session))
  await db.rewrite()
  return files
}

function purgeRows(q: Queries, { key, agentId, group }: PurgedSession): string[] {
  const sent = q.all<{ record: string }>('SELECT record FROM outbox WHERE lane = ?', key)
  // The key of a message stays: its platform may send it once more, and it must not be answered then.
  q.run(`UPDATE inbox SET record = '{}', state = 'stopped' WHERE lane = ? AND state = 'waiting'`, key)
  q.run('DELETE FROM outbox WHERE lane = ?', key)
  q.run('DELETE FROM system_event WHERE session_key = ?', key)
  q.run('DELETE FROM sent_message WHERE agent = ? AND session_key = ?', agentId, key)
  q.run('DELETE FROM approval WHERE session_key = ?', key)
  q.run('DELETE FROM grant_always WHERE session_key = ?', key)
  q.run('UPDATE answer SET output = ? WHERE instr(output, ?) > 0', purgedAnswer, JSON.stringify(key))
  if (group !== undefined) q.run('DELETE FROM overheard WHERE group_key = ?', group)
  return sent.flatMap(
    ({ record }) => (JSON.parse(record) as { reply?: { media?: string[] } }).reply?.media ?? [],
  )
}
