// One session works in a repository at a time (or as many as configured), in whichever of its folders, and `coding.maxSessions`
// on the machine. Others wait in the order they came.
// A session that only waits for its next message does not hold the repository.
import type { Clock } from '../../domain/clock.ts'
import type { CodingLifecycle, CodingSession } from '../../domain/coding-session.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import { isOn } from '../session/run-state.ts'
import { repositoryRoot } from './workdir.ts'

const working: ReadonlySet<CodingLifecycle> = new Set([
  'starting',
  'active',
  'awaiting-approval',
  'awaiting-answer',
  'awaiting-plan',
  'awaiting-budget',
])

export interface RepoGateParts {
  store: CodingStore
  clock: Clock
  /** `coding.perRepo.running`, as it is now. */
  atOnce: () => number
  /** `coding.maxSessions`, as it is now. Sessions that wait for a message or in the queue do not count. */
  maxSessions: () => number
  /** Does the process that owns this session still live? Sessions of dead owners hold nothing. */
  isOwned: (session: CodingSession) => boolean
  /** This machine: a directory of the same name on another one is not the same. */
  machine?: string
}

/** How often to look whether a session of another process has left the repository. */
const lookMs = 500

export class RepoGate {
  #parts: RepoGateParts
  #waiting = new Map<string, Array<{ id: string; go: () => void }>>()
  #inside = new Map<string, Set<string>>()

  constructor(parts: RepoGateParts) {
    this.#parts = parts
  }

  /** Who else works in this repository now, in any process. */
  workingIn(repo: string, exceptId?: string): CodingSession[] {
    return this.#openIn(repo).filter(
      (session) => session.id !== exceptId && working.has(session.lifecycle) && this.#parts.isOwned(session),
    )
  }

  /** Sessions of this machine that wait for their next message. */
  awaitingInputIn(repo: string): CodingSession[] {
    return this.#openIn(repo).filter(
      (session) => session.lifecycle === 'awaiting-input' && this.#parts.isOwned(session),
    )
  }

  queuedIn(repo: string): CodingSession[] {
    return this.#openIn(repo).filter((session) => session.lifecycle === 'queued')
  }

  #openIn(repo: string): CodingSession[] {
    const { store, machine } = this.#parts
    const root = repositoryRoot(repo)
    const isHere = (session: CodingSession): boolean =>
      isOn(machine, session) && repositoryRoot(session.request.workdir) === root
    return store.list({ open: true }).filter(isHere)
  }

  isFree(repo: string, id: string): boolean {
    const others = this.workingIn(repo, id).map((session) => session.id)
    const taken = new Set([
      ...others,
      ...[...(this.#inside.get(repositoryRoot(repo)) ?? [])].filter((inside) => inside !== id),
    ])
    return taken.size < this.#parts.atOnce() && this.#hasPlace(id)
  }

  /** Are fewer than `maxSessions` others at work on this machine? */
  #hasPlace(id: string): boolean {
    const { store, machine, isOwned, maxSessions } = this.#parts
    const atWork = store
      .list({ running: true })
      .filter((other) => working.has(other.lifecycle) && isOn(machine, other) && isOwned(other))
    const ids = new Set([
      ...atWork.map((other) => other.id),
      ...[...this.#inside.values()].flatMap((inside) => [...inside]),
    ])
    ids.delete(id)
    return ids.size < maxSessions()
  }

  /** Whether this session works in its repository, in this process. */
  holds(id: string): boolean {
    return [...this.#inside.values()].some((inside) => inside.has(id))
  }

  /** Resolves when this session may work; call `leave` afterwards. False if the signal fired first. */
  enter(repo: string, id: string, signal: AbortSignal): Promise<boolean> {
    const root = repositoryRoot(repo)
    const line = this.#waiting.get(root) ?? []
    this.#waiting.set(root, line)
    return new Promise((resolve) => {
      let cancelLook = (): void => {}
      const giveUp = (): void => {
        cancelLook()
        line.splice(line.indexOf(place), 1)
        resolve(false)
      }
      const tryNow = (): void => {
        cancelLook()
        if (line[0] === place && this.isFree(repo, id)) {
          line.shift()
          signal.removeEventListener('abort', giveUp)
          this.#inside.set(root, (this.#inside.get(root) ?? new Set()).add(id))
          resolve(true)
          line[0]?.go()
        } else cancelLook = this.#parts.clock.after(lookMs, tryNow)
      }
      const place = { id, go: tryNow }
      line.push(place)
      signal.addEventListener('abort', giveUp, { once: true })
      if (signal.aborted) giveUp()
      else tryNow()
    })
  }

  /** By its id only: the session may have made or removed the `.git` that its repository is known by. */
  leave(id: string): void {
    for (const inside of this.#inside.values()) inside.delete(id)
    for (const [next] of this.#waiting.values()) next?.go()
  }
}
