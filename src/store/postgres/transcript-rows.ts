// Rows of transcripts and their entries: read and written in batches, the path from an entry up to the root, and archives.
import { RockpoolError } from '../../domain/errors.ts'
import type { TranscriptEntry, TranscriptHeader } from '../../domain/transcript.ts'
import type { NewHeader, TranscriptArchive, TranscriptRef } from '../session-store.ts'
import { headerLine } from '../transcripts/transcript-append.ts'
import { archiveName, parseArchiveName, type ArchiveReason } from '../transcripts/transcript-paths.ts'
import { fromRow } from '../tables/sql-database.ts'
import type { Postgres, Statements } from './connection.ts'
import { callEach } from './grouped-calls.ts'

export interface EntryRow {
  seq: number
  id: string
  parent_id: string | null
  line: string
}

export interface TranscriptRow {
  id: number
  name: string
  header: string
  leaf_id: string | null
}

export function headerOf(row: TranscriptRow): TranscriptHeader {
  return JSON.parse(row.header) as TranscriptHeader
}

export const pieceRows = 500

/** The entry with its id and parent, which are columns and not part of its text. */
export function asEntry({ id, parent_id: parentId, line }: EntryRow): TranscriptEntry {
  return { ...(JSON.parse(line) as TranscriptEntry), id, parentId }
}

/** All entries in the order of writing, or those of `seqs`. */
export async function* entriesFrom(
  postgres: Postgres,
  transcript: number,
  seqs?: number[],
): AsyncGenerator<TranscriptEntry> {
  for (let last = 0, at = 0; ; at += pieceRows) {
    const wanted = seqs?.slice(at, at + pieceRows)
    const rows = wanted
      ? await postgres.read<EntryRow>(
          'SELECT seq, id, parent_id, line FROM transcript_entry WHERE transcript = $1 AND seq = ANY ($2) ORDER BY seq',
          [transcript, wanted],
        )
      : await postgres.read<EntryRow>(
          `SELECT seq, id, parent_id, line FROM transcript_entry WHERE transcript = $1 AND seq > $2
           ORDER BY seq LIMIT ${pieceRows}`,
          [transcript, last],
        )
    for (const row of rows) yield asEntry(row)
    if (seqs ? at + pieceRows >= seqs.length : rows.length < pieceRows) return
    last = rows.at(-1)!.seq
  }
}

/** From the first entry to `leafId`; `missing` names a parent that is not there. */
export async function pathIds(
  postgres: Postgres,
  transcript: number,
  leafId: string | null,
): Promise<{ seqs: number[]; missing?: string }> {
  if (leafId === null) return { seqs: [] }
  const rows = await postgres.read<{ seq: number; parent_id: string | null }>(
    `WITH RECURSIVE up AS (
       (SELECT seq, id, parent_id FROM transcript_entry WHERE transcript = $1 AND id = $2 ORDER BY seq DESC LIMIT 1)
       UNION ALL
       SELECT above.seq, above.id, above.parent_id FROM up CROSS JOIN LATERAL (
         SELECT seq, id, parent_id FROM transcript_entry
         WHERE transcript = $1 AND id = up.parent_id AND seq < up.seq ORDER BY seq DESC LIMIT 1) AS above
     ) SELECT seq, parent_id FROM up ORDER BY seq`,
    [transcript, leafId],
  )
  const missing = rows[0]?.parent_id
  return { seqs: rows.map((row) => row.seq), missing: missing ?? undefined }
}

/** Adds a transcript with its first entries in one statement. */
export async function insertTranscript(
  statements: Pick<Statements, 'rows'>,
  { agentId, name, ref, now }: { agentId: string; name: string; ref: TranscriptRef; now: number },
  header: NewHeader & { timestamp: string },
  first: TranscriptEntry[],
): Promise<number> {
  const archive = parseArchiveName(name)
  const lines = first.map(lineOf)
  const [made] = await statements.rows<{ id: number }>(
    `WITH made AS (
       INSERT INTO transcript (agent, name, session_id, topic_id, header, bytes, changed_at, reason, archived_at, entries, leaf_id)
       VALUES ($1, $2, $3, $4, $5::text, octet_length($5::text) + 1 + $9, $6, $7, $8, $10, $11)
       ON CONFLICT (agent, name) DO NOTHING RETURNING id
     ), added AS (
       INSERT INTO transcript_entry SELECT made.id, g.place, g.id, g.parent_id, g.line
       FROM made, unnest($12::text[], $13::text[], $14::text[]) WITH ORDINALITY AS g (id, parent_id, line, place)
     ) SELECT id FROM made`,
    [
      agentId,
      name,
      ref.sessionId,
      ref.topicId ?? null,
      headerText(ref.sessionId, header.timestamp, header),
      now,
      archive?.reason ?? null,
      archive?.at ?? null,
      bytesOf(lines),
      first.length,
      first.at(-1)?.id ?? null,
      first.map((entry) => entry.id),
      first.map((entry) => entry.parentId),
      lines,
    ],
  )
  if (!made) throw new RockpoolError('conflict', `The transcript ${name} exists already.`)
  return made.id
}

