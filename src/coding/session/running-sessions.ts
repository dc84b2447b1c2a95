// The sessions that this process runs, and requests to those that other processes run: the owner of a session performs these
// requests.
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import type { CodingParts } from '../coding-parts.ts'
import { asOwner, OwnerHeartbeat } from '../machines/owner.ts'
import { requestOfOwner, RequestListener } from '../machines/owner-requests.ts'
import { notRunning } from '../refusals.ts'
import { RunningSession } from './running-session.ts'
import type { HandOver } from './session-changes.ts'

type OwnerAction = 'kill' | 'interrupt' | 'release' | 'seen' | 'send' | 'handOver'

export class RunningSessions {
  /** This process, as the owner of the sessions that it runs. */
  readonly self: CodingOwner
  #parts: CodingParts
  #sessions = new Map<string, RunningSession>()
  #requests: RequestListener
  #heartbeat: OwnerHeartbeat

  constructor(parts: CodingParts) {
    this.#parts = parts
    this.self = asOwner(parts.owners.self)
    this.#requests = new RequestListener(parts, {
      kill: (id) => this.#find(id).kill('user'),
      interrupt: (id) => this.#find(id).interrupt(),
      release: (id) => this.#find(id).release(),
      seen: (id) => this.#find(id).markSeen(),
      send: (id, input) =>
        this.#find(id).send(String(input['text']), input['autoResponds'] as number | undefined),
      handOver: (id, input) => this.#find(id).handOver(input['to'] as HandOver),
    })
    this.#heartbeat = new OwnerHeartbeat(parts, this.self, () => this.#sessions.size > 0)
  }

  get(id: string): RunningSession | undefined {
    return this.#sessions.get(id)
  }

  /** Called before this process owns a session. */
  startHeartbeat(): Promise<void> {
    return this.#heartbeat.start()
  }

  start(session: CodingSession): void {
    const running = new RunningSession(this.#parts, session, {
      makeRoom: () => this.#makeRoom(),
      releaseConversation: (sdkSessionId) => this.#releaseConversation(sdkSessionId),
    })
    this.#sessions.set(session.id, running)
    this.#requests.add(session.id)
    void running.over.then(() => {
      // The session was resumed at once and has another runner.
      if (this.#sessions.get(session.id) !== running) return
      this.#sessions.delete(session.id)
      this.#requests.remove(session.id)
    })
    running.start()
  }

  /** Asks the owner of a session, this process or another one. False when there is none, or when it died before it answered. */
  async ask(
    session: CodingSession,
    action: OwnerAction,
    input: Record<string, unknown> = {},
  ): Promise<boolean> {
    if (this.#sessions.has(session.id)) {
      await this.#requests.perform(session.id, action, input)
      return true
    }
    return session.owner !== undefined && (await requestOfOwner(this.#parts, session, action, input))
  }

  /** Ends every running and queued session. No session that was ended here starts again by itself. */
  async killAll(): Promise<void> {
    await Promise.all(
      [...this.#sessions.values()].map((running) => running.kill('shutdown', stopText(running))),
    )
  }

  async close(): Promise<void> {
    this.#requests.close()
    this.#heartbeat.stop()
    try {
      const all = [...this.#sessions.values()]
      await Promise.all(all.map((running) => running.stopForRestart(stopText(running))))
    } catch (error) {
      // The disk is full. The next start suspends sessions whose owner is gone.
      this.#parts.log.error(
        { event: 'coding-ends-not-stored', error: String(error) },
        'The end of coding sessions could not be stored; the next start suspends them.',
      )
      for (const session of this.#sessions.values()) session.writes.giveUp()
    }
  }

  /** Closes the processes of the sessions that are idle longest, until one more fits below `coding.maxSessions`. */
  async #makeRoom(): Promise<void> {
    const open = [...this.#sessions.values()].filter(({ claude }) => claude.current !== undefined)
    const tooMany = Math.max(0, open.length + 1 - this.#parts.config.maxSessions)
    const idle = open
      .filter((running) => running.isIdle)
      .sort((a, b) => a.session.lastActivityAt - b.session.lastActivityAt)
    await Promise.all(idle.slice(0, tooMany).map(({ claude }) => claude.park()))
  }

  async #releaseConversation(sdkSessionId: string): Promise<void> {
    const waiting = [...this.#sessions.values()].find(
      ({ session }) => session.sdkSessionId === sdkSessionId && session.lifecycle === 'awaiting-input',
    )
    await waiting?.release()
  }

  #find(id: string): RunningSession {
    const running = this.#sessions.get(id)
    // The session ended after the request was made.
    if (!running) throw notRunning(this.#parts.store.get(id)!)
    return running
  }
}

function stopText({ session }: RunningSession): string {
  const isKnown = session.sdkSessionId !== undefined
  return `The process that ran it was stopped.${isKnown ? ' It can be resumed.' : ''}`
}
