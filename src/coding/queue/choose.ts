// Chooses the session for a task. `cc select` explains the choice, a launch acts on it, and a queued task makes it when its
// turn comes. All of them ask the same gate which sessions work in a repository.
import { pricesOf } from '../../discovery/model-prices.ts'
import { priceSession } from '../../discovery/price-table.ts'
import { gatherProjectStatus } from '../../discovery/project-status.ts'
import { selectSession } from '../../discovery/select.ts'
import type { SelectionSources } from '../../discovery/select.ts'
import { priceWithTrim } from '../../discovery/trim/trim-price.ts'
import { sleep, within } from '../../domain/async.ts'
import type { AgentKind } from '../../domain/agent.ts'
import type { Clock } from '../../domain/clock.ts'
import type { CodingRequest, CodingSession } from '../../domain/coding-session.ts'
import type { Config } from '../../domain/config.ts'
import type { SessionSelectionConfig } from '../../domain/config/coding-settings.ts'
import type { Discovery } from '../../domain/discovered-session.ts'
import type { Log } from '../../domain/log.ts'
import type { SearchPart } from '../../domain/search.ts'
import type {
  AskStructured,
  Decisions,
  FindInSessions,
  FoundInSession,
  SessionScore,
  SessionSelection,
} from '../../domain/selection.ts'
import type { TrimLevel } from '../../domain/trim.ts'
import type { RepoGate } from './repo-queue.ts'

/** The choice as a launch needs it. */
export interface Choice {
  action: 'resume' | 'fork' | 'fresh' | 'queue'
  resume?: CodingRequest['resume']
  /** For `queue`: the session to wait for. */
  sdkSessionId?: string
}

interface ChoiceParts {
  /** The configuration in force: a reload replaces it, so it is read at each use. */
  readonly config: Pick<Config, 'agents' | 'coding' | 'sessionSelection'>
  clock: Clock
  log: Log
  variables: Record<string, string | undefined>
  /** The gate at which launches wait. */
  repos: RepoGate
  discovery: () => Discovery
  decisions: () => Decisions
  smallModel: () => AskStructured | undefined
  /** `sessionSelection` in OpenClaw's configuration, for one of its agents. */
  openclawSettings: (agentId: string) => Partial<SessionSelectionConfig> | undefined
  search: () => SearchPart
  /** May the caller that launched this task continue the conversation? */
  mayContinue: (request: CodingRequest, sdkSessionId: string) => boolean
}

interface ChoiceOptions {
  task: string
  repo: string
  /** An agent chooses among its own sessions; an operator, who has no agent id, among all of the repository. */
  agentId?: string
  label?: string
  /** The program that takes the task; its own sessions can continue. */
  agentKind?: AgentKind
  maxBudgetUsd?: number
  askModel?: boolean
}

/** A choice that no launch has used yet; `store` keeps it for `cc why`. */
interface Proposal {
  selection: SessionSelection
  store: () => Promise<string>
}

export class SessionChoice {
  #parts: ChoiceParts

  constructor(parts: ChoiceParts) {
    this.#parts = parts
  }

  /** Chooses a session and stores the decision. */
  async choose(options: ChoiceOptions): Promise<{ selection: SessionSelection; decisionId: string }> {
    const { selection, store } = await this.propose(options)
    return { selection, decisionId: await store() }
  }

  /** Chooses a session and stores nothing: a page asks again at each pause while a person types. */
  async propose(options: ChoiceOptions): Promise<Proposal> {
    const { task, agentId, label, agentKind, maxBudgetUsd, askModel } = options
    const { variables, clock, discovery, decisions } = this.#parts
    // Pull requests do not matter for the choice, and asking for them takes a network.
    const projectStatus = await gatherProjectStatus(
      { discovery: discovery(), variables, clock },
      options.repo,
      agentId,
      { github: false },
    )
    const config = this.settings(agentId)
    const request = { task, projectStatus, config, agentId, label, agentKind, maxBudgetUsd }
    const selection = await this.#withTrim(await selectSession(this.sources(askModel), request))
    const repoPath = projectStatus.repo.path
    const decision = { at: clock.now(), task, repoPath, agentId, label, selection }
    return { selection, store: () => decisions().record(decision) }
  }

