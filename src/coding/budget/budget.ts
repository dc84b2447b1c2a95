// Budgets that work: every call to a model is metered when it is reported, sub-agents' calls too. At a limit the next
// tool call is held, so that no further call to the model happens until the limit is raised.
import { randomUUID } from 'node:crypto'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import type { CodingSession, SharedLimit } from '../../domain/coding-session.ts'
import { formatUsd } from '../../domain/text.ts'
import type { SpendBy, SpendStore } from '../../store/sqlite/spend-store.ts'
import type { Asking } from '../approvals/approvals.ts'

export interface BudgetReached {
  of: 'session' | SharedLimit
  limitUsd: number
  spentUsd: number
}

type Limits = CodingConfig['budgets']

/** The first limit that is reached, or undefined. `today` is the day in the configured time zone. */
export function budgetReached(
  session: CodingSession,
  spend: SpendStore,
  limits: Limits,
  today: string,
): BudgetReached | undefined {
  for (const { leftUsd: left, ...limit } of limitsOf(session, spend, limits, today))
    if (left <= 0) return limit
  return undefined
}

/** What may still be spent before the nearest limit. */
export function leftUsd(session: CodingSession, spend: SpendStore, limits: Limits, today: string): number {
  return Math.min(...[...limitsOf(session, spend, limits, today)].map((limit) => limit.leftUsd))
}

function* limitsOf(
  session: CodingSession,
  spend: SpendStore,
  limits: Limits,
  today: string,
): Generator<BudgetReached & { leftUsd: number }> {
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
    yield { of, limitUsd, spentUsd, leftUsd: limitUsd + allowanceOf(session, of, today) - spentUsd }
  }
}

/** What was allowed beyond a limit of the day holds for that limit and that day. */
function allowanceOf({ allowances }: CodingSession, of: BudgetReached['of'], today: string): number {
  const allowance = of === 'session' ? undefined : allowances[of]
  return allowance?.day === today ? allowance.usd : 0
}

export interface BudgetLeft {
  of: BudgetReached['of']
  /** Which repository, agent or session. */
  name: string
  limitUsd: number
  spentUsd: number
  /** At the pace of the last hour. */
  runsOutAt?: number
}

interface BudgetMoment {
  limits: CodingConfig['budgets']
  today: string
  at: number
  /** An agent is told of its own limits alone. */
  agentId?: string
}

/** The limits of the day (of all, and of each agent and repository that spends or works today), then each session's that runs. */
export function budgetsLeft(running: CodingSession[], spend: SpendStore, now: BudgetMoment): BudgetLeft[] {
  const { usdPerDay, agentUsdPerDay, repoUsdPerDay } = now.limits
  const left = (
    of: BudgetLeft['of'],
    name: string,
    limitUsd: number | undefined,
    by: SpendBy,
  ): BudgetLeft[] => (limitUsd === undefined ? [] : [budgetOfDay({ of, name, limitUsd, by }, spend, now)])
  const own = running.map((session) => ({
    of: 'session' as const,
    name: session.name,
    limitUsd: session.budgetUsd,
    spentUsd: session.costUsd,
  }))
  if (now.agentId !== undefined) {
    return [...left('agent', now.agentId, agentUsdPerDay, { agentId: now.agentId }), ...own]
  }
  const agents = new Set([...spend.agentsOf(now.today), ...running.map(({ request }) => request.agentId)])
  const repos = new Set([...spend.reposOf(now.today), ...running.map(({ request }) => request.workdir)])
  return [
    ...left('day', 'Today', usdPerDay, {}),
    ...[...agents].flatMap((agentId) => left('agent', agentId, agentUsdPerDay, { agentId })),
    ...[...repos].flatMap((repo) => left('repository', repo, repoUsdPerDay, { repo })),
    ...own,
  ]
}

function budgetOfDay(
  { by, ...about }: Pick<BudgetLeft, 'of' | 'name' | 'limitUsd'> & { by: SpendBy },
  spend: SpendStore,
  { today, at }: BudgetMoment,
): BudgetLeft {
  const spentUsd = spend.total(by, today)
  const perHour = spend.since(at - hourMs, by)
  const runsOutAt = at + (Math.max(0, about.limitUsd - spentUsd) / perHour) * hourMs
  return { ...about, spentUsd, ...(perHour > 0 && runsOutAt < at + 24 * hourMs ? { runsOutAt } : {}) }
}

const hourMs = 3_600_000

export function describeBudget(reached: BudgetReached): string {
  const whose = {
    session: 'its budget',
    repository: "today's budget of the repository",
    agent: "today's budget of the agent",
    day: "today's budget",
  }
  return `${whose[reached.of]} is used up: ${formatUsd(reached.spentUsd)} of ${formatUsd(reached.limitUsd)}`
}

/** What the person is asked when a limit is reached. */
export function budgetAsking(session: CodingSession, reached: BudgetReached): Asking {
  const { agentId, budgetUsd } = session.request
  const question = `${describeBudget(reached)}. Go on with ${formatUsd(budgetUsd)} more, or answer with another amount?`
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
  { of, limitUsd, spentUsd }: BudgetReached,
  amountUsd: number,
  today: string,
): Partial<CodingSession> {
  if (of === 'session') return { budgetUsd: session.costUsd + amountUsd }
  const allowance = { day: today, usd: spentUsd - limitUsd + amountUsd }
  return { allowances: { ...session.allowances, [of]: allowance } }
}
