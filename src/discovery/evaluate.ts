// Evaluates the selection: would it have chosen what the person really chose? Replays the history of this machine: whenever a
// person returned to a session or started a new one, all sessions are scored as they were then, without a model. Two simple
// rules are compared with it: the most recent session, and the most words in common.
import { z } from 'zod'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import type { FindInSessions } from '../domain/selection.ts'
import { keywordRelevance, relevanceByWords } from './relevance.ts'
import { scoreSession } from './score.ts'
import { conversationRecords } from './conversation-records.ts'
import { errorText } from '../domain/errors.ts'

/** A prompt within this time after the previous one is not a choice of a session. */
const pauseMs = 30 * 60_000
const maxDecisions = 500

const methods = ['selection', 'most recent', 'keywords'] as const

const methodResult = z.object({
  method: z.enum(methods),
  /** Share of resumed sessions that ranked first. */
  hitRate: z.number(),
  /** Mean of 1 / rank of the session that was resumed. */
  mrr: z.number(),
  /** Share of all decisions, fresh ones included, that were the same. */
  agreement: z.number(),
})
type MethodResult = z.infer<typeof methodResult>

export const evaluation = z.object({
  decisions: z.number(),
  resumed: z.number(),
  fresh: z.number(),
  sessions: z.number(),
  repositories: z.number(),
  results: z.array(methodResult),
  /** Files that could not be read, and other limits of the evaluation. */
  notes: z.array(z.string()),
})
export type Evaluation = z.infer<typeof evaluation>

interface EvaluationOptions {
  repoPath?: string
  /** Only the sessions of this agent. */
  agentId?: string
  threshold: number
  /** The search; without it, only the subjects of sessions are compared with a task. */
  find?: FindInSessions
}

export async function evaluateSelection(
  discovery: Pick<Discovery, 'list'>,
  options: EvaluationOptions,
): Promise<Evaluation> {
  const { sessions } = await discovery.list({ repoPath: options.repoPath, agentId: options.agentId })
  const notes: string[] = []
  const histories: History[] = []
  for (const session of sessions) {
    const history = await readHistory(session, notes)
    if (history && history.prompts.length > 0) histories.push(history)
  }
  const repositories = Map.groupBy(histories, ({ session }) => session.repoPath)
  const all = [...repositories.values()].flatMap(decisionsIn).sort((a, b) => a.at - b.at)
  const decisions = all.slice(-maxDecisions)
  if (all.length > decisions.length)
    notes.push(`only the last ${maxDecisions} of ${all.length} decisions count`)
  const resumed = decisions.filter(({ chosen }) => chosen !== undefined).length
  return {
    decisions: decisions.length,
    resumed,
    fresh: decisions.length - resumed,
    sessions: histories.length,
    repositories: repositories.size,
    results: await replay(decisions, options),
    notes,
  }
}

/** The state of a session after a prompt and its answer. */
interface PastState {
  at: number
  branch: string
  lastPrompt: string
  messageCount: number
  compactionCount: number
  bytes: number
}

interface History {
  session: DiscoveredSession
  prompts: Array<{ at: number; text: string; branch: string }>
  states: PastState[]
}

async function readHistory(session: DiscoveredSession, notes: string[]): Promise<History | undefined> {
  const history: History = { session, prompts: [], states: [] }
  const now: PastState = { at: 0, branch: '', lastPrompt: '', messageCount: 0, compactionCount: 0, bytes: 0 }
  const keep = (): void => {
    if (now.at > 0) history.states.push({ ...now })
  }
  try {
    for await (const { kind, at, branch, text, bytes } of conversationRecords(session.filePath)) {
      if (kind === 'prompt') {
        keep()
        if (at > 0) history.prompts.push({ at, text, branch })
        now.lastPrompt = text
      }
      if (kind === 'compaction') now.compactionCount++
      else now.messageCount++
      Object.assign(now, { at: Math.max(now.at, at), branch: branch || now.branch, bytes })
    }
  } catch (error) {
    notes.push(`${session.sessionId}: ${errorText(error)}`)
    return undefined
  }
  keep()
  return history
}

interface ReplayedDecision {
  at: number
  task: string
  branch: string
  /** The session that was resumed; undefined for a new session. */
  chosen: string | undefined
  candidates: History[]
}

/** A prompt is a decision if the person switched sessions or returned after a pause. */
function decisionsIn(histories: History[]): ReplayedDecision[] {
  const prompts = withoutCopies(histories).sort((a, b) => a.at - b.at)
  const decisions: ReplayedDecision[] = []
  prompts.forEach((prompt, index) => {
    const before = prompts[index - 1]
    if (!before) return
    const isSameSitting = before.history === prompt.history && prompt.at - before.at < pauseMs
    const candidates = histories.filter(({ prompts }) => prompts[0]!.at < prompt.at)
    if (isSameSitting || candidates.length === 0) return
    const { at, text: task, branch, resumed } = prompt
    decisions.push({ at, task, branch, chosen: resumed?.session.sessionId, candidates })
  })
  return decisions
}