  /** The choice for a queued task. `cc why` finds the decision by the session that it led to. */
  async chooseFor({ id, request, budgetUsd: maxBudgetUsd }: CodingSession): Promise<Choice> {
    const { prompt: task, workdir: repo, label, agentKind, agentId, originSessionKey, byProgram } = request
    // A program that is bound to an agent chooses as the agent does.
    const own = originSessionKey === undefined && !byProgram ? undefined : agentId
    const asked = { task, repo, label, agentKind, maxBudgetUsd, agentId: own }
    const { selection, decisionId } = await this.choose(asked)
    await this.#parts.decisions().became(decisionId, id)
    const chosen = choiceOf(selection, { trim: this.trimFor(selection) })
    const { resume } = chosen
    const isOpen = !resume || resume.fork || this.#parts.mayContinue(request, resume.sdkSessionId)
    if (!isOpen) return { action: 'fresh' }
    return { ...chosen, sdkSessionId: selection.sessionId }
  }

  /** The level at which the chosen session is trimmed by itself; undefined unless the owner switched it on. */
  trimFor(selection: SessionSelection): TrimLevel | undefined {
    const { trimWhenCold } = this.#parts.config.coding
    const price = chosenScore(selection)?.price
    return trimWhenCold !== 'off' && price?.trimmed?.offered ? trimWhenCold : undefined
  }

  /** Adds the price of a trimmed copy to the chosen session if its cache is cold: only its transcript is read. */
  async #withTrim(selection: SessionSelection): Promise<SessionSelection> {
    const { discovery, config, clock, log } = this.#parts
    const score = chosenScore(selection)
    if (!score?.price || score.price.cache === 'warm' || selection.action === 'queue') return selection
    try {
      const [session] = await discovery().known([score.sessionId])
      if (!session) return selection
      const price = await priceWithTrim(session, config.coding, clock.now())
      const scores = selection.scores.map((one) => (one === score ? { ...one, price } : one))
      const { trimmed, resumeUsd } = price
      const usd = (amount: number): string => `$${amount.toFixed(2)}`
      const offer = trimmed?.offered
        ? `; its cache is cold, a trimmed copy (--trim) costs ${usd(trimmed.usd)} instead of ${usd(resumeUsd)}`
        : ''
      return { ...selection, scores, reason: `${selection.reason}${offer}` }
    } catch (error) {
      log.warn(
        { event: 'trim-price-failed', sessionId: score.sessionId, reason: String(error) },
        'Could not read a transcript to price its trimmed copy; offering none.',
      )
      return selection
    }
  }

  /** The settings of `sessionSelection`, with the agent's own over those of all agents. */
  settings(agentId: string | undefined): SessionSelectionConfig {
    const { agents, sessionSelection } = this.#parts.config
    const own = agents.list.find((agent) => agent.id === agentId)?.sessionSelection
    const inOpenClaw = agentId === undefined ? undefined : this.#parts.openclawSettings(agentId)
    return { ...sessionSelection, ...agents.defaults.sessionSelection, ...inOpenClaw, ...own }
  }

  sources(askModel = true): SelectionSources {
    const { clock, log, repos, discovery, smallModel, search, config } = this.#parts
    return {
      discovery: discovery(),
      clock,
      log,
      atOnce: config.coding.perRepo.running,
      atWork: (repoPath) =>
        repos.workingIn(repoPath).map(({ request, sdkSessionId }) => ({
          agentId: request.agentId,
          sessionId: sdkSessionId,
        })),
      awaitingInput: (repoPath) =>
        repos.awaitingInputIn(repoPath).flatMap(({ sdkSessionId }) => sdkSessionId ?? []),
      find: findInSessions({ search: search(), clock, log }),
      priceOf: (session) =>
        priceSession(session, pricesOf, clock.now(), {
          // Another agent continues with its own model.
          nextModel: session.agentKind === 'claude' ? config.coding.defaultModel : undefined,
        }),
      ask: askModel ? smallModel() : undefined,
    }
  }
}

