// Selects the session for the next task. A label decides alone. Without a label, the task waits while the repository has as many
// working sessions as are allowed; otherwise the agent's own sessions are scored, and the best above the threshold is resumed.
// Sessions of other agents are scored, too: a task for Claude Code is not given to them, but the answer says when one of them
// fits better.
import type { AgentKind } from '../domain/agent.ts'
import type { Clock } from '../domain/clock.ts'
import type { SessionSelectionConfig } from '../domain/config/coding-settings.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import type { Log } from '../domain/log.ts'
import type { ProjectStatus } from '../domain/project-status.ts'
import { shellWord } from '../domain/text.ts'
import type {
  AskStructured,
  FindInSessions,
  FoundInSession,
  SelectionAction,
  SessionPrice,
  SessionScore,
  SessionSelection,
  TaskRelevance,
} from '../domain/selection.ts'
import { isContinuation } from './transcript-facts.ts'
import { candidatesOf } from './filter.ts'
import { readerOf } from './agents/readers.ts'
import { assessTaskRelevance, relevanceByWords, type Assessment } from './relevance.ts'
import { scoreSession, type ScoreContext } from './score.ts'
import { mayReadSession } from '../rights/rights.ts'

export interface SelectionSources {
  discovery: Pick<Discovery, 'list'>
  clock: Clock
  log: Log
  priceOf(session: DiscoveredSession): SessionPrice
  /** The coding sessions that Rockpool runs in this directory now. */
  atWork(repoPath: string): CodingAtWork[]
  /** Claude's ids of Rockpool's own sessions that wait for their next message in this directory. */
  awaitingInput(repoPath: string): string[]
  /** How many may run in one directory at once. */
  atOnce: number
  /** A small model; without it, words are compared. */
  ask?: AskStructured
  /** The search; without it, only the subjects of sessions are compared with the task. */
  find?: FindInSessions
}

export interface CodingAtWork {
  agentId: string
  /** Claude's id, once it is known. */
  sessionId?: string
}

interface SelectionRequest {
  task: string
  /** Absent for the operator, to whom every session belongs. */
  agentId?: string
  projectStatus: ProjectStatus
  label?: string
  /** The program that takes the task; Claude Code when absent. */
  agentKind?: AgentKind
  maxBudgetUsd?: number
  config: SessionSelectionConfig
}

/** At most this many sessions go to the model: its answer must fit into `relevanceMaxTokens`. */
const maxAsked = 12
/** Totals this close (in hundredths) count as equal; the cheaper session wins. */
const nearTie = 2

export async function selectSession(
  sources: SelectionSources,
  request: SelectionRequest,
): Promise<SessionSelection> {
  const repoPath = request.projectStatus.repo.path
  const { sessions } = await sources.discovery.list({ repoPath, archived: false, agentKind: 'all' })
  const waiting = new Set(sources.awaitingInput(repoPath))
  // Such a session gets the task as its next message, although a process has it open.
  const free = sessions.map((session) =>
    waiting.has(session.sessionId) ? { ...session, isRunning: false } : session,
  )
  const selection = await decide(sources, request, free)
  const { action, sessionId, relevanceBy, fallback, scores } = selection
  sources.log.info(
    { event: 'session-selected', action, sessionId, relevanceBy, fallback, candidates: scores.length },
    `select: ${selection.reason}`,
  )
  return selection
}

async function decide(
  sources: SelectionSources,
  request: SelectionRequest,
  sessions: DiscoveredSession[],
): Promise<SessionSelection> {
  const { projectStatus, agentId, agentKind: kind = 'claude' } = request
  const isOfKind = ({ agentKind = 'claude' }: { agentKind?: AgentKind }): boolean => agentKind === kind
  const atWork = sources.atWork(projectStatus.repo.path)
  if (request.label !== undefined) return decideByLabel(request, sessions.filter(isOfKind), atWork)
  if (atWork[0] && atWork.length >= sources.atOnce)
    return waitFor(atWork[0], `Rockpool runs a session in ${projectStatus.repo.name}`, agentId)
  const candidates = candidatesOf(sessions, projectStatus, agentId).filter(
    (session) => session.label === undefined,
  )
  if (candidates.length === 0) return unscored('fresh', 'fresh: no session here can be continued')
  const ours = candidates.filter(isOfKind)
  if (isContinuation(request.task) && ours.length > 0) return continueLatest(sources, request, ours)
  const { scores, by, fallback } = await scoreAll(sources, request, candidates)
  const { resumeThreshold } = request.config
  const chosen = chooseBest(scores.filter(isOfKind), resumeThreshold)
  return {
    ...(kind === 'claude' ? withBetter(chosen, scores, resumeThreshold) : chosen),
    scores,
    relevanceBy: by,
    fallback,
  }
}

