// Why a session was resumed, forked, made or waited for: every decision with all its scores, for `rockpool cc why`.
import { randomUUID } from 'node:crypto'
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Decision, Decisions, SessionSelection } from '../../domain/selection.ts'
import type { Database, Queries, Row } from './database.ts'

/** Older ones are forgotten: they explain, they are not a record of work. */
export const keptDecisions = 2_000

/** `db` is the state database (state-database.ts). */
export function sqliteDecisions(db: Database): Decisions {
  return {
    record: (decision) => db.write((q) => insert(q, decision)),
    became: (id, sessionId) =>
      db.write((q) => {
        q.run('UPDATE decision SET became = ? WHERE id = ?', sessionId, id)
        link(q, sessionId, id)
      }),
    find: (ref, limit = 20) => db.read((q) => find(q, ref, limit)),
  }
}

function insert(q: Queries, decision: Omit<Decision, 'id' | 'becameSessionId'>): string {
  const id = newDecisionId()
  putDecision(q, { ...decision, id })
  return id
}

export function newDecisionId(): string {
  return `d-${randomUUID().slice(0, 8)}`
}

/** Writes it as it is, and forgets the oldest. */
export function putDecision(q: Queries, decision: Decision): void {
  const { id, selection, becameSessionId: became } = decision
  q.run(
    `INSERT INTO decision (id, at, repo_path, agent_id, label, task, became, selection) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET became = excluded.became`,
    id,
    decision.at,
    decision.repoPath,
    decision.agentId ?? null,
    decision.label ?? null,
    decision.task,
    became ?? null,
    // A decision over thousands of sessions repeats itself a lot.
    deflateRawSync(JSON.stringify(selection)),
  )
  const named = [became, selection.sessionId, ...selection.scores.map(({ sessionId }) => sessionId)]
  for (const sessionId of named) if (sessionId !== undefined) link(q, sessionId, id)
  q.run(
    'DELETE FROM decision WHERE id IN (SELECT id FROM decision ORDER BY at DESC LIMIT -1 OFFSET ?)',
    keptDecisions,
  )
}

function link(q: Queries, sessionId: string, id: string): void {
  q.run('INSERT OR IGNORE INTO decision_session (session_id, decision_id) VALUES (?, ?)', sessionId, id)
}

function find(q: Queries, ref: string, limit: number): Decision[] {
  // A range instead of LIKE: `%` and `_` in an id are letters like any other.
  const rows = q.all(
    `SELECT * FROM decision WHERE id = ? OR id IN
       (SELECT decision_id FROM decision_session WHERE session_id >= ? AND session_id < ?)
     ORDER BY at DESC, rowid DESC LIMIT ?`,
    ref,
    ref,
    `${ref}\u{10ffff}`,
    limit,
  )
  return rows.map(asDecision)
}

export function asDecision(row: Row): Decision {
  const text = inflateRawSync(row['selection'] as Uint8Array).toString('utf8')
  return {
    id: String(row['id']),
    at: Number(row['at']),
    task: String(row['task']),
    repoPath: String(row['repo_path']),
    ...(typeof row['agent_id'] === 'string' ? { agentId: row['agent_id'] } : {}),
    ...(typeof row['label'] === 'string' ? { label: row['label'] } : {}),
    ...(typeof row['became'] === 'string' ? { becameSessionId: row['became'] } : {}),
    selection: JSON.parse(text) as SessionSelection,
  }
}
