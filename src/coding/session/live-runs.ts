// The sessions that this process runs, and the way to those that others run: whoever owns a session does what is asked of it.
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import { CodingRun } from './coding-session.ts'
import type { HandOver } from '../machines/hand-over.ts'
import { askOwner, OwnerDesk } from '../machines/owner-requests.ts'
import type { CodingParts } from '../coding-parts.ts'
import { notRunning } from '../refusals.ts'
import { asOwner } from './run-state.ts'
import { SignOfLife } from '../machines/owner-heartbeat.ts'

export type RunAction = 'kill' | 'interrupt' | 'release' | 'send' | 'handOver'

export class LiveRuns {
  /** This process, as the owner of what it runs. */
  readonly me: CodingOwner
  #parts: CodingParts
  #live = new Map<string, CodingRun>()
  #desk: OwnerDesk
  #sign: SignOfLife

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.me = asOwner(parts.self)
    this.#desk = new OwnerDesk(parts, {
      kill: (id) => this.#runOf(id).kill('user'),
      interrupt: (id) => this.#runOf(id).interrupt(),
      release: (id) => this.#runOf(id).release(),
      send: (id, input) =>
        this.#runOf(id).send(String(input['text']), input['autoResponds'] as number | undefined),
      handOver: (id, input) => this.#runOf(id).handOver(input['to'] as HandOver),
    })
    this.#sign = new SignOfLife(parts, this.me, () => this.#live.size > 0)
  }

  get(id: string): CodingRun | undefined {
    return this.#live.get(id)
  }

  /** Says that this process lives, before it owns anything. */
  signOfLife(): Promise<void> {
    return this.#sign.give()
  }

  begin(session: CodingSession): void {
    const run = new CodingRun(this.#parts, session, {
      makeRoom: () => this.#makeRoom(),
      release: (sdkSessionId) => this.#release(sdkSessionId),
    })
    this.#live.set(session.id, run)
    this.#desk.watch(session.id)
    void run.over.then(() => {
      this.#live.delete(session.id)
      this.#desk.forget(session.id)
    })
    run.start()
  }

  /** Asks the owner of a session, this process or another one. False when it died before it did so, or when there is none. */
  async ask(
    session: CodingSession,
    action: RunAction,
    input: Record<string, unknown> = {},
  ): Promise<boolean> {
    if (this.#live.has(session.id)) {
      await this.#desk.perform(session.id, action, input)
      return true
    }
    return session.owner !== undefined && (await askOwner(this.#parts, session, action, input))
  }

  async killAll(): Promise<void> {
    const live = [...this.#live.values()]
    await Promise.all(
      live.map((run) => run.kill('shutdown', 'The process that ran it was stopped. It can be resumed.')),
    )
  }

  async close(): Promise<void> {
    this.#desk.close()
    this.#sign.stop()
    try {
      await this.killAll()
    } catch (error) {
      // On a full disk the ends cannot be stored: the next start suspends what has no owner any more.
      this.#parts.log.error(
        { event: 'coding-ends-not-stored', error: String(error) },
        'The end of coding sessions could not be stored; the next start suspends them.',
      )
      for (const run of this.#live.values()) run.writes.giveUp()
    }
  }

  /** The longest idle sessions give up their processes, until one more fits below `coding.maxSessions`. */
  async #makeRoom(): Promise<void> {
    const live = [...this.#live.values()].filter((run) => run.claude.current !== undefined)
    const tooMany = Math.max(0, live.length + 1 - this.#parts.config.maxSessions)
    const idle = live
      .filter((run) => run.isIdle)
      .sort((a, b) => a.session.lastActivityAt - b.session.lastActivityAt)
    await Promise.all(idle.slice(0, tooMany).map((run) => run.claude.park()))
  }

  async #release(sdkSessionId: string): Promise<void> {
    const waiting = [...this.#live.values()].find(
      ({ session }) => session.sdkSessionId === sdkSessionId && session.lifecycle === 'awaiting-input',
    )
    await waiting?.release()
  }

  #runOf(id: string): CodingRun {
    const run = this.#live.get(id)
    // It ended while it was asked.
    if (!run) throw notRunning(this.#parts.store.get(id)!)
    return run
  }
}