/** Adds further entries to a transcript that this transaction created. */
export async function insertMore(
  { rows }: Pick<Statements, 'rows'>,
  transcript: number,
  piece: TranscriptEntry[],
): Promise<void> {
  const lines = piece.map(lineOf)
  await rows(
    `INSERT INTO transcript_entry SELECT t.id, t.entries + g.place, g.id, g.parent_id, g.line
     FROM transcript AS t, unnest($2::text[], $3::text[], $4::text[]) WITH ORDINALITY AS g (id, parent_id, line, place)
     WHERE t.id = $1`,
    [transcript, piece.map((entry) => entry.id), piece.map((entry) => entry.parentId), lines],
  )
  const update =
    'UPDATE transcript SET entries = entries + $2, leaf_id = $3, bytes = bytes + $4 WHERE id = $1'
  await rows(update, [transcript, piece.length, piece.at(-1)!.id, bytesOf(lines)])
}

interface Place {
  agentId: string
  /** The name of the transcript if it is made now. */
  name: string
  ref: TranscriptRef
  now: number
}

const appendTypes = 'text text text boolean text text text text text bigint boolean'

/** Appends entries below the leaf of a transcript, which is made with this header if there is none. Resolves to its name and the
 *  parent of the first entry: '' for none, null when the transcript was removed meanwhile. */
export function lineAppender(postgres: Postgres) {
  const append = postgres.grouped<{ name: string; parent: string | null }>(
    'write',
    callEach('append_lines', appendTypes),
  )
  return (
    { agentId, name, ref, now }: Place,
    header: string,
    entries: { ids: string[]; lines: string[] },
  ) => {
    // After an attempt without an answer the entries may be there.
    let mayBeThere = false
    const whose = [agentId, name, Boolean(ref.file), ref.sessionId, ref.topicId ?? null, header]
    const what = [entries.ids.join('\n'), entries.lines.join('\n'), now]
    return postgres.untilBack(async () => {
      const values = [postgres.member, ...whose, ...what, mayBeThere]
      mayBeThere = true
      return (await append(values, `${agentId} ${name}`))[0]!
    })
  }
}

function lineOf({ id: _id, parentId: _parentId, ...body }: TranscriptEntry): string {
  return JSON.stringify(body)
}

function bytesOf(lines: string[]): number {
  return lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0)
}

export function headerText(id: string, timestamp: string, header: NewHeader): string {
  return headerLine({ ...header, id, timestamp }).trimEnd()
}

/** Newest first. */
export async function listArchives(postgres: Postgres, agentId: string): Promise<TranscriptArchive[]> {
  const rows = await postgres.read<object>(
    `SELECT name, session_id, topic_id, bytes, reason, archived_at AS at FROM transcript
     WHERE agent = $1 AND archived_at IS NOT NULL ORDER BY archived_at DESC`,
    [agentId],
  )
  return rows.map(fromRow<TranscriptArchive>)
}

type NamedTranscript = Omit<TranscriptRef, 'file'> & { name: string; bytes: number; changedAt: number }

export async function listCurrent(postgres: Postgres, agentId: string): Promise<NamedTranscript[]> {
  const rows = await postgres.read<object>(
    `SELECT name, session_id, topic_id, bytes, changed_at FROM transcript
     WHERE agent = $1 AND archived_at IS NULL ORDER BY name`,
    [agentId],
  )
  return rows.map(fromRow<NamedTranscript>)
}

/** Archives a transcript; resolves to its new, unused name. */
export async function archiveTranscript(
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
  const update = 'UPDATE transcript SET name = $2, reason = $3, archived_at = $4 WHERE id = $1'
  await rows(update, [id, free, reason, at])
  return free
}
