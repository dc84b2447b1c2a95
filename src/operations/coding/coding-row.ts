// The output row of a coding session, and which sessions a caller may see.
import { z } from 'zod'
import { durationOf, formatListing } from '../../coding/listing.ts'
import { agentKinds } from '../../domain/agent.ts'
import type { QueuePlace } from '../../coding/queue/repo-queue.ts'
import { pendingMessages } from '../../coding/session/messages.ts'
import { waitedOf } from '../../coding/session/session-changes.ts'
import { codingSessionSchema, kindOf, type CodingSession } from '../../domain/coding-session.ts'
import {
  isLimited,
  needsYou,
  sessionState,
  sessionStates,
  stateText,
  wasCutOff,
} from '../../domain/coding-state.ts'
import type { App } from '../app.ts'
import type { Caller, Operation } from '../operation.ts'

export const codingSession = z
  .string()
  .min(1)
  .describe('Id, name, title, Claude id, or the beginning of one.')

export const machineField = z
  .string()
  .max(100)
  .optional()
  .describe('The machine to run it on: its name, or one of its labels.')

const storedFields = {
  id: true,
  name: true,
  title: true,
  status: true,
  lifecycle: true,
  waiting: true,
  machine: true,
  model: true,
  costUsd: true,
  budgetUsd: true,
  contextTokens: true,
  contextWindow: true,
  turns: true,
  doing: true,
  createdAt: true,
  startedAt: true,
  lastActivityAt: true,
  waitedMs: true,
  resumedFrom: true,
  lastWords: true,
  unseen: true,
  expired: true,
} as const

/** The state in one word, and what belongs to it. */
export const stateFields = {
  state: z.enum(sessionStates).describe('The state in one word.'),
  stateText: z.string().describe('What it asks, does, or said last, or why it failed, in one line.'),
  needsYou: z.boolean().describe('It asks a person, or it failed and no person has looked at it yet.'),
  limitedUntil: z.number().optional().describe('When Claude resets the usage limit that stopped it.'),
  cutOff: z.boolean().describe('A stop of Rockpool interrupted its turn; resuming continues it.'),
}

export const codingRow = codingSessionSchema.pick(storedFields).extend({
  ...stateFields,
  queue: z
    .object({ place: z.number(), waitsFor: z.array(z.string()) })
    .optional()
    .describe('The place of the session in the queue, and the working sessions that it waits for.'),
  endReason: z.string().optional(),
  endMessage: z.string().optional(),
  prompt: z.string(),
  workdir: z.string(),
  agentId: z.string(),
  agentKind: z.enum(agentKinds).describe('The program that works.'),
  label: z.string().optional(),
  completedAt: z.number().optional(),
  durationMs: z.number(),
  claudeSessionId: z.string().optional().describe('The id of the conversation in the program that works.'),
  nextClaudeSessionId: z.string().optional().describe('The id that its conversation gets when it starts.'),
  pendingMessages: z
    .array(z.string())
    .describe('Messages that Claude has not received, as far as is known; resuming delivers them.'),
  foreground: z.boolean(),
  multiTurn: z.boolean(),
  display: z.string(),
})

/** The session as the caller sees it. */
export function rowOf(app: App, session: CodingSession, caller: Caller): z.input<typeof codingRow> {
  const now = app.clock.now()
  const { owner: _owner, allowances: _allowances, waitsSince: _since, ...kept } = session
  const { inbox: _inbox, given: _given, aside: _aside, base: _base, answered: _answered, ...shown } = kept
  const { request, end, sdkSessionId } = session
  const foreground = app.storage.coding.watches(session.id).some((watch) => watch.foreground)
  return {
    ...shown,
    ...stateOf(session),
    ...queueOf(app, session, caller),
    waitedMs: waitedOf(session, now),
    endReason: end?.reason,
    endMessage: end?.message,
    prompt: request.prompt,
    workdir: request.workdir,
    agentId: request.agentId,
    agentKind: kindOf(session),
    label: request.label,
    model: session.model ?? request.model,
    completedAt: end?.at,
    durationMs: durationOf(session, now),
    claudeSessionId: sdkSessionId,
    nextClaudeSessionId: sdkSessionId === undefined ? session.newSdkSessionId : undefined,
    pendingMessages: pendingMessages(session),
    foreground,
    multiTurn: request.multiTurn,
    display: formatListing(session, foreground, now),
  }
}

/** The fields of the state, the same in every output. */
export function stateOf(session: CodingSession): z.input<z.ZodObject<typeof stateFields>> {
  return {
    state: sessionState(session),
    stateText: stateText(session),
    needsYou: needsYou(session),
    limitedUntil: isLimited(session) ? session.end?.limit?.until : undefined,
    cutOff: wasCutOff(session),
  }
}

/** Every session is queued for a moment; only one that has to wait is shown so. */
function queueOf(
  app: App,
  session: CodingSession,
  { agentId }: Caller,
): { queue?: QueuePlace; stateText?: string } {
  if (session.lifecycle !== 'queued') return {}
  const queue = app.coding().pool.placeInQueue(session, agentId)
  if (queue.waitsFor.length === 0) return {}
  return { queue, stateText: `place ${queue.place} in the queue; waits for ${queue.waitsFor.join(', ')}` }
}

/** The session, if the caller may see it: an agent sees its own, and what it launched for another one. */
export function findCoding(app: App, caller: Caller, reference: string): CodingSession {
  return app.coding().pool.resolve(reference, caller.agentId)
}

/** Recovers sessions whose owner process died before each operation, also when no gateway runs. */
export function afterRecovery(operations: Operation[]): Operation[] {
  return operations.map((operation) => ({
    ...operation,
    async run(app, input, caller) {
      await app.coding().pool.recoverOrphans()
      return operation.run(app, input, caller)
    },
  }))
}
