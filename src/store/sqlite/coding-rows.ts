// Rows of coding sessions: the session, its output, which chats watch it, and what is asked of its owner.
import type { CodingSession, OutputKind } from '../../domain/coding-session.ts'
import { replaceRow } from './database.ts'
import type { Queries } from './database.ts'

export type NewOutput = { at: number; kind: OutputKind; text: string }

/** How far a chat has seen the output of a session, and whether it still follows it. */
export interface Watch {
  codingId: string
  channel: string
  seenSeq: number
  foreground: boolean
}

/** What another process asks the owner of a coding session, or a machine (`machine:<name>`), to do. */
export interface OwnerRequest {
  id: string
  codingId: string
  action: string
  input: Record<string, unknown>
  askedAt: number
}

/** How many blocks of output are kept of each session by default. */
export const keptBlocks = 5_000

export type RecordRow = { record: string }

/** Rows of earlier versions lack these fields. */
type LaterField = 'inbox' | 'given' | 'allowances'
type StoredSession = Omit<CodingSession, LaterField> & Partial<Pick<CodingSession, LaterField>>

export function asSession(row: RecordRow): CodingSession {
  return { inbox: [], given: [], allowances: {}, ...(JSON.parse(row.record) as StoredSession) }
}

export function putSession(q: Queries, session: CodingSession): void {
  replaceRow(q, 'coding_session', {
    id: session.id,
    name: session.name,
    repo: session.request.workdir,
    agent_id: session.request.agentId,
    label: session.request.label,
    sdk_session_id: session.sdkSessionId,
    status: session.status,
    lifecycle: session.lifecycle,
    created_at: session.createdAt,
    ended_at: session.end?.at,
    cost_usd: session.costUsd,
    record: JSON.stringify(session),
  })
}

/** Deletes the oldest blocks now and then, as the writer of the block does. */
export function putBlock(q: Queries, block: NewOutput, id: string): void {
  const end = id.lastIndexOf('|')
  const [codingId, seq] = [id.slice(0, end), Number(id.slice(end + 1))]
  putOutput(q, codingId, seq, block)
  if (seq % 100 === 0) dropOutput(q, codingId, seq - keptBlocks)
}

export function putOutput(q: Queries, codingId: string, seq: number, { at, kind, text }: NewOutput): void {
  replaceRow(q, 'coding_output', { session_id: codingId, seq, at, kind, text })
}

/** Deletes all blocks up to this number. */
export function dropOutput(q: Queries, codingId: string, upTo: number): void {
  q.run('DELETE FROM coding_output WHERE session_id = ? AND seq <= ?', codingId, upTo)
}

export interface WatchRow {
  session_id: string
  channel: string
  seen_seq: number
  foreground: number
}

export function watchId({ codingId, channel }: Pick<Watch, 'codingId' | 'channel'>): string {
  return `${codingId}|${channel}`
}

export function asWatch(row: WatchRow): Watch {
  const { session_id: codingId, channel, seen_seq: seenSeq } = row
  return { codingId, channel, seenSeq, foreground: row.foreground === 1 }
}

export function getWatch(q: Queries, id: string): Watch | undefined {
  const at = id.indexOf('|')
  const sql = 'SELECT * FROM coding_watch WHERE session_id = ? AND channel = ?'
  const row = q.get<WatchRow>(sql, id.slice(0, at), id.slice(at + 1))
  return row && asWatch(row)
}

export function putWatch(q: Queries, { codingId, channel, seenSeq, foreground }: Watch): void {
  q.run(
    `INSERT INTO coding_watch (session_id, channel, seen_seq, foreground) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET seen_seq = max(seen_seq, excluded.seen_seq), foreground = excluded.foreground`,
    codingId,
    channel,
    seenSeq,
    Number(foreground),
  )
}

export interface RequestRow {
  id: string
  session_id: string
  action: string
  input: string
  asked_at: number
  answer: string | null
}

export function asRequest(row: RequestRow): OwnerRequest & { answer?: unknown } {
  return {
    id: row.id,
    codingId: row.session_id,
    action: row.action,
    input: JSON.parse(row.input) as Record<string, unknown>,
    askedAt: row.asked_at,
    ...(row.answer === null ? {} : { answer: JSON.parse(row.answer) as unknown }),
  }
}

export function putRequest(q: Queries, request: OwnerRequest & { answer?: unknown }): void {
  replaceRow(q, 'coding_request', {
    id: request.id,
    session_id: request.codingId,
    action: request.action,
    input: JSON.stringify(request.input),
    asked_at: request.askedAt,
    answer: request.answer === undefined ? null : JSON.stringify(request.answer),
  })
}
