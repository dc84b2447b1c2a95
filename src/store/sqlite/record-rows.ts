// Rows of approvals, grants, spend and decisions.
import { deflateRawSync, inflateRawSync } from 'node:zlib'
import type { Approval, Grant } from '../../domain/coding-session.ts'
import type { Decision, SessionSelection } from '../../domain/selection.ts'
import { replaceRow } from './database.ts'
import type { Queries } from './database.ts'

export function putApproval(q: Queries, approval: Approval): void {
  replaceRow(q, 'approval', {
    id: approval.id,
    coding_id: approval.codingId,
    session_key: approval.sessionKey,
    agent_id: approval.agentId,
    state: approval.state,
    asked_at: approval.askedAt,
    input_hash: approval.inputHash,
    record: JSON.stringify(approval),
  })
}

export interface GrantRow {
  id: string
  coding_id: string | null
  session_key: string | null
  tool: string
  pattern: string
  granted_at: number
  granted_by: string
}

export function asGrant(row: GrantRow): Grant {
  return {
    id: row.id,
    codingId: row.coding_id ?? undefined,
    sessionKey: row.session_key ?? undefined,
    tool: row.tool,
    pattern: row.pattern,
    grantedAt: row.granted_at,
    grantedBy: row.granted_by,
  }
}

export function putGrant(q: Queries, grant: Grant): void {
  replaceRow(q, 'grant_always', {
    id: grant.id,
    coding_id: grant.codingId,
    session_key: grant.sessionKey,
    tool: grant.tool,
    pattern: grant.pattern,
    granted_at: grant.grantedAt,
    granted_by: grant.grantedBy,
  })
}

export interface Spend {
  /** The message's id, so that a call is counted once. */
  id: string
  at: number
  /** The day in the configured time zone, YYYY-MM-DD. */
  day: string
  codingId?: string
  sessionKey?: string
  repo?: string
  agentId: string
  model: string
  usd: number
  subagent: boolean
}

export interface SpendRow {
  id: string
  at: number
  day: string
  coding_id: string | null
  session_key: string | null
  repo: string | null
  agent_id: string
  model: string
  usd: number
  subagent: number
}

export function asSpend(row: SpendRow): Spend {
  const { id, at, day, model, usd } = row
  return {
    id,
    at,
    day,
    agentId: row.agent_id,
    model,
    usd,
    subagent: row.subagent === 1,
    codingId: row.coding_id ?? undefined,
    sessionKey: row.session_key ?? undefined,
    repo: row.repo ?? undefined,
  }
}

/** Keeps the higher amount: a later report of the same call may arrive first. */
export function putSpend(q: Queries, spend: Spend): void {
  q.run(
    `INSERT INTO spend (id, at, day, coding_id, session_key, repo, agent_id, model, usd, subagent)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET usd = max(usd, excluded.usd)`,
    spend.id,
    spend.at,
    spend.day,
    spend.codingId ?? null,
    spend.sessionKey ?? null,
    spend.repo ?? null,
    spend.agentId,
    spend.model,
    spend.usd,
    Number(spend.subagent),
  )
}

/** Older decisions are deleted: they explain a choice and are no record of work. */
export const keptDecisions = 2_000

export interface DecisionRow {
  id: string
  at: number
  repo_path: string
  agent_id: string | null
  label: string | null
  task: string
  became: string | null
  selection: Uint8Array
}

export function asDecision(row: DecisionRow): Decision {
  const { id, at, task, repo_path: repoPath } = row
  return {
    id,
    at,
    task,
    repoPath,
    ...(row.agent_id === null ? {} : { agentId: row.agent_id }),
    ...(row.label === null ? {} : { label: row.label }),
    ...(row.became === null ? {} : { becameSessionId: row.became }),
    selection: JSON.parse(inflateRawSync(row.selection).toString('utf8')) as SessionSelection,
  }
}

/** Also deletes the oldest decisions. */
export function putDecision(q: Queries, decision: Decision): void {
  const { id, at, repoPath, agentId, label, task, becameSessionId: became, selection } = decision
  q.run(
    `INSERT INTO decision (id, at, repo_path, agent_id, label, task, became, selection) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET became = excluded.became`,
    id,
    at,
    repoPath,
    agentId ?? null,
    label ?? null,
    task,
    became ?? null,
    // A decision over thousands of sessions repeats itself a lot.
    deflateRawSync(JSON.stringify(selection)),
  )
  const sessions = [became, selection.sessionId, ...selection.scores.map(({ sessionId }) => sessionId)]
  const link = 'INSERT OR IGNORE INTO decision_session (session_id, decision_id) VALUES (?, ?)'
  for (const sessionId of sessions) if (sessionId !== undefined) q.run(link, sessionId, id)
  q.run(
    'DELETE FROM decision WHERE id IN (SELECT id FROM decision ORDER BY at DESC LIMIT -1 OFFSET ?)',
    keptDecisions,
  )
}
