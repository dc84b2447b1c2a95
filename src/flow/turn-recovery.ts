// What is done at a start and from time to time: turns that a dead process left are found and retried once, things that
// are over are forgotten.
import type { Clock } from '../domain/clock.ts'
import type { Log } from '../domain/log.ts'
import type { OutboxRow, RunningTurn, WaitingInput, WorkStore } from '../store/work-store.ts'
import { noticeFor } from './deliveries.ts'

export interface UpkeepParts {
  isAlive: (owner: string) => boolean
  clock: Clock
  log: Log
}

/** A message whose turn was lost this often is given up, and its sender told. */
const mostLostTurns = 1
/** Platforms repeat what they think was lost for days; as long the keys are kept. */
export const keepKeysMs = 7 * 86_400_000

/** Takes up what an earlier process left: turns that were cut off, inputs that waited, replies that were not sent. */
export async function recoverWork(
  converse: { resume(inputs: WaitingInput[]): Promise<void>; deliverer: { start(): Promise<void> } },
  work: WorkStore,
  parts: UpkeepParts,
): Promise<void> {
  // Where several processes share the work, what is left is found and divided all the time (shared-lanes.ts).
  if (work.share) return converse.deliverer.start()
  for (const turn of await work.lanes.running()) {
    if (!parts.isAlive(turn.owner)) await releaseTurn(turn, work, parts)
  }
  await converse.resume(await work.inbox.waiting())
  await converse.deliverer.start()
}

/** Forgets what is over, here and wherever else something is kept. */
export async function tidyWork(
  work: WorkStore,
  clock: Clock,
  elsewhere?: () => Promise<void>,
): Promise<void> {
  const before = clock.now() - keepKeysMs
  await work.inbox.forget(before)
  await work.outbox.forget(before)
  await elsewhere?.()
}

/** Resolves to what is to be said about it. */
export async function releaseTurn(
  turn: RunningTurn,
  work: WorkStore,
  parts: UpkeepParts,
): Promise<OutboxRow[]> {
  const tooOften = turn.inputs.filter((input) => input.lostTurns >= mostLostTurns)
  parts.log.warn({ lane: turn.lane, turnId: turn.id }, 'A turn was cut off.')
  // While the turn still counts as running, so that nobody goes on with what came later before this is said.
  const notices = tooOften.length > 0 ? await giveUp(tooOften, work, parts) : []
  await work.lanes.release(turn.id)
  return notices
}

function giveUp(inputs: WaitingInput[], work: WorkStore, parts: UpkeepParts): Promise<OutboxRow[]> {
  const notices = inputs
    .filter((input) => input.wish === undefined || input.wish.deliver)
    .map((input) => {
      const text = `I could not answer this: ${JSON.stringify(input.message.text.slice(0, 80))}. It was cut off twice. Please send it again.`
      return noticeFor(input.message.address, text, `given-up:${input.key}`, parts.clock.now(), input.lane)
    })
  return work.inbox.end(
    inputs.map((input) => input.id),
    'given-up',
    notices,
  )
}
