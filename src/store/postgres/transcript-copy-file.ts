// One copy of a transcript: its file, and its row, which says how much of the file is valid. Two processes of a machine may copy
// at once and may be killed: bytes beyond the row's length are written again.
import {
  constants,
  fstatSync,
  ftruncateSync,
  mkdirSync,
  openSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { insertRow, type Queries } from '../sqlite/queries.ts'
import { sqlFiles } from '../sqlite/migrations.ts'
import { checkAgentId } from '../paths.ts'
import { closeAtEnd } from '../disk/foreign-file.ts'

export interface TranscriptCopy {
  agentId: string
  sessionId: string
  topicId?: string
  isArchived: boolean
  path: string
}

export interface SharedRow {
  id: number
  agent: string
  name: string
  session_id: string
  topic_id: string | null
  header: string
  entries: number
  reason: string | null
  changed_at: number
}

export interface CopyRow extends Omit<SharedRow, 'header' | 'reason'> {
  /** 0 current, 1 archived by a reset, 2 removed from search: only the row is left. */
  archived: number
  bytes: number
}

export const copyMigrations = sqlFiles('transcript-copies/001-copies.sql')

export function copyPath(folder: string): string {
  return join(folder, 'copies.sqlite')
}

export function fromCopyRow(folder: string, row: CopyRow): TranscriptCopy {
  return {
    agentId: row.agent,
    sessionId: row.session_id,
    topicId: row.topic_id ?? undefined,
    isArchived: row.archived === 1,
    path: fileOf(folder, row),
  }
}

/** The file has less than its row says: it was removed, or a power cut truncated it. */
export function isCut(folder: string, row: CopyRow | undefined): boolean {
  if (!row) return false
  return (statSync(fileOf(folder, row), { throwIfNoEntry: false })?.size ?? 0) < row.bytes
}

/** Adds the lines after entry number `after`; does nothing if another process has appended meanwhile. */
export function putLines(q: Queries, folder: string, row: SharedRow, after: number, lines: string[]): void {
  const had = q.get<CopyRow>('SELECT * FROM copy WHERE id = ?', row.id)
  const isNew = after === 0
  if (!isNew && had?.entries !== after) return
  const { header, reason, ...columns } = row
  const bytes = isNew ? 0 : had!.bytes
  const added = writeAt(fileOf(folder, row), bytes, [...(isNew ? [header] : []), ...lines])
  const length = { entries: after + lines.length, bytes: bytes + added }
  insertRow(q, 'copy', { ...columns, archived: reason === null ? 0 : 1, ...length })
}

export const isKept = 'archived <> 2'

export function isDropped(row: CopyRow): boolean {
  return row.archived === 2
}

/** The row stays: when the transcript is deleted, the search index is checked once more. */
export function dropCopy(q: Queries, folder: string, row: CopyRow): void {
  q.run("UPDATE copy SET archived = 2, name = '' WHERE id = ?", row.id)
  rmSync(fileOf(folder, row), { force: true })
}

export function removeCopy(q: Queries, folder: string, row: CopyRow): void {
  q.run('DELETE FROM copy WHERE id = ?', row.id)
  rmSync(fileOf(folder, row), { force: true })
}

function fileOf(folder: string, { agent, id }: { agent: string; id: number }): string {
  return join(folder, checkAgentId(agent), `${id}.jsonl`)
}

function writeAt(path: string, at: number, lines: string[]): number {
  const bytes = Buffer.from(lines.map((line) => `${line}\n`).join(''))
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const fd = openSync(path, constants.O_RDWR | constants.O_CREAT | constants.O_NOFOLLOW, 0o600)
  using _ = closeAtEnd(fd)
  if (fstatSync(fd).size > at) ftruncateSync(fd, at)
  for (let done = 0; done < bytes.length;) done += writeSync(fd, bytes, done, bytes.length - done, at + done)
  return bytes.length
}
