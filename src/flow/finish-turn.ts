// The two ends of a turn in the store: claiming its lane, and storing its outcome with the deliveries of its replies in one step.
import { sleep } from '../domain/async.ts'
import { messageAndHint } from '../domain/errors.ts'
import type { Delivery, Reply } from '../domain/reply.ts'
import type { Session } from '../domain/session.ts'
import type { TurnResult } from '../domain/turn.ts'
import { resolveSendPolicy } from '../sessions/send-policy.ts'
import type { TurnOutcome, WaitingInput } from '../store/work-store.ts'
import type { TurnParts } from './flow-parts.ts'
import type { LiveTurn } from './live-turn.ts'
import type { ComposedPrompt } from './prompt.ts'
import { deliveriesOf } from './turn-deliveries.ts'
import type { Batch } from './turn-queue.ts'

/** The outcome of a turn. `result` is absent if the agent was not asked. */
export interface FinishedTurn {
  replies: Reply[]
  session?: Session
  result?: TurnResult
  prompt?: ComposedPrompt
  live?: LiveTurn
  /** Settles when the session's entry is updated. */
  stored?: Promise<void>
  /** The reason of a failure before the call of the agent. */
  error?: unknown
}

/** Another process has taken the messages. */
export class NotOurs extends Error {}

/**
 * Claims the lane for a turn; false if another process has it. A turn of another live process is waited for, and the turn
 * of a dead one is released. Where processes share the lanes, nothing is waited for: the messages are returned and assigned
 * again, in order, after those of the lost turn.
 */
export async function claimLane(turnId: string, batch: Batch, parts: TurnParts): Promise<boolean> {
  const { work, self, isAlive, clock } = parts
  const { agentId, turnOptions } = batch.inputs[0]!
  const kind = turnOptions?.heartbeat ? 'heartbeat' : 'message'
  const inputs = batch.inputs.map((input) => input.id)
  while (!(await work.lanes.begin({ id: turnId, lane: batch.lane, agentId, kind, owner: self, inputs }))) {
    if (work.share) return false
    const other = (await work.lanes.running()).find((turn) => turn.lane === batch.lane)
    // No turn runs in this lane, so another process has taken the messages.
    if (!other || parts.isAbandoned()) return false
    if (other.owner === self || isAlive(other.owner)) await sleep(clock, 250)
    else await work.lanes.release(other.id)
  }
  return true
}

/** `/new` without further text: there is nothing to ask the agent. */
export function resetOnly(session: Session, announcements: string[]): FinishedTurn {
  return { session, replies: [{ text: announcements.join('\n') }] }
}

export function failedTurn(error: unknown): FinishedTurn {
  return { error, replies: [{ text: `I could not answer: ${messageAndHint(error)}`, isError: true }] }
}

/** Resolves to messages that joined the turn and got no answer. */
export async function finishTurn(
  turnId: string,
  batch: Batch,
  turn: FinishedTurn,
  parts: TurnParts,
): Promise<WaitingInput[]> {
  const { session, result, live, replies, prompt, error } = turn
  const outcome = outcomeOf(turn)
  if (outcome.end.kind === 'interrupted' && parts.isAbandoned()) return []
  const { lane } = batch
  const { agentId } = batch.inputs[0]!
  const unanswered = result && live ? live.unanswered(result) : []
  const rows = await parts.work.lanes.finish(turnId, {
    ...outcome,
    deliveries: deliveriesOfTurn(turnId, batch, turn, parts),
    sendsFirst: parts.deliverer.isFree({ lane, address: batch.inputs.at(-1)!.message.address }),
    unanswered: unanswered.map((input) => input.id),
  })
  live?.stored()
  parts.deliverer.add(rows)
  // The next turn reads the session, so wait for the update. The answer stands even if the update fails.
  await turn.stored?.catch((failure: unknown) =>
    parts.log.error(
      { event: 'session-update-failed', lane, turnId, error: String(failure) },
      'Could not update a session after its turn; its usage is not counted.',
    ),
  )
  if (prompt?.heldBack) parts.onHeldBack({ lane, agentId, ...prompt.heldBack })
  const { end, costUsd = 0 } = outcome
  parts.events.emit({ type: 'turn-ended', agentId, key: lane, turnId, end, costUsd })
  const watched = { sessionKey: lane, sessionId: session?.entry.sessionId, replies, result, error }
  for (const input of [...batch.inputs, ...(live?.steered.values() ?? [])]) {
    if (!unanswered.includes(input)) parts.joined.delete(input.id)
    parts.watcherOf(input.key)?.onEnd(watched)
  }
  return unanswered
}

function outcomeOf({
  session,
  result,
  prompt,
  replies,
  error,
}: FinishedTurn): Omit<TurnOutcome, 'deliveries'> {
  const sessionId = session?.entry.sessionId
  if (error !== undefined)
    return { end: { kind: 'failed', why: 'start-failed', message: replies[0]?.text ?? '' } }
  if (!result) return { end: { kind: 'completed' }, sessionId }
  const { end, usage, costUsd, compactions, model, contextTokens } = result
  return { end, sessionId, usage, costUsd, compactions, model, contextTokens, received: prompt?.received }
}

function deliveriesOfTurn(turnId: string, batch: Batch, turn: FinishedTurn, parts: TurnParts): Delivery[] {
  const { session, live, result, replies } = turn
  const input = batch.inputs.at(-1)!
  const { address, chatType } = input.message
  const { channel } = address
  const sessionKey = batch.lane
  const entry = session?.entry
  const policy = resolveSendPolicy({ cfg: parts.config, sessionKey, channel, chatType, entry })
  if (input.turnOptions?.deliver === false || policy === 'deny' || live?.isRevoked) return []
  return deliveriesOf(replies, {
    turnId,
    sessionKey,
    address,
    forOwner: parts.isOwners(address),
    maxTextLength: parts.channelFor(address)?.abilities.maxTextLength ?? 4_000,
    now: parts.clock.now(),
    sessionPoint: result && entry && { sessionId: entry.sessionId, entryId: live?.lastEntryId },
    preview: live?.preview,
  })
}
