// Which transcripts there are, and setting one aside under a name that says why and when.
import type { TranscriptArchive } from '../session-store.ts'
import { archiveName } from '../transcripts/transcript-paths.ts'
import type { ArchiveReason } from '../transcripts/transcript-paths.ts'
import type { Postgres, Statements } from './connection.ts'

interface NamedRow {
  name: string
  session_id: string
  topic_id: string | null
  bytes: number
}

/** Newest first. */
export async function listArchives(postgres: Postgres, agentId: string): Promise<TranscriptArchive[]> {
  const rows = await postgres.read<NamedRow & { reason: ArchiveReason; archived_at: number }>(
    `SELECT name, session_id, topic_id, bytes, reason, archived_at FROM transcript
     WHERE agent = $1 AND archived_at IS NOT NULL ORDER BY archived_at DESC`,
    [agentId],
  )
  return rows.map((row) => ({ ...named(row), reason: row.reason, at: row.archived_at }))
}

export async function listCurrent(
  postgres: Postgres,
  agentId: string,
): Promise<Array<ReturnType<typeof named> & { changedAt: number }>> {
  const rows = await postgres.read<NamedRow & { changed_at: number }>(
    `SELECT name, session_id, topic_id, bytes, changed_at FROM transcript
     WHERE agent = $1 AND archived_at IS NULL ORDER BY name`,
    [agentId],
  )
  return rows.map((row) => ({ ...named(row), changedAt: row.changed_at }))
}

function named({ name, session_id: sessionId, topic_id: topicId, bytes }: NamedRow): {
  name: string
  sessionId: string
  topicId?: string
  bytes: number
} {
  return { name, sessionId, ...(topicId === null ? {} : { topicId }), bytes }
}

/** Resolves to an unused archive name. */
export async function setAside(
  { rows }: Statements,
  { agentId, id, name }: { agentId: string; id: number; name: string },
  reason: ArchiveReason,
  at: number,
): Promise<string> {
  const wanted = archiveName(name, reason, at)
  const [taken] = await rows<{ n: number }>(
    'SELECT count(*) AS n FROM transcript WHERE agent = $1 AND (name = $2 OR name LIKE $3)',
    [agentId, wanted, `${wanted.replaceAll(/[\\%_]/g, '\\$&')}-%`],
  )
  const free = taken!.n === 0 ? wanted : `${wanted}-${taken!.n + 1}`
  await rows('UPDATE transcript SET name = $2, reason = $3, archived_at = $4 WHERE id = $1', [
    id,
    free,
    reason,
    at,
  ])
  return free
}
