// Which agents of a session have a call to the model under way: the session's own, and sub-agents side by side. What such a
// call costs is known only when it is over; so near a limit they go one after the other.
import type { Clock } from '../../domain/clock.ts'

export const ownCalls = 'own'

/** A call that takes longer is not waited for: whoever made it may be gone. */
const patienceMs = 600_000

export class CallsUnderWay {
  #clock: Clock
  #agents = new Set<string>()
  /** Sub-agents whose first call was let through, by the tool call that starts them: they have no name yet. */
  #starting: string[] = []
  #known = new Set<string>([ownCalls])
  #waiting = new Set<() => void>()

  constructor(clock: Clock) {
    this.#clock = clock
  }

  get count(): number {
    return this.#agents.size + this.#starting.length
  }

  has(agent: string): boolean {
    return this.#agents.has(agent)
  }

  /** Without the calls of these; one that was not heard of yet has one of those that are starting. */
  countBeside(...agents: string[]): number {
    const theirs = agents.filter((agent) => this.#agents.has(agent) || !this.#known.has(agent))
    return Math.max(0, this.count - theirs.length)
  }

  begin(agent: string): void {
    this.#agents.add(agent)
  }

  beginFirst(toolUseId: string): void {
    this.#starting.push(toolUseId)
  }

  /** Its call is over: it is about to use a tool, to call again, or it is done. */
  over(agent: string): void {
    if (!this.#known.has(agent)) this.#starting.shift()
    this.#known.add(agent)
    this.#agents.delete(agent)
    this.changed()
  }

  /** The tools of the session's own agent are done, and with them the sub-agents that it waited for. */
  startersDone(): void {
    this.#starting = []
    this.changed()
  }

  clear(): void {
    this.#agents.clear()
    this.startersDone()
  }

  /** A call is over, or what it cost is known. */
  changed(): void {
    for (const wake of this.#waiting) wake()
  }

  /** Resolves with the next change; false when there was none for too long. */
  change(signal: AbortSignal, withinMs = patienceMs): Promise<boolean> {
    return new Promise((resolve) => {
      const end = (changed: boolean): void => {
        this.#waiting.delete(wake)
        signal.removeEventListener('abort', wake)
        cancel()
        resolve(changed)
      }
      const wake = (): void => end(true)
      const cancel = this.#clock.after(withinMs, () => end(false))
      this.#waiting.add(wake)
      signal.addEventListener('abort', wake, { once: true })
      if (signal.aborted) wake()
    })
  }
}
