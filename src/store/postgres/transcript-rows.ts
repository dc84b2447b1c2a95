// The rows of a transcript: read in pieces, written in pieces, and the way from an entry up to the first one.
import { RockpoolError } from '../../domain/errors.ts'
import type { TranscriptEntry } from '../../domain/transcript.ts'
import type { TranscriptRef } from '../session-store.ts'
import { headerLine } from '../transcript-append.ts'
import { parseArchiveName } from '../transcript-paths.ts'
import type { Postgres, Statements } from './connection.ts'

export interface EntryRow {
  seq: number
  id: string
  parent_id: string | null
  line: string
}

const pieceRows = 500

/** The entry with its place in the tree, which is not part of its text. */
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
    if (rows.length === 0 || (seqs && at + pieceRows >= seqs.length)) return
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
  return { seqs: rows.map((row) => row.seq), ...(missing ? { missing } : {}) }
}

/** A whole new transcript. */
export async function insertTranscript(
  statements: Statements,
  { agentId, name, ref, now }: { agentId: string; name: string; ref: TranscriptRef; now: number },
  header: { cwd: string; timestamp: string; parentSession?: string },
  entries: AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>,
): Promise<void> {
  const archive = parseArchiveName(name)
  const [made] = await statements.rows<{ id: number }>(
    `INSERT INTO transcript (agent, name, session_id, topic_id, header, bytes, changed_at, reason, archived_at)
     VALUES ($1, $2, $3, $4, $5::text, octet_length($5::text) + 1, $6, $7, $8)
     ON CONFLICT (agent, name) DO NOTHING RETURNING id`,
    [
      agentId,
      name,
      ref.sessionId,
      ref.topicId ?? null,
      headerText(ref.sessionId, header.timestamp, header),
      now,
      archive?.reason ?? null,
      archive?.at ?? null,
    ],
  )
  if (!made) throw new RockpoolError('conflict', `The transcript ${name} exists already.`)
  await insertEntries(statements, made.id, entries)
}

async function insertEntries(
  { rows }: Statements,
  transcript: number,
  entries: AsyncIterable<TranscriptEntry> | Iterable<TranscriptEntry>,
): Promise<void> {
  let piece: TranscriptEntry[] = []
  let done = 0
  const flush = async (): Promise<void> => {
    if (piece.length === 0) return
    const lines = piece.map(({ id: _id, parentId: _parentId, ...body }) => JSON.stringify(body))
    await rows(
      `INSERT INTO transcript_entry SELECT $1, $2 + g.place, g.id, g.parent_id, g.line
       FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS g (id, parent_id, line, place)`,
      [transcript, done, piece.map((entry) => entry.id), piece.map((entry) => entry.parentId), lines],
    )
    await rows(
      `UPDATE transcript SET entries = entries + $2, leaf_id = $3, bytes = bytes + $4 WHERE id = $1`,
      [
        transcript,
        piece.length,
        piece.at(-1)!.id,
        lines.reduce((sum, line) => sum + Buffer.byteLength(line) + 1, 0),
      ],
    )
    done += piece.length
    piece = []
  }
  for await (const entry of entries) {
    piece.push(entry)
    if (piece.length >= pieceRows) await flush()
  }
  await flush()
}

export function headerText(
  id: string,
  timestamp: string,
  { cwd, parentSession }: { cwd: string; parentSession?: string },
): string {
  return headerLine({
    id,
    timestamp,
    cwd,
    ...(parentSession === undefined ? {} : { parentSession }),
  }).trimEnd()
}
