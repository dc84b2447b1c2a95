// One session works in a repository at a time (or as many as configured). Others wait in the order they came.
// A session that only waits for its next message does not hold the repository.
import type { Clock } from '../../domain/clock.ts'
import type { CodingLifecycle, CodingSession } from '../../domain/coding-session.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import { isOn } from '../session/run-state.ts'

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
  atOnce: number
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

  queuedIn(repo: string): CodingSession[] {
    return this.#openIn(repo).filter((session) => session.lifecycle === 'queued')
  }

  #openIn(repo: string): CodingSession[] {
    const { store, machine } = this.#parts
    return store.list({ repo, open: true }).filter((session) => isOn(machine, session))
  }

  isFree(repo: string, id: string): boolean {
    const others = this.workingIn(repo, id).map((session) => session.id)
    const taken = new Set([
      ...others,
      ...[...(this.#inside.get(repo) ?? [])].filter((inside) => inside !== id),
    ])
    return taken.size < this.#parts.atOnce
  }

  /** Works this session here, in this process? */
  holds(repo: string, id: string): boolean {
    return this.#inside.get(repo)?.has(id) === true
  }

  /** Resolves when this session may work; call `leave` afterwards. False if the signal fired first. */
  enter(repo: string, id: string, signal: AbortSignal): Promise<boolean> {
    const line = this.#waiting.get(repo) ?? []
    this.#waiting.set(repo, line)
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
          this.#inside.set(repo, (this.#inside.get(repo) ?? new Set()).add(id))
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

  leave(repo: string, id: string): void {
    this.#inside.get(repo)?.delete(id)
    this.#waiting.get(repo)?.[0]?.go()
  }
}