/** "Continue" does not describe the work: resume the session that was used last. */
function continueLatest(
  sources: SelectionSources,
  request: SelectionRequest,
  candidates: DiscoveredSession[],
): SessionSelection {
  const context = contextOf(sources, request)
  const scores = candidates.toSorted(newestFirst).map((session) => ({
    ...scoreSession(session, { ...context, relevance: sameWork(session) }),
    price: sources.priceOf(session),
  }))
  const latest = scores.find(({ ceiling }) => ceiling === undefined)
  if (!latest) return { ...unscored('fresh', whyFresh(scores, request.config.resumeThreshold)), scores }
  const action = latest.isRunning ? 'fork' : 'resume'
  const why = 'the task only says to continue, and this session was used last'
  return {
    ...unscored(action, `${action} ${short(latest.sessionId)}: ${why}${changesOf(latest)}`, latest.sessionId),
    scores,
  }
}

/** A label is an explicit request: it overrides scores and ceilings. */
function decideByLabel(
  request: SelectionRequest,
  sessions: DiscoveredSession[],
  atWork: CodingAtWork[],
): SessionSelection {
  const label = JSON.stringify(request.label)
  const found = candidatesOf(sessions, request.projectStatus, request.agentId)
    .filter((session) => session.label === request.label)
    .sort(newestFirst)[0]
  if (!found) return unscored('fresh', `fresh: no session is labelled ${label} yet`)
  const busy = atWork.find(({ sessionId }) => sessionId === found.sessionId)
  if (busy) return waitFor(busy, `the session labelled ${label} is at work`, request.agentId)
  const action = found.isRunning ? 'fork' : 'resume'
  const why = found.isRunning ? `labelled ${label}, and running elsewhere` : `labelled ${label}`
  return unscored(action, `${action} ${short(found.sessionId)}: ${why}`, found.sessionId)
}

function waitFor(busy: CodingAtWork, why: string, agentId: string | undefined): SessionSelection {
  // Another agent's session is never disclosed, not even its id.
  return unscored('queue', `queue: ${why}`, mayReadSession(busy, agentId) ? busy.sessionId : undefined)
}

function unscored(action: SelectionAction, reason: string, sessionId?: string): SessionSelection {
  return { action, reason, sessionId, scores: [], relevanceBy: 'none' }
}

async function scoreAll(
  sources: SelectionSources,
  request: SelectionRequest,
  candidates: DiscoveredSession[],
): Promise<{ scores: SessionScore[]; by: 'model' | 'keywords'; fallback?: string }> {
  const context = contextOf(sources, request)
  const ids = candidates.map(({ sessionId }) => sessionId)
  const found = await sources.find?.(request.task, ids)
  const relevance = relevanceByWords(request.task, candidates, found)
  const ranked = candidates
    .map((session, at) => ({
      session,
      score: scoreSession(session, { ...context, relevance: relevance[at]! }),
    }))
    .sort(bestFirst)
  const judged = await judge(sources, request, ranked, context, found)
  const byModel = new Map(judged.relevance.map((one) => [one.sessionId, one]))
  const rescored = ranked.map(({ session, score }) => {
    const judgement = byModel.get(session.sessionId)
    return { session, score: judgement ? scoreSession(session, { ...context, relevance: judgement }) : score }
  })
  const scores = rescored
    .sort(bestFirst)
    .map(({ session, score }) => ({ ...score, price: sources.priceOf(session) }))
  return { scores, by: judged.by, fallback: judged.fallback }
}

function contextOf(
  { clock }: SelectionSources,
  { projectStatus, maxBudgetUsd }: SelectionRequest,
): Omit<ScoreContext, 'relevance'> {
  return { currentBranch: projectStatus.git.currentBranch, now: clock.now(), maxBudgetUsd }
}

/** Asks the model about the most promising sessions, without those that could not win with any answer. */
async function judge(
  { ask, clock }: SelectionSources,
  { task, config }: SelectionRequest,
  ranked: Ranked[],
  context: Omit<ScoreContext, 'relevance'>,
  found?: ReadonlyMap<string, FoundInSession>,
): Promise<Assessment> {
  if (!ask || !config.enabled) return { relevance: [], by: 'keywords' }
  const couldWin = ({ session }: Ranked): boolean =>
    isAbove(scoreSession(session, { ...context, relevance: sameWork(session) }).total, config.resumeThreshold)
  const asked = ranked.filter(couldWin).slice(0, maxAsked)
  const sessions = asked.map(({ session }) => session)
  return assessTaskRelevance(task, sessions, config, ask, clock, found)
}

