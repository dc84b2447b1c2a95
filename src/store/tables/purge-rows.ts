// Removes what the tables of both databases hold of a session: messages, replies, overheard messages, and answers that were
// kept for a repeated request. What a turn cost stays: it holds no text.
import { parseStored } from '../../domain/json.ts'
import { purgedAnswer } from './answers.ts'
import { all, run, type Transaction } from './sql-database.ts'

export interface PurgedSession {
  key: string
  agentId: string
  /** The key under which messages of its group are kept. */
  group?: string
}

/** Returns the files that went with its replies. */
export function* purgeRows({ key, agentId, group }: PurgedSession): Transaction<string[]> {
  const sent = yield* all<{ record: string }>('DELETE FROM outbox WHERE lane = ? RETURNING record', [key])
  // The key of a message stays: if the platform sends the message again, it must not be answered.
  yield* run(
    `UPDATE inbox SET record = '{}', state = 'stopped' WHERE lane = ? AND state IN ('waiting', 'given-up')`,
    [key],
  )
  yield* run('DELETE FROM system_event WHERE session_key = ?', [key])
  yield* run('DELETE FROM sent_message WHERE agent = ? AND session_key = ?', [agentId, key])
  if (group !== undefined) yield* run('DELETE FROM overheard WHERE group_key = ?', [group])
  // Answers that contain the key: `replace` is a search that both databases have.
  const named = JSON.stringify(key)
  yield* run(`UPDATE answer SET output = ?1 WHERE output IS NOT NULL AND replace(output, ?2, '') <> output`, [
    purgedAnswer,
    named,
  ])
  return sent.flatMap(
    ({ record }) => parseStored<{ reply?: { media?: string[] } }>(record).reply?.media ?? [],
  )
}
