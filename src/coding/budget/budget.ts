// The limits of a session and of the day: which is reached, what is left, what raising one means. At a limit the next tool call
// is held (spending.ts), so that no further call to the model happens until a person raises the limit.
import { randomUUID } from 'node:crypto'
import type { CodingConfig } from '../../domain/config/coding-settings.ts'
import type { CodingSession, SharedLimit } from '../../domain/coding-session.ts'
import { formatUsd } from '../../domain/text.ts'
import type { SpendBy, SpendStore } from '../../store/sqlite/spend-store.ts'
import type { Question } from '../approvals/approvals.ts'

export interface BudgetReached {
  of: 'session' | SharedLimit
  limitUsd: number
  spentUsd: number
}

/** The limits now, and what was spent. */
export interface LimitState {
  spend: SpendStore
  limits: CodingConfig['budgets']
  /** The day in the configured time zone. */
  today: string
}

/** The first reached limit. */
export function budgetReached(session: CodingSession, state: LimitState): BudgetReached | undefined {
  const reached = limitsOf(session, state).find((limit) => limit.leftUsd <= 0)
  return reached && { of: reached.of, limitUsd: reached.limitUsd, spentUsd: reached.spentUsd }
}

/** The amount that may be spent before the nearest limit. */
export function leftUsd(session: CodingSession, state: LimitState): number {
  return Math.min(...limitsOf(session, state).map((limit) => limit.leftUsd))
}

function limitsOf(
  session: CodingSession,
  { spend, limits, today }: LimitState,
): Array<BudgetReached & { leftUsd: number }> {
  const { workdir, agentId } = session.request
  const limit = (of: BudgetReached['of'], limitUsd: number | undefined, spent: () => number) => {
    if (limitUsd === undefined) return []
    const spentUsd = spent()
    return [{ of, limitUsd, spentUsd, leftUsd: limitUsd + allowanceOf(session, of, today) - spentUsd }]
  }
  return [
    ...limit('session', session.budgetUsd, () => session.costUsd),
    ...limit('repository', limits.repoUsdPerDay, () => spend.total({ repo: workdir }, today)),
    ...limit('agent', limits.agentUsdPerDay, () => spend.total({ agentId }, today)),
    ...limit('day', limits.usdPerDay, () => spend.total({}, today)),
  ]
}

/** A person may allow more than a daily limit, for that limit and that day. */
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
  /** At the rate of the last hour. */
  runsOutAt?: number
}

interface BudgetMoment extends Omit<LimitState, 'spend'> {
  at: number
  /** Set for an agent: it sees only its own limits. */
  agentId?: string
}

/** The daily limits (in total, and of each agent and repository that is active today), then those of the running sessions. */
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
  const isWithinDay = perHour > 0 && runsOutAt < at + 24 * hourMs
  return { ...about, spentUsd, runsOutAt: isWithinDay ? runsOutAt : undefined }
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

/** The question to a person when a limit is reached. */
export function budgetQuestion(session: CodingSession, reached: BudgetReached, spend: SpendStore): Question {
  const { agentId, budgetUsd } = session.request
  const total = formatUsd(reached.spentUsd + budgetUsd, budgetUsd)
  const lastUsd = spend.lastCallUsd(session.id) ?? 0
  const soon =
    lastUsd < budgetUsd
      ? ''
      : ` The last call cost ${formatUsd(lastUsd)}, so it asks again after the next one.`
  const question = `${describeBudget(reached)}. Go on with ${formatUsd(budgetUsd)} more, ${total} in all, or answer with another amount?${soon}`
  const request = {
    requestId: randomUUID(),
    kind: 'budget',
    toolName: 'budget',
    input: { command: question },
  } as const
  return { codingId: session.id, agentId, request }
}

/** Afterwards exactly `amountUsd` is left to spend, however far the old limit was exceeded. */
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
