// Budgets that work: every call to a model is metered when it is reported, sub-agents' calls too. At a limit the next
// tool call is held, so that no further call to the model happens until the limit is raised.
import { randomUUID } from 'node:crypto'
import type { CodingConfig } from '../domain/config/coding.ts'
import type { CodingSession } from '../domain/coding.ts'
import type { SpendStore } from '../store/spend-store.ts'
import type { Asking } from './approvals.ts'

export interface BudgetReached {
  of: 'session' | 'repository' | 'agent' | 'day'
  limitUsd: number
  spentUsd: number
}

/** The first limit that is reached, or undefined. `today` is the day in the configured time zone. */
export function budgetReached(
  session: CodingSession,
  spend: SpendStore,
  limits: CodingConfig['budgets'],
  today: string,
): BudgetReached | undefined {
  const { workdir, agentId } = session.request
  const checks: Array<[BudgetReached['of'], number | undefined, () => number]> = [
    ['session', session.budgetUsd, () => session.costUsd],
    ['repository', limits.repoUsdPerDay, () => spend.total({ repo: workdir }, today)],
    ['agent', limits.agentUsdPerDay, () => spend.total({ agentId }, today)],
    ['day', limits.usdPerDay, () => spend.total({}, today)],
  ]
  for (const [of, limitUsd, spent] of checks) {
    if (limitUsd === undefined) continue
    const spentUsd = spent()
    const allowed = of === 'session' ? limitUsd : limitUsd + session.sharedAllowanceUsd
    if (spentUsd >= allowed) return { of, limitUsd, spentUsd }
  }
  return undefined
}

export interface BudgetLeft {
  name: string
  limitUsd: number
  spentUsd: number
  /** At the pace of the last hour. */
  runsOutAt?: number
}

/** The limit of the day, and of each session that runs. */
export function budgetsLeft(
  sessions: CodingSession[],
  spend: SpendStore,
  now: { limits: CodingConfig['budgets']; today: string; at: number },
): BudgetLeft[] {
  const { usdPerDay } = now.limits
  const running = sessions
    .filter((session) => session.status === 'running' || session.status === 'starting')
    .map((session) => ({ name: session.name, limitUsd: session.budgetUsd, spentUsd: session.costUsd }))
  if (usdPerDay === undefined) return running
  const spentUsd = spend.total({}, now.today)
  const perHour = spend.since(now.at - hourMs)
  const runsOutAt = now.at + (Math.max(0, usdPerDay - spentUsd) / perHour) * hourMs
  const today: BudgetLeft = { name: 'Today', limitUsd: usdPerDay, spentUsd }
  return [perHour > 0 && runsOutAt < now.at + 24 * hourMs ? { ...today, runsOutAt } : today, ...running]
}

const hourMs = 3_600_000

export function describeBudget(reached: BudgetReached): string {
  const whose = {
    session: 'its budget',
    repository: "today's budget of the repository",
    agent: "today's budget of the agent",
    day: "today's budget",
  }
  return `${whose[reached.of]} is used up: $${reached.spentUsd.toFixed(2)} of $${reached.limitUsd.toFixed(2)}`
}

/** What the person is asked when a limit is reached. */
export function budgetAsking(session: CodingSession, reached: BudgetReached): Asking {
  const { agentId, budgetUsd } = session.request
  const question = `${describeBudget(reached)}. Go on with $${budgetUsd.toFixed(2)} more, or answer with another amount?`
  const request = {
    requestId: randomUUID(),
    kind: 'budget',
    toolName: 'budget',
    input: { command: question },
  } as const
  return { codingId: session.id, agentId, request }
}

/** A raised limit leaves that much to spend, however far the old one was overshot. */
export function raisedBudget(
  session: CodingSession,
  reached: BudgetReached,
  amountUsd: number,
): Partial<CodingSession> {
  return reached.of === 'session'
    ? { budgetUsd: session.costUsd + amountUsd }
    : { sharedAllowanceUsd: reached.spentUsd - reached.limitUsd + amountUsd }
}

/** The amount in an answer like `$10` or `10`; undefined for a plain yes. */
export function amountOf(answer: string | undefined): number | undefined {
  const amount = Number.parseFloat(answer?.replace(/^[^0-9]*/, '') ?? '')
  return amount > 0 ? amount : undefined
}
