// Figures of all coding sessions, computed from the store: they survive restarts and count each session once.
import type { CodingSession, CodingStatus } from '../domain/coding-session.ts'
import type { CodingStore } from '../store/sqlite/coding-store.ts'
import type { SpendStore } from '../store/sqlite/spend-store.ts'
import { waitedOf } from './session/session-changes.ts'

export interface CodingMetrics {
  totalCostUsd: number
  /** By day, YYYY-MM-DD. */
  costPerDay: Record<string, number>
  sessionsByStatus: Record<Exclude<CodingStatus, 'starting'>, number>
  totalLaunched: number
  totalDurationMs: number
  sessionsWithDuration: number
  averageDurationMs: number
  mostExpensive?: { id: string; name: string; costUsd: number; prompt: string }
  /** Time that sessions waited for a person. */
  waitedMs: number
}

/** Of all sessions, or of those that one agent may see. */
export function codingMetrics(
  store: CodingStore,
  spend: SpendStore,
  now: number,
  agentId?: string,
): CodingMetrics {
  const sessions = store.list({ visibleTo: agentId })
  const ended = sessions.filter((session) => session.end && session.startedAt !== undefined)
  const totalDurationMs = ended.reduce((sum, session) => sum + (session.end!.at - session.startedAt!), 0)
  const count = (...wanted: CodingStatus[]): number =>
    sessions.filter((session) => wanted.includes(session.status)).length
  return {
    totalCostUsd: sessions.reduce((sum, session) => sum + session.costUsd, 0),
    costPerDay: Object.fromEntries(spend.perDay(agentId).map(({ day, usd }) => [day, usd])),
    sessionsByStatus: {
      running: count('starting', 'running'),
      completed: count('completed'),
      failed: count('failed'),
      killed: count('killed'),
    },
    totalLaunched: sessions.length,
    totalDurationMs,
    sessionsWithDuration: ended.length,
    averageDurationMs: ended.length === 0 ? 0 : Math.round(totalDurationMs / ended.length),
    mostExpensive: mostExpensiveOf(sessions),
    waitedMs: sessions.reduce((sum, session) => sum + waitedOf(session, now), 0),
  }
}

function mostExpensiveOf(sessions: CodingSession[]): CodingMetrics['mostExpensive'] {
  const paid = sessions.filter((session) => session.costUsd > 0)
  if (paid.length === 0) return undefined
  const { id, name, costUsd, request } = paid.reduce((most, one) => (one.costUsd > most.costUsd ? one : most))
  return { id, name, costUsd, prompt: request.prompt.slice(0, 80).toWellFormed() }
}
