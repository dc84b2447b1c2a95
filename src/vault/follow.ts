// Keeps sessions up to date in the vault: all of them once, then each that changes. The gateway follows changes as long as it
// runs; a command keeps what changed after it has answered, for a short time.
import type { Clock } from '../domain/clock.ts'
import type { DiscoveredSession, Discovery } from '../domain/discovered-session.ts'
import { errorText } from '../domain/errors.ts'
import type { Events } from '../domain/events.ts'
import type { Log } from '../domain/log.ts'
import { sessionToKeep } from './session-files.ts'
import type { SessionToKeep } from './keep.ts'
import type { SharedVault } from './shared-vault.ts'
import type { Vault } from './vault.ts'

/** Changes come in bursts and are kept together, at most once in this time. */
const gatherMs = 5_000
/** How often replaced versions are removed and the limit is checked. */
const upkeepMs = 3_600_000
/** How often new content is copied to the shared vault. */
const shareMs = 60_000
/** After a failure, such as a full disk, the same sessions are tried again after this time. */
const retryMs = 30_000

interface FollowParts {
  vault: Vault
  shared: SharedVault | undefined
  discovery: Discovery
  events: Events
  clock: Clock
  log: Log
  maxBytes: number
}

export function followSessions(parts: FollowParts): () => Promise<void> {
  const follower = new SessionFollower(parts)
  const running = follower.run()
  return async () => {
    follower.stop()
    await running
  }
}

/** Keeps every session that has changed, in a thread; the most recently used first, because they cannot be made again. */
export async function keepAll(
  { vault, discovery }: Pick<FollowParts, 'vault' | 'discovery'>,
  stop?: AbortSignal,
): Promise<number> {
  return vault.keepInThread(everySession(discovery), stop)
}

/** Like `keepAll`, until `isEnough`, and without the start of a thread. */
export async function keepSome(
  { vault, discovery }: Pick<FollowParts, 'vault' | 'discovery'>,
  isEnough: () => boolean,
): Promise<number> {
  return vault.keep(everySession(discovery), isEnough)
}

async function* everySession(discovery: Discovery): AsyncGenerator<SessionToKeep> {
  const { sessions } = await discovery.list({ agentKind: 'all' })
  yield* toKeep(discovery, sessions)
}

/** The files of all sessions together would take much memory. */
async function* toKeep(
  discovery: Discovery,
  sessions: readonly DiscoveredSession[],
): AsyncGenerator<SessionToKeep> {
  for (const session of sessions) yield await sessionToKeep(session, discovery)
}

class SessionFollower {
  readonly #parts: FollowParts
  readonly #changed = new Set<string>()
  readonly #stopping = new AbortController()
  #wake = (): void => {}
  #upkeepAt = 0
  #shareAt = 0
  #isUnshared = true

  constructor(parts: FollowParts) {
    this.#parts = parts
  }

  stop(): void {
    this.#stopping.abort()
    this.#wake()
  }

  async run(): Promise<void> {
    const { events } = this.#parts
    const unsubscribe = events.on((event) => {
      if (event.type !== 'native-changed') return
      this.#changed.add(event.sessionId)
      this.#wake()
    })
    let isFirst = true
    while (!this.#stopping.signal.aborted) {
      const isDone = await this.#keep(isFirst)
      if (isDone) isFirst = false
      await this.#upkeep()
      await this.#share()
      await this.#pause(isDone ? gatherMs : retryMs)
      if (!isFirst && this.#changed.size === 0 && !this.#isUnshared) await this.#untilChange()
    }
    unsubscribe()
  }

  async #keep(all: boolean): Promise<boolean> {
    const { vault, discovery, log } = this.#parts
    const ids = [...this.#changed]
    this.#changed.clear()
    try {
      if (all) await keepAll(this.#parts, this.#stopping.signal)
      else if (ids.length > 0) {
        const sessions = await discovery.known(ids)
        await vault.keep(toKeep(discovery, sessions), () => this.#stopping.signal.aborted)
        this.#isUnshared = true
      }
      return true
    } catch (error) {
      for (const id of ids) this.#changed.add(id)
      log.warn(
        { event: 'vault-keep-failed', sessions: ids.length, reason: errorText(error) },
        'Could not keep changed sessions in the vault; trying again in 30 s. The sessions are not affected.',
      )
      return false
    }
  }

  async #upkeep(): Promise<void> {
    const { vault, clock, log, maxBytes } = this.#parts
    if (clock.monotonic() < this.#upkeepAt || this.#stopping.signal.aborted) return
    this.#upkeepAt = clock.monotonic() + upkeepMs
    try {
      await vault.compact()
      const { sessions, isShort } = await vault.planPrune(maxBytes, false)
      if (sessions.length > 0) await vault.prune(sessions.map(({ sessionId }) => sessionId))
      if (sessions.length > 0 || isShort)
        log.warn(
          { event: 'vault-over-limit', removed: sessions.length, stillOver: isShort },
          'The vault is over its limit (vault.maxGb); removed the oldest sessions, none younger than a year.',
        )
    } catch (error) {
      log.warn(
        { event: 'vault-upkeep-failed', reason: errorText(error) },
        'Could not free space in the vault.',
      )
    }
  }

  async #share(): Promise<void> {
    const { shared, clock, log } = this.#parts
    if (!shared) this.#isUnshared = false
    if (!shared || !this.#isUnshared || clock.monotonic() < this.#shareAt || this.#stopping.signal.aborted)
      return
    this.#shareAt = clock.monotonic() + shareMs
    try {
      await shared.send()
      this.#isUnshared = false
    } catch (error) {
      log.warn(
        { event: 'vault-share-failed', reason: errorText(error) },
        'Could not copy the vault to the shared place; trying again in 60 s.',
      )
    }
  }

  #untilChange(): Promise<void> {
    return new Promise((resolve) => {
      this.#wake = resolve
      if (this.#changed.size > 0 || this.#stopping.signal.aborted) resolve()
    })
  }

  /** Ends early when it is time to stop. */
  #pause(ms: number): Promise<void> {
    const { signal } = this.#stopping
    if (signal.aborted) return Promise.resolve()
    return new Promise((resolve) => {
      const end = (): void => {
        cancel()
        signal.removeEventListener('abort', end)
        resolve()
      }
      const cancel = this.#parts.clock.after(ms, end)
      signal.addEventListener('abort', end)
    })
  }
}
