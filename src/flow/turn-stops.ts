// Stop: ends the turn of a session and its waiting messages, or one message, in this process and in the others that share the lanes.
import { RockpoolError } from '../domain/errors.ts'
import type { WaitingInput } from '../store/work-store.ts'
import type { FlowParts, Stopped } from './flow-parts.ts'
import type { SharedLanes } from './shared-lanes.ts'
import type { TurnQueue } from './turn-queue.ts'

interface StopParts extends Pick<FlowParts, 'work'> {
  queue: TurnQueue
  shared: SharedLanes | undefined
  /** Does a caller in this process wait for the answer? */
  isWatched: (input: WaitingInput) => boolean
  /** Is it in a queue of this process? */
  isKnown: (input: WaitingInput) => boolean
  /** A command that needs no turn is not stopped. */
  runsAtOnce: (input: WaitingInput) => boolean
  /** Ends inputs without a turn. */
  end: (inputs: WaitingInput[]) => Promise<void>
}

/** All of a lane, or one input. */
interface Which {
  lane: string
  inputKey?: string
}

export class TurnStops {
  #parts: StopParts

  constructor(parts: StopParts) {
    this.#parts = parts
  }

  /** Interrupts the running turn and removes the waiting messages, whichever process has them. With the key of an input: only that
   *  one; the turn and the messages of others stay. */
  async everywhere(which: Which): Promise<Stopped> {
    const { shared, work, runsAtOnce } = this.#parts
    const { lane, inputKey } = which
    // Another machine may need seconds; what arrives until then is not meant.
    const present = shared && new Set((await work.inbox.waiting(lane)).map(({ id }) => id))
    const here = await this.here(which)
    const isFound = inputKey !== undefined && (here.wasRunning || here.forgotten > 0)
    if (!shared || !present || isFound) return here
    const there = await shared.stopElsewhere(lane, inputKey)
    const wasRunning = here.wasRunning || there.wasRunning
    if (there.heldBy !== undefined && !wasRunning) throw heldByCommand(lane, there.heldBy)
    const unheld = await work.share!.unheld(lane)
    const left = unheld.filter(
      (input) => present.has(input.id) && isMeant(input, inputKey) && !runsAtOnce(input),
    )
    const stopped = left.length === 0 ? 0 : await work.share!.stopUnheld(left.map(({ id }) => id))
    return { wasRunning, forgotten: here.forgotten + there.forgotten + stopped }
  }

  /** The same for what this process has. */
  async here(which: Which): Promise<Stopped> {
    const { queue, end } = this.#parts
    const { lane, inputKey } = which
    const { wasRunning, cancelled } = await (inputKey === undefined
      ? queue.stop(lane)
      : queue.stopInput(lane, inputKey))
    await end(cancelled)
    const unqueued = await this.#unqueued(which)
    await end(unqueued)
    return { wasRunning, forgotten: cancelled.length + unqueued.length }
  }

  /** Waiting inputs that are in no queue yet. Where processes share the lanes: only those whose caller waits here. */
  async #unqueued({ lane, inputKey }: Which): Promise<WaitingInput[]> {
    const { shared, work, isWatched, isKnown } = this.#parts
    if (!shared && inputKey === undefined) return []
    const waiting = await work.inbox.waiting(lane)
    return waiting.filter(
      (input) => isMeant(input, inputKey) && (!shared || isWatched(input)) && !isKnown(input),
    )
  }
}

function isMeant(input: WaitingInput, inputKey: string | undefined): boolean {
  return inputKey === undefined || input.key === inputKey
}

function heldByCommand(lane: string, machine: string): RockpoolError {
  return new RockpoolError('conflict', `A command on ${machine} works on ${lane}; it was not stopped.`, {
    hint: 'Press Ctrl-C where the command runs.',
  })
}
