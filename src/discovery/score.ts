// Scores how well a session fits a task: five factors and three ceilings, in whole hundredths, so that 0.60 is exactly 0.60.
import type { DiscoveredSession } from '../domain/discovered-session.ts'
import { titleText } from '../domain/machine-text.ts'
import { plainLine } from '../domain/text.ts'
import type { ScoreFactors, SessionScore, TaskRelevance } from '../domain/selection.ts'

export interface ScoreContext {
  currentBranch: string
  relevance: TaskRelevance
  now: number
  /** The budget of the next run. */
  maxBudgetUsd?: number
}

const hour = 3_600_000
const week = 168 * hour

/** The hundredths for a session that is younger than this. */
const recencySteps: ReadonlyArray<readonly [ageMs: number, hundredths: number]> = [
  [hour, 20],
  [6 * hour, 16],
  [24 * hour, 12],
  [72 * hour, 8],
  [week, 4],
]

export function scoreSession(session: DiscoveredSession, context: ScoreContext): SessionScore {
  const budgetShare = budgetShareOf(session, context.maxBudgetUsd)
  const age = Math.max(0, context.now - session.lastModified.getTime())
  const factors = {
    branch: sameBranch(session.branch, context.currentBranch) ? 25 : 0,
    recency: recencySteps.find(([limit]) => age < limit)?.[1] ?? 0,
    relevance: relevanceFactor(context.relevance.relevance),
    health: healthFactor(session, age),
    capacity: capacityFactor(session, budgetShare),
  }
  const ceiling = ceilingOf(session, budgetShare, context.relevance.relevance)
  const sum = Object.values(factors).reduce((total, factor) => total + factor, 0)
  return {
    sessionId: session.sessionId,
    title: titleOf(session),
    total: ceiling === undefined ? Math.max(0, sum) / 100 : 0,
    factors: fractions(factors),
    relevance: context.relevance,
    ceiling,
    isRunning: session.isRunning,
    agentKind: session.agentKind === 'claude' ? undefined : session.agentKind,
    reason: ceiling ?? inWords(session, factors, context.relevance, budgetShare),
  }
}

function titleOf({ title, firstMessage }: DiscoveredSession): string {
  return plainLine(title ?? titleText(firstMessage), 80)
}

/** The used share of the given budget, or else of the session's own. */
function budgetShareOf(session: DiscoveredSession, maxBudgetUsd?: number): number | undefined {
  if (maxBudgetUsd === undefined || maxBudgetUsd <= 0) return session.budgetUsedPct
  return (session.totalCostUsd ?? session.costUsd) / maxBudgetUsd
}

/** No branch, or a detached head, does not connect two sessions. */
function sameBranch(branch: string, current: string): boolean {
  return branch === current && branch !== '' && branch !== 'HEAD'
}

function relevanceFactor(relevance: number): number {
  if (relevance >= 0.6) return 25
  if (relevance >= 0.3) return 10 + Math.round((Math.round(relevance * 1000) - 300) / 20)
  return relevance >= 0.1 ? 0 : -15
}

function healthFactor(session: DiscoveredSession, age: number): number {
  const penalty =
    (session.messageCount > 500 ? 7 : 0) + (session.fileSizeBytes > 5_000_000 ? 4 : 0) + (age > week ? 4 : 0)
  return Math.max(0, 15 - penalty)
}

function capacityFactor(session: DiscoveredSession, budgetShare = 0): number {
  const compactions = [0, 4, 9][session.compactionCount] ?? 15
  const budget = exceeds(budgetShare, 0.5) ? 4 : exceeds(budgetShare, 0.3) ? 2 : 0
  const dense = tokensPerMessage(session) > 4_000 ? 3 : 0
  return Math.max(0, 15 - compactions - budget - dense)
}

function tokensPerMessage(session: DiscoveredSession): number {
  const tokens = session.totalInputTokens + session.totalOutputTokens
  return session.messageCount === 0 ? 0 : tokens / session.messageCount
}

/** Conditions that exclude a session regardless of its score. */
function ceilingOf(session: DiscoveredSession, budgetShare = 0, relevance: number): string | undefined {
  if (session.compactionCount >= 3)
    return `compacted ${session.compactionCount} times: too little of the context is left`
  if (!exceeds(0.7, budgetShare)) return `${percent(budgetShare)} of the budget is used: not enough is left`
  if (relevance < 0.1 && session.messageCount > 200)
    return `${session.messageCount} messages about something else`
  return undefined
}

/** Compares shares without rounding errors: 0.35 / 0.5 is 0.7. */
function exceeds(a: number, b: number): boolean {
  return Math.round((a - b) * 1e9) > 0
}

function fractions(factors: ScoreFactors): ScoreFactors {
  const hundredths = Object.entries(factors).map(([name, value]) => [name, value / 100])
  return Object.fromEntries(hundredths) as ScoreFactors
}

function inWords(
  session: DiscoveredSession,
  factors: ScoreFactors,
  relevance: TaskRelevance,
  budgetShare = 0,
): string {
  // One common word says too little for "unrelated".
  const isUnrelated = factors.relevance < 0 && relevance.relevance === 0
  const related = factors.relevance >= 10 ? 'related' : isUnrelated ? 'unrelated' : 'hardly related'
  const words = [
    factors.branch > 0 ? 'same branch' : 'other branch',
    factors.recency >= 16 ? 'recent' : factors.recency === 0 ? 'older than a week' : '',
    `${related} (${relevance.reasoning})`,
    factors.health < 8 ? 'large or old' : '',
    session.compactionCount > 0 ? `compacted ${session.compactionCount}x` : '',
    exceeds(budgetShare, 0.3) ? `${percent(budgetShare)} of the budget used` : '',
    tokensPerMessage(session) > 4_000 ? 'many tokens a message' : '',
  ]
  return words.filter((word) => word !== '').join(', ')
}

function percent(share: number): string {
  return `${Math.round(share * 100)}%`
}
