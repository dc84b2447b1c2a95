// The calls to the model that a session has in progress: its own agent's, and those of parallel sub-agents. The cost of a call
// is known only when it is over, so near a limit calls happen one after the other.
import { Condition } from '../../domain/async.ts'
import type { Clock } from '../../domain/clock.ts'

export const ownCalls = 'own'

/** The longest wait for a call to end; the agent that made the call may be gone. */
const maxWaitMs = 600_000

export class CallsInProgress {
  #agents = new Set<string>()
  /** Sub-agents whose first call was allowed, by the tool call that starts them: their ids are not known yet. */
  #starting: string[] = []
  #known = new Set<string>([ownCalls])
  #changed: Condition

  constructor(clock: Clock) {
    this.#changed = new Condition(clock)
  }

  get count(): number {
    return this.#agents.size + this.#starting.length
  }

  has(agent: string): boolean {
    return this.#agents.has(agent)
  }

  /** The number of calls in progress, without the calls of these agents. An agent that is not known yet made one of the starting
   *  calls. */
  countWithout(...agents: string[]): number {
    const theirs = agents.filter((agent) => this.#agents.has(agent) || !this.#known.has(agent))
    return Math.max(0, this.count - theirs.length)
  }

  start(agent: string): void {
    this.#agents.add(agent)
  }

  startFirst(toolUseId: string): void {
    this.#starting.push(toolUseId)
  }

  /** The call is over: the agent uses a tool, calls again, or is done. */
  end(agent: string): void {
    if (!this.#known.has(agent)) this.#starting.shift()
    this.#known.add(agent)
    this.#agents.delete(agent)
    this.changed()
  }

  /** The tools of the session's own agent are done, and with them the sub-agents that it waited for. */
  endFirst(): void {
    this.#starting = []
    this.changed()
  }

  clear(): void {
    this.#agents.clear()
    this.endFirst()
  }

  /** A call is over, or its cost is known. */
  changed(): void {
    this.#changed.notifyAll()
  }

  /** Resolves with the next change; false when there was none in time. */
  change(signal: AbortSignal, withinMs = maxWaitMs): Promise<boolean> {
    return this.#changed.wait(withinMs, signal)
  }
}
