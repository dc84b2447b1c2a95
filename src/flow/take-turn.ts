// One turn, from the inputs that wait to the replies in the outbox. Whatever goes wrong, the people who wrote are told.
import { asRockpoolError } from '../domain/errors.ts'
import { orderedId } from '../domain/turn.ts'
import { resolveSendPolicy } from '../sessions/send-policy.ts'
import { StoreAway } from '../store/store-unavailable.ts'
import type { TurnOutcome, WaitingInput } from '../store/work-store.ts'
import { conduct } from './run-turn.ts'
import type { Conducted } from './run-turn.ts'
import { deliveriesOf } from './deliveries.ts'
import type { TurnParts } from './flow-parts.ts'
import type { Batch, TurnInHand } from './turn-queue.ts'

/** Resolves to inputs that the turn could not deal with; they are taken next. */
export async function takeTurn(
  batch: Batch,
  begun: (turn: TurnInHand) => void,
  parts: TurnParts,
): Promise<WaitingInput[]> {
  const turnId = orderedId(parts.clock.now())
  // The claim and the first steps, which change nothing, go side by side.
  const claim = beginWhenFree(turnId, batch, parts)
  const claimed = async (): Promise<void> => {
    if (!(await claim)) throw new NotOurs()
  }
  let conducted: Conducted
  try {
    conducted = await conduct({ turnId, batch, begun, claimed }, parts)
  } catch (error) {
    if (error instanceof NotOurs || !(await claim)) {
      parts.onNotOurs(batch.lane)
      return []
    }
    if (error instanceof StoreAway) return giveBack(turnId, error, parts)
    parts.log.error(
      { event: 'turn-failed', lane: batch.lane, turnId, error: String(error) },
      'A turn failed before the agent answered.',
    )
    return finish(turnId, batch, parts, failedBefore(error))
  }
  return finish(turnId, batch, parts, conducted)
}

/** Nothing is wrong with the turn, only the store was away. When it is back the turn counts as cut off: its inputs wait
 *  again, before those that came later, and whoever takes them says that it is a second try. */
async function giveBack(turnId: string, why: StoreAway, parts: TurnParts): Promise<never> {
  await parts.work.lanes.release(turnId)
  throw why
}

async function finish(
  turnId: string,
  batch: Batch,
  parts: TurnParts,
  conducted: Conducted,
): Promise<WaitingInput[]> {
  const { outcome, unanswered } = conducted
  if (outcome.end.kind === 'interrupted' && parts.isAbandoned()) return []
  const deliveries = deliveriesFor(turnId, batch, parts, conducted)
  const finished = parts.work.lanes.finish(turnId, {
    ...outcome,
    deliveries,
    sendsFirst: parts.deliverer.isFree({ lane: batch.lane, address: batch.inputs.at(-1)!.message.address }),
    unanswered: unanswered.map((input) => input.id),
  })
  parts.deliverer.add(await finished)
  // The next turn reads the session; it must be as this one leaves it. The answer stands, also when that fails.
  await conducted.settled.catch((error: unknown) =>
    parts.log.error(
      { event: 'session-update-failed', lane: batch.lane, turnId, error: String(error) },
      'Could not update a session after its turn; its usage is not counted.',
    ),
  )
  const agentId = batch.inputs[0]!.agentId
  if (conducted.heldBack) parts.onHeldBack({ lane: batch.lane, agentId, ...conducted.heldBack })
  const { end } = outcome
  parts.events.emit({
    type: 'turn-ended',
    agentId,
    key: batch.lane,
    turnId,
    end,
    costUsd: outcome.costUsd ?? 0,
  })
  for (const input of [...batch.inputs, ...conducted.steered]) {
    parts.watcherOf(input.key)?.onEnd({ sessionKey: batch.lane, ...conducted.watched })
  }
  return unanswered
}

function deliveriesFor(turnId: string, batch: Batch, parts: TurnParts, conducted: Conducted) {
  const { watched, session, preview, point } = conducted
  const input = batch.inputs.at(-1)!
  const { address, chatType } = input.message
  const mayDeliver = input.wish === undefined || input.wish.deliver
  const policy = resolveSendPolicy({
    cfg: parts.config,
    sessionKey: batch.lane,
    channel: address.channel,
    chatType,
    ...(session ? { entry: session.entry } : {}),
  })
  if (!mayDeliver || policy === 'deny') return []
  return deliveriesOf(watched.replies, {
    turnId,
    sessionKey: batch.lane,
    address,
    maxTextLength: parts.channelFor(address)?.abilities.maxTextLength ?? 4_000,
    now: parts.clock.now(),
    ...(point === undefined ? {} : { sessionPoint: point }),
    ...(preview === undefined ? {} : { preview }),
  })
}

function failedBefore(error: unknown): Conducted {
  const { message, hint } = asRockpoolError(error)
  const text = `I could not answer: ${message}${hint ? ` ${hint}` : ''}`
  const outcome: Omit<TurnOutcome, 'deliveries'> = {
    end: { kind: 'failed', why: 'start-failed', message: text },
  }
  const watched = { replies: [{ text, isError: true }], error }
  return { outcome, steered: [], unanswered: [], watched, settled: Promise.resolve() }
}

/** Another process has taken the inputs. */
class NotOurs extends Error {}

/**
 * Claims the lane. Another process may have it: then we wait for it, or take over what a dead one left. Shared lanes are not
 * waited for: what was lost there belongs before these inputs, so they go back and come again in order.
 */
async function beginWhenFree(turnId: string, batch: Batch, parts: TurnParts): Promise<boolean> {
  const { work, self, isAlive, clock } = parts
  const kind = batch.inputs[0]!.wish?.heartbeat ? 'heartbeat' : 'message'
  const agentId = batch.inputs[0]!.agentId
  const inputs = batch.inputs.map((input) => input.id)
  while (!(await work.lanes.begin({ id: turnId, lane: batch.lane, agentId, kind, owner: self, inputs }))) {
    if (work.share) return false
    const other = (await work.lanes.running()).find((turn) => turn.lane === batch.lane)
    // No turn runs here, so somebody else has taken the inputs.
    if (!other || parts.isAbandoned()) return false
    if (other.owner === self || isAlive(other.owner))
      await new Promise<void>((resolve) => void clock.after(250, resolve))
    else await work.lanes.release(other.id)
  }
  return true
}
