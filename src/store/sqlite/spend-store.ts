// What each call to a model cost. Budgets and charts are sums over these rows; each call is one row.
import type { Database, Queries } from './database.ts'

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

export type SpendBy = { codingId: string } | { repo: string } | { agentId: string } | Record<string, never>

export class SpendStore {
  #db: Database

  constructor(db: Database) {
    this.#db = db
  }

  /** A later report of the same call (its output grew) replaces the earlier one. */
  add(spend: Spend): Promise<void> {
    return this.#db.write((q) => putSpend(q, spend))
  }

  total(by: SpendBy, day?: string): number {
    const [column, value] = columnOf(by)
    const where = [...(column ? [`${column} = ?`] : []), ...(day ? ['day = ?'] : [])]
    const values = [...(value === undefined ? [] : [value]), ...(day ? [day] : [])]
    const row = this.#db.queries.get<{ usd: number }>(
      `SELECT coalesce(sum(usd), 0) AS usd FROM spend ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}`,
      ...values,
    )
    return row!.usd
  }

  /** Everything from this moment on. */
  since(at: number, by: SpendBy): number {
    const [column, value] = columnOf(by)
    const row = this.#db.queries.get<{ usd: number }>(
      `SELECT coalesce(sum(usd), 0) AS usd FROM spend WHERE at >= ? ${column ? `AND ${column} = ?` : ''}`,
      at,
      ...(value === undefined ? [] : [value]),
    )
    return row!.usd
  }

  /** Which agents spent something on a day. */
  agentsOf(day: string): string[] {
    return this.#namesOf('agent_id', day)
  }

  /** In which repositories something was spent on a day. */
  reposOf(day: string): string[] {
    return this.#namesOf('repo', day)
  }

  #namesOf(column: 'agent_id' | 'repo', day: string): string[] {
    return this.#db.queries
      .all<{ name: string }>(
        `SELECT DISTINCT ${column} AS name FROM spend WHERE day = ? AND ${column} IS NOT NULL ORDER BY name`,
        day,
      )
      .map(({ name }) => name)
  }

  /** Of all agents, or of one. */
  perDay(agentId?: string): Array<{ day: string; usd: number }> {
    const [where, values] = agentId === undefined ? ['', []] : ['WHERE agent_id = ?', [agentId]]
    return this.#db.queries.all(
      `SELECT day, sum(usd) AS usd FROM spend ${where} GROUP BY day ORDER BY day`,
      ...values,
    )
  }
}

function columnOf(by: SpendBy): [string | undefined, string | undefined] {
  if ('codingId' in by) return ['coding_id', by.codingId]
  if ('repo' in by) return ['repo', by.repo]
  if ('agentId' in by) return ['agent_id', by.agentId]
  return [undefined, undefined]
}

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
    spend.subagent ? 1 : 0,
  )
}
