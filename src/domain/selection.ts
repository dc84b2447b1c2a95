// Which session should take the next task: resume one, fork one, start fresh, or wait. The types of that decision and of
// its inputs.
import { z } from 'zod'
import { agentKinds } from './agent.ts'
import { trimSaving } from './trim.ts'

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

const taskRelevance = z.object({
  sessionId: z.string(),
  /** From 0 (unrelated) to 1 (the same work). */
  relevance: z.number(),
  reasoning: z.string(),
})
export type TaskRelevance = z.infer<typeof taskRelevance>

/** A match of the search in a session for a task. */
export interface FoundInSession {
  /** The passage that is nearest to the task. */
  text: string
  /** How relevant the messages of the session are to the task, from 0 to 1. */
  relevance: number
}

/** Searches the messages of these sessions for a task: those before this time, or all. */
export type FindInSessions = (
  task: string,
  sessionIds: string[],
  before?: number,
) => Promise<Map<string, FoundInSession>>

/** The contribution of each factor to the score, as a fraction of 1. */
const scoreFactors = z.object({
  branch: z.number(),
  recency: z.number(),
  relevance: z.number(),
  health: z.number(),
  capacity: z.number(),
})
export type ScoreFactors = z.infer<typeof scoreFactors>

/** The price of resuming a session, in tokens and dollars, without the output of the new task. */
export const sessionPrice = z.object({
  model: z.string().optional(),
  /** The model is not in the price table; its family's price was used. */
  guessed: z.boolean(),
  tokens: z.number().describe('How many tokens a resume sends to the model.'),
  /** Is Claude's prompt cache still there? Then most of the tokens cost a tenth. */
  cache: z.enum(['warm', 'cold']),
  /** How long it stays warm. */
  warmForMs: z.number().optional(),
  sure: z.number().optional().describe('How sure the prediction of the cache is, from 0.5 to 1.'),
  /** Claude Code's own prediction of its cache, where the plugin runs. */
  secondOpinion: z.object({ cache: z.enum(['warm', 'cold']), writeUsd: z.number().optional() }).optional(),
  /** Why the cache cannot be used although it was filled recently. */
  coldBecause: z.string().optional(),
  /** The settings that a resume changes in a session that Rockpool did not start. */
  resumesWith: z.string().optional(),
  resumeUsd: z.number(),
  forkUsd: z.number(),
  trimmed: trimSaving
    .pick({ level: true, cuts: true })
    .extend({
      usd: z.number(),
      tokens: z.number(),
      offered: z.boolean().describe('The cache is cold, and the copy saves at least a quarter.'),
    })
    .optional()
    .describe('Continuing in a trimmed copy; absent if nothing would be cut or the file was not read.'),
  compactThenResumeUsd: z.number(),
  /** A new session that starts with a brief of this one. */
  freshUsd: z.number(),
  /** Every further call to the model in the resumed session. */
  furtherCallUsd: z.number(),
})
export type SessionPrice = z.infer<typeof sessionPrice>

const sessionScore = z.object({
  sessionId: z.string(),
  title: z.string().optional().describe('Its title, or its first prompt.'),
  /** 0 to 1, whole hundredths. 0 when a ceiling forbids it. */
  total: z.number(),
  factors: scoreFactors,
  relevance: taskRelevance,
  /** Why it is not resumed at any score. */
  ceiling: z.string().optional(),
  isRunning: z.boolean(),
  agentKind: z.enum(agentKinds).optional().describe('The program, if it is not Claude Code.'),
  price: sessionPrice.optional(),
  /** One line with the reasons for and against it. */
  reason: z.string(),
})
export type SessionScore = z.infer<typeof sessionScore>

export const sessionSelection = z.object({
  action: z.enum(['resume', 'fork', 'fresh', 'queue']),
  /** The session to resume or fork; the running one to wait for. */
  sessionId: z.string().optional(),
  reason: z.string(),
  elsewhere: z
    .object({ sessionId: z.string(), agentKind: z.enum(agentKinds), command: z.string() })
    .optional()
    .describe('A session of another agent that fits better; Rockpool does not run it, the command does.'),
  /** All candidates of all agents, best first. */
  scores: z.array(sessionScore),
  /** How the relation of the tasks was judged. */
  relevanceBy: z.enum(['model', 'keywords', 'none']),
  /** Why the model's answer was not used, if it was asked. */
  fallback: z.string().optional(),
})
export type SessionSelection = z.infer<typeof sessionSelection>
export type SelectionAction = SessionSelection['action']

/** A stored decision, shown by `rockpool cc why`. */
export const decision = z.object({
  id: z.string(),
  at: z.number(),
  task: z.string(),
  repoPath: z.string(),
  agentId: z.string().optional(),
  label: z.string().optional(),
  selection: sessionSelection,
  /** The resulting session, once its id is known: a fork or a fresh session gets its id later. */
  becameSessionId: z.string().optional(),
})
export type Decision = z.infer<typeof decision>

export interface Decisions {
  record(decision: Omit<Decision, 'id' | 'becameSessionId'>): Promise<string>
  /** The session that a decision led to. */
  became(id: string, sessionId: string): Promise<void>
  /** By the id of the decision, or the id (or its beginning) of a session that was chosen, made or scored; newest first. */
  find(ref: string, limit?: number): Decision[]
}