interface Prompt {
  at: number
  text: string
  branch: string
  history: History
  /** The session that the prompt continues; absent for a new session. */
  resumed: History | undefined
}

/** A fork copies earlier records with their times: its first own prompt continues its parent session. */
function withoutCopies(histories: History[]): Prompt[] {
  const firstIn = new Map<string, History>()
  const prompts: Prompt[] = []
  const originalsFirst = histories.toSorted(
    (a, b) =>
      Number(a.session.forkedFrom !== undefined) - Number(b.session.forkedFrom !== undefined) ||
      a.session.lastModified.getTime() - b.session.lastModified.getTime(),
  )
  for (const history of originalsFirst) {
    let resumed: History | undefined
    for (const prompt of history.prompts) {
      const original = firstIn.get(`${prompt.at} ${prompt.text}`)
      if (!original) {
        firstIn.set(`${prompt.at} ${prompt.text}`, history)
        prompts.push({ ...prompt, history, resumed })
      }
      resumed = original ?? history
    }
  }
  return prompts
}

async function replay(decisions: ReplayedDecision[], options: EvaluationOptions): Promise<MethodResult[]> {
  const newTally = () => ({ hits: 0, reciprocal: 0, agreed: 0 })
  const tallies = new Map(methods.map((method) => [method, newTally()]))
  for (const decision of decisions) {
    for (const { method, ranking, choice } of await rankings(decision, options)) {
      const tally = tallies.get(method)!
      const rank = decision.chosen === undefined ? -1 : ranking.indexOf(decision.chosen)
      if (rank === 0) tally.hits++
      if (rank >= 0) tally.reciprocal += 1 / (rank + 1)
      if (choice === decision.chosen) tally.agreed++
    }
    await new Promise((resolve) => setImmediate(resolve))
  }
  const resumed = decisions.filter(({ chosen }) => chosen !== undefined).length
  return [...tallies].map(([method, { hits, reciprocal, agreed }]) => ({
    method,
    hitRate: share(hits, resumed),
    mrr: share(reciprocal, resumed),
    agreement: share(agreed, decisions.length),
  }))
}

async function rankings(decision: ReplayedDecision, { find, threshold }: EvaluationOptions) {
  const { at, task, branch } = decision
  const then = decision.candidates.map((history) => asItWas(history, at))
  const found = await find?.(
    task,
    then.map(({ sessionId }) => sessionId),
    at,
  )
  const keywords = keywordRelevance(task, then)
  const relevance = relevanceByWords(task, then, found)
  const scored = then.map((session, index) => ({
    session,
    words: keywords[index]!.relevance,
    total: scoreSession(session, { currentBranch: branch, relevance: relevance[index]!, now: at }).total,
  }))
  type Scored = (typeof scored)[number]
  const newest = (a: Scored, b: Scored): number =>
    b.session.lastModified.getTime() - a.session.lastModified.getTime()
  const ids = (order: (a: Scored, b: Scored) => number): Scored[] =>
    scored.toSorted((a, b) => order(a, b) || newest(a, b))
  const bySelection = ids((a, b) => b.total - a.total)
  const byWords = ids((a, b) => b.words - a.words)
  const recent = ids(newest)
  const first = (list: Scored[], isGood: (best: Scored) => boolean): string | undefined =>
    isGood(list[0]!) ? list[0]!.session.sessionId : undefined
  const names = (list: Scored[]): string[] => list.map(({ session }) => session.sessionId)
  const isAbove = ({ total }: Scored): boolean => Math.round(total * 100) > Math.round(threshold * 100)
  const hasWords = ({ words }: Scored): boolean => words > 0
  return [
    { method: 'selection' as const, ranking: names(bySelection), choice: first(bySelection, isAbove) },
    { method: 'most recent' as const, ranking: names(recent), choice: first(recent, () => true) },
    { method: 'keywords' as const, ranking: names(byWords), choice: first(byWords, hasWords) },
  ]
}

/** The session as it was at that time. */
function asItWas({ session, prompts, states }: History, at: number): DiscoveredSession {
  const state = states.findLast((one) => one.at < at) ?? states[0]!
  // Tokens are not replayed one by one; each message is taken to have the session's average.
  const share = session.messageCount === 0 ? 0 : state.messageCount / session.messageCount
  return {
    ...session,
    isRunning: false,
    branch: state.branch,
    firstMessage: prompts[0]!.text,
    // It may have been written later.
    title: undefined,
    lastTask: session.lastTask === undefined ? undefined : state.lastPrompt,
    lastModified: new Date(state.at),
    messageCount: state.messageCount,
    compactionCount: state.compactionCount,
    fileSizeBytes: state.bytes,
    totalInputTokens: session.totalInputTokens * share,
    totalOutputTokens: session.totalOutputTokens * share,
  }
}

function share(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole
}
