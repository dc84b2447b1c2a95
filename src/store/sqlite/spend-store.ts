// The cost of each call to a model, one row per call. Budgets and charts are sums over these rows.
import type { Spend } from './record-tables.ts'
import { RecordStore } from './records.ts'

export type SpendBy = { codingId: string } | { repo: string } | { agentId: string } | Record<string, never>

export class SpendStore extends RecordStore {
  /** A later report of the same call (its output grew) replaces the earlier one. */
  async add(spend: Spend): Promise<void> {
    await this.records.update('spend', spend.id, (before) =>
      before && before.usd >= spend.usd ? undefined : { ...spend, ...before, usd: spend.usd },
    )
  }

  total(by: SpendBy, day?: string): number {
    return this.#sum([...conditionOf(by), ...(day ? [['day = ?', day] as const] : [])])
  }

  since(at: number, by: SpendBy): number {
    return this.#sum([['at >= ?', at], ...conditionOf(by)])
  }

  /** The cost of the last call of a session; undefined before its first one. */
  lastCallUsd(codingId: string): number | undefined {
    const sql =
      "SELECT usd FROM spend WHERE coding_id = ? AND id NOT LIKE 'turn:%' ORDER BY at DESC, rowid DESC LIMIT 1"
    return this.db.queries.get<{ usd: number }>(sql, codingId)?.usd
  }

  agentsOf(day: string): string[] {
    return this.#namesOf('agent_id', day)
  }

  reposOf(day: string): string[] {
    return this.#namesOf('repo', day)
  }

  perDay(agentId?: string): Array<{ day: string; usd: number }> {
    const sql =
      'SELECT day, sum(usd) AS usd FROM spend WHERE ?1 IS NULL OR agent_id = ?1 GROUP BY day ORDER BY day'
    return this.db.queries.all(sql, agentId ?? null)
  }

  #sum(conditions: Array<readonly [term: string, value: string | number]>): number {
    const where = ['true', ...conditions.map(([term]) => term)].join(' AND ')
    const sql = `SELECT coalesce(sum(usd), 0) AS usd FROM spend WHERE ${where}`
    return this.db.queries.get<{ usd: number }>(sql, ...conditions.map(([, value]) => value))!.usd
  }

  #namesOf(column: 'agent_id' | 'repo', day: string): string[] {
    const sql = `SELECT DISTINCT ${column} AS name FROM spend WHERE day = ? AND ${column} IS NOT NULL ORDER BY name`
    return this.db.queries.all<{ name: string }>(sql, day).map(({ name }) => name)
  }
}

function conditionOf(by: SpendBy): Array<readonly [string, string]> {
  if ('codingId' in by) return [['coding_id = ?', by.codingId]]
  if ('repo' in by) return [['repo = ?', by.repo]]
  if ('agentId' in by) return [['agent_id = ?', by.agentId]]
  return []
}
