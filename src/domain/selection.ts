// Which session should take the next task: resume one, fork one, start fresh, or wait. The types of that decision and of
// its inputs.

/** One question to a small model, without tools and without leaving a session on disk. */
export interface StructuredQuestion {
  /** A model, or a short name for one: `claude-haiku`. */
  model: string
  maxTokens: number
  system: string
  prompt: string
  /** JSON Schema of the answer (an object). */
  schema: Record<string, unknown>
}

/** Resolves to the parsed JSON, not validated. Rejects when the model cannot be reached. */
export type AskStructured = (question: StructuredQuestion, signal: AbortSignal) => Promise<unknown>

export interface TaskRelevance {
  sessionId: string
  /** From 0 (unrelated) to 1 (the same work). */
  relevance: number
  reasoning: string
}

/** What each factor adds to the score, as in the seed: hundredths, written as fractions of 1. */
export interface ScoreFactors {
  branch: number
  recency: number
  relevance: number
  health: number
  capacity: number
}

/** The price of resuming a session, in tokens and dollars, without the output of the new task. */
export interface SessionPrice {
  model?: string
  /** The model is not in the price table; its family's price was used. */
  guessed: boolean
  /** Tokens that a resume sends. */
  tokens: number
  /** Is Claude's prompt cache still there? Then most of the tokens cost a tenth. */
  cache: 'warm' | 'cold'
  /** How long it stays warm. */
  warmForMs?: number
  /** Why the cache cannot be used although it was filled recently. */
  coldBecause?: string
  /** What a resume changes in the session, when Rockpool did not start it. */
  resumesWith?: string
  resumeUsd: number
  forkUsd: number
  compactThenResumeUsd: number
  /** A new session that starts with a brief of this one. */
  freshUsd: number
  /** Every further call to the model in the resumed session. */
  furtherCallUsd: number
}

export interface SessionScore {
  sessionId: string
  /** Its name, or its first prompt. */
  title?: string
  /** 0 to 1, whole hundredths. 0 when a ceiling forbids it. */
  total: number
  factors: ScoreFactors
  relevance: TaskRelevance
  /** Why it is not resumed at any score. */
  ceiling?: string
  isRunning: boolean
  price?: SessionPrice
  /** One line with the reasons for and against it. */
  reason: string
}

export type SelectionAction = 'resume' | 'fork' | 'fresh' | 'queue'

export interface SessionSelection {
  action: SelectionAction
  /** The session to resume or fork; the running one to wait for. */
  sessionId?: string
  reason: string
  /** All candidates, best first. */
  scores: SessionScore[]
  /** Who judged how related the tasks are. */
  relevanceBy: 'model' | 'keywords' | 'nobody'
  /** Why the model's answer was not used, if it was asked. */
  fallback?: string
}

/** A stored decision, shown by `rockpool cc why`. */
export interface Decision {
  id: string
  at: number
  task: string
  repoPath: string
  agentId?: string
  label?: string
  selection: SessionSelection
  /** The resulting session, once its id is known: a fork or a fresh session gets its id later. */
  becameSessionId?: string
}

export interface Decisions {
  record(decision: Omit<Decision, 'id' | 'becameSessionId'>): Promise<string>
  /** The session that a decision led to. */
  became(id: string, sessionId: string): Promise<void>
  /** By the id of the decision, or the id (or its beginning) of a session that was chosen, made or scored; newest first. */
  find(ref: string, limit?: number): Decision[]
}