function chosenScore({ scores, sessionId }: SessionSelection): SessionScore | undefined {
  return scores.find((score) => score.sessionId === sessionId)
}

/** Turns a selection into a choice for a launch. A trimmed copy is a fork. */
export function choiceOf(
  { action, sessionId }: SessionSelection,
  wanted: { fork?: boolean; trim?: TrimLevel } = {},
): Pick<Choice, 'action' | 'resume'> {
  if (action === 'queue' || action === 'fresh' || !sessionId) {
    return { action: action === 'queue' ? 'queue' : 'fresh' }
  }
  const { trim } = wanted
  const fork = action === 'fork' || wanted.fork === true || trim !== undefined
  return { action: fork ? 'fork' : 'resume', resume: { sdkSessionId: sessionId, fork, trim } }
}

/** A choice does not wait longer for the search, for example for a slow provider of vectors. */
const searchMs = 500

interface FindParts extends Pick<ChoiceParts, 'clock' | 'log'> {
  search: Pick<SearchPart, 'search'>
}

/** The score of a session that contains nearly all words of the task. */
const fullScore = 1.25

/** Searches what is indexed now: a choice does not wait until new text is read. Finds nothing when the index does not answer
 *  in time. */
export function findInSessions({ search, clock, log }: FindParts): FindInSessions {
  return async (task, sessionIds, before) => {
    const question = { text: task, sessionIds, until: before, withoutTools: true, withCopies: true }
    const found = new Map<string, FoundInSession>()
    try {
      const { hits } = await within(
        clock,
        searchMs,
        search.search({ ...question, asIndexed: true, limit: 100 }),
        () => {
          throw new Error(`no answer within ${searchMs} ms`)
        },
      )
      for (const { sessionId, snippet: text, score } of hits)
        if (!found.has(sessionId)) found.set(sessionId, { text, relevance: Math.min(1, score / fullScore) })
      return new Map([...found].map(([id, one]) => [id, weighed(one, found)]))
    } catch (error) {
      log.warn(
        { event: 'choice-search-failed', reason: String(error) },
        'The search for a task failed; choosing without it.',
      )
    }
    return found
  }
}

const asGoodShare = 0.8

/** Many sessions contain `Carry on with the rest`, so it distinguishes none of them. */
function weighed(one: FoundInSession, found: Map<string, FoundInSession>): FoundInSession {
  const asGood = [...found.values()].filter(({ relevance }) => relevance >= asGoodShare * one.relevance)
  return { ...one, relevance: one.relevance / asGood.length }
}

const lookMs = 500

interface QueuedChoice {
  choose: (session: CodingSession) => Promise<Choice>
  repos: RepoGate
  clock: Clock
  log: Log
}

/** The conversation that a queued task continues, or undefined for a new one. Chosen when its turn comes, because the session
 *  before it may by then be the best one to continue. If the choice fails, the task starts a new session. */
export async function chooseWhenFree(
  { choose, repos, clock, log }: QueuedChoice,
  session: CodingSession,
  signal: AbortSignal,
): Promise<CodingRequest['resume']> {
  try {
    for (;;) {
      const { action, resume, sdkSessionId } = await choose(session)
      if (action !== 'queue') return resume
      // Always a pause: each choice runs git and records a decision.
      do await sleep(clock, lookMs)
      while (!signal.aborted && isAtWork(repos, session, sdkSessionId))
      if (signal.aborted) return undefined
    }
  } catch (error) {
    log.warn(
      { event: 'choice-failed', coding: session.id, error: String(error) },
      'The choice of a session for a queued task failed; starting a new one.',
    )
    return undefined
  }
}

/** Does the session to continue work in the repository? Without such a session: does any session work there? */
function isAtWork(
  repos: RepoGate,
  { id, request }: CodingSession,
  sdkSessionId: string | undefined,
): boolean {
  const working = repos.workingIn(request.workdir, id)
  return sdkSessionId === undefined
    ? working.length > 0
    : working.some((other) => other.sdkSessionId === sdkSessionId)
}