function sameWork({ sessionId }: DiscoveredSession): TaskRelevance {
  return { sessionId, relevance: 1, reasoning: 'the same work' }
}

type Chosen = Pick<SessionSelection, 'action' | 'sessionId' | 'reason' | 'elsewhere'>

/** Adds the session of another agent that scores higher than the chosen one, with what it costs there. */
function withBetter(chosen: Chosen, scores: SessionScore[], threshold: number): Chosen {
  const score = scores.find(({ sessionId }) => sessionId === chosen.sessionId)
  const better = scores.find(
    ({ agentKind, ceiling, total }) =>
      agentKind !== undefined && !ceiling && isAbove(total, threshold) && total > (score?.total ?? 0),
  )
  const { agentKind = 'claude', sessionId = '', total = 0 } = better ?? {}
  if (!better || agentKind === 'claude') return chosen
  const reader = readerOf(agentKind)
  const command = reader.resumeCommand(sessionId).map(shellWord).join(' ')
  const price = better.price?.guessed ? 'its price is not known' : dollars(costOf(better))
  const words = `a session of ${reader.program} fits better (${total.toFixed(2)}, ${price}): \`${command}\``
  return { ...chosen, reason: `${chosen.reason}; ${words}`, elsewhere: { sessionId, agentKind, command } }
}

function chooseBest(scores: SessionScore[], threshold: number): Chosen {
  if (scores.length === 0)
    return { action: 'fresh', reason: 'fresh: no session of this program here can be continued' }
  const good = scores.filter(({ total, ceiling }) => !ceiling && isAbove(total, threshold))
  const best = good[0]
  if (!best) return { action: 'fresh', reason: whyFresh(scores, threshold) }
  const asGood = good.filter(({ total }) => hundredths(best.total) - hundredths(total) <= nearTie)
  const chosen = asGood.reduce((a, b) => (costOf(b) < costOf(a) ? b : a))
  const action = chosen.isRunning ? 'fork' : 'resume'
  const cheaper =
    chosen === best
      ? ''
      : `; as good as ${short(best.sessionId)} (${best.total.toFixed(2)}) and cheaper: ${dollars(costOf(chosen))} instead of ${dollars(costOf(best))}`
  const running = chosen.isRunning ? ', running elsewhere' : ''
  const words = `${action} ${short(chosen.sessionId)} (${chosen.total.toFixed(2)}, ${dollars(costOf(chosen))}): ${chosen.reason}${running}${cheaper}${changesOf(chosen)}`
  return { action, sessionId: chosen.sessionId, reason: words }
}

/** Tells before a resume that the session continues with other tools. */
function changesOf({ price }: SessionScore): string {
  return price?.resumesWith === undefined ? '' : `; ${price.resumesWith}`
}

function whyFresh(scores: SessionScore[], threshold: number): string {
  const best = scores[0]!
  const many = scores.length === 1 ? 'the only session' : `the best of ${scores.length} sessions`
  if (best.ceiling) return `fresh: ${many}, ${short(best.sessionId)}, is ruled out: ${best.ceiling}`
  return `fresh: ${many}, ${short(best.sessionId)}, scores ${best.total.toFixed(2)}, not above ${threshold.toFixed(2)}: ${best.reason}`
}

type Ranked = { session: DiscoveredSession; score: SessionScore }

function bestFirst(a: Ranked, b: Ranked): number {
  const ceilings = Number(a.score.ceiling !== undefined) - Number(b.score.ceiling !== undefined)
  return b.score.total - a.score.total || ceilings || newestFirst(a.session, b.session)
}

function newestFirst(a: DiscoveredSession, b: DiscoveredSession): number {
  return b.lastModified.getTime() - a.lastModified.getTime()
}

function costOf({ price, isRunning }: SessionScore): number {
  if (!price) return Number.POSITIVE_INFINITY
  return isRunning ? price.forkUsd : price.resumeUsd
}

/** Strictly above: an unrelated session of the same branch has exactly 0.60. */
function isAbove(total: number, threshold: number): boolean {
  return hundredths(total) > hundredths(threshold)
}

function hundredths(total: number): number {
  return Math.round(total * 100)
}

function dollars(usd: number): string {
  return usd >= 1 ? `$${usd.toFixed(2)}` : `$${usd.toFixed(4)}`
}

function short(sessionId: string): string {
  return sessionId.slice(0, 8)
}
