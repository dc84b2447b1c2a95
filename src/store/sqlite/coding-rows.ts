// How coding sessions, their output, who watches them and what is asked of their owners stand in the tables: read and written
// in one place, for the store of one machine and for the copy of what several share.
import type { CodingSession, OutputKind } from '../../domain/coding-session.ts'
import type { Queries } from './database.ts'

export type NewOutput = { at: number; kind: OutputKind; text: string }

/** What a chat has seen of a session that it watches. */
export interface Watch {
  codingId: string
  channel: string
  seenSeq: number
  foreground: boolean
}

export interface OwnerRequest {
  id: string
  /** Whose it is: a coding session's, or a machine's (`machine:<name>`). */
  codingId: string
  action: string
  input: Record<string, unknown>
  askedAt: number
}

export type RecordRow = { record: string }

/** Rows of earlier versions lack these. */
type Later = 'inbox' | 'given' | 'allowances'
type StoredSession = Omit<CodingSession, Later> & Partial<Pick<CodingSession, Later>>

export function readSession(row: RecordRow | undefined): CodingSession | undefined {
  if (!row) return undefined
  return { inbox: [], given: [], allowances: {}, ...(JSON.parse(row.record) as StoredSession) }
}

export function putSession(q: Queries, session: CodingSession): void {
  q.run(
    `INSERT OR REPLACE INTO coding_session
       (id, name, repo, agent_id, label, sdk_session_id, status, lifecycle, created_at, ended_at, cost_usd, record)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
    session.id,
    session.name,
    session.request.workdir,
    session.request.agentId,
    session.request.label ?? null,
    session.sdkSessionId ?? null,
    session.status,
    session.lifecycle,
    session.createdAt,
    session.end?.at ?? null,
    session.costUsd,
    JSON.stringify(session),
  )
}

export function freeName(q: Queries, base: string): string {
  for (let n = 1; ; n++) {
    const name = n === 1 ? base : `${base}-${n}`
    if (!q.get('SELECT 1 FROM coding_session WHERE name = ?', name)) return name
  }
}

export function putOutput(q: Queries, codingId: string, seq: number, { at, kind, text }: NewOutput): void {
  q.run(
    'INSERT OR REPLACE INTO coding_output (session_id, seq, at, kind, text) VALUES (?, ?, ?, ?, ?)',
    codingId,
    seq,
    at,
    kind,
    text,
  )
}

/** All up to this number. */
export function dropOutput(q: Queries, codingId: string, upTo: number): void {
  q.run('DELETE FROM coding_output WHERE session_id = ? AND seq <= ?', codingId, upTo)
}

export function putWatch(q: Queries, { codingId, channel, seenSeq, foreground }: Watch): void {
  q.run(
    `INSERT INTO coding_watch (session_id, channel, seen_seq, foreground) VALUES (?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET seen_seq = max(seen_seq, excluded.seen_seq), foreground = excluded.foreground`,
    codingId,
    channel,
    seenSeq,
    foreground ? 1 : 0,
  )
}

export function putRequest(q: Queries, request: OwnerRequest & { answer?: unknown }): void {
  q.run(
    'INSERT OR REPLACE INTO coding_request (id, session_id, action, input, asked_at, answer) VALUES (?, ?, ?, ?, ?, ?)',
    request.id,
    request.codingId,
    request.action,
    JSON.stringify(request.input),
    request.askedAt,
    request.answer === undefined ? null : JSON.stringify(request.answer),
  )
}

export function putOwner(q: Queries, { owner, at }: { owner: string; at: number }): void {
  q.run('INSERT OR REPLACE INTO coding_owner (owner, seen_at) VALUES (?, ?)', owner, at)
}
