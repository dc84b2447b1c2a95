// The process that owns a running session: who it is, how it shows that it is alive, and how other processes tell.
import { hostname } from 'node:os'
import type { Clock } from '../../domain/clock.ts'
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import type { Log } from '../../domain/log.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import type { ProcessIdentity } from '../../store/disk/process-identity.ts'
import { identifyProcess, isSameProcess, readMachineId } from '../../store/disk/process-identity.ts'

/** This process among the owners of sessions. */
export interface Owners {
  /** The name of this machine, where several share the sessions. Each has its own repositories. */
  machine?: string
  self: ProcessIdentity
  /** Is the process that owns the session alive? */
  ownerLives: (session: CodingSession) => boolean
}

/** Owners send a heartbeat every 5 s. An owner whose process we cannot inspect is dead after 20 s without one, or when the
 *  machines that share a database have removed its heartbeat. */
const heartbeatMs = 5_000
const deadAfterMs = 20_000

export function asOwner(self: ProcessIdentity): CodingOwner {
  return { ...self, machine: readMachineId(), host: hostname() }
}

export function nameOfOwner({ pid, startTime, domain }: ProcessIdentity): string {
  return `${domain} ${pid} ${startTime}`
}

export function isSameOwner(one: CodingOwner | undefined, other: CodingOwner | undefined): boolean {
  return one === undefined || other === undefined ? one === other : nameOfOwner(one) === nameOfOwner(other)
}

/** Tells whether the process that owns a session is alive. Ignores the host name, which may change. */
export function ownerCheck(
  store: Pick<CodingStore, 'ownerSeenAt'>,
  clock: Pick<Clock, 'now'>,
): Owners['ownerLives'] {
  return ({ owner }) => {
    if (!owner) return false
    if (owner.domain === identifyProcess(process.pid)?.domain) return isSameProcess(owner)
    if (isOfEarlierBoot(owner)) return false
    // Another container of this machine, or another machine: only its heartbeat tells.
    const seenAt = store.ownerSeenAt(nameOfOwner(owner))
    return seenAt !== undefined && clock.now() - seenAt < deadAfterMs
  }
}

/** A boot ends every process of the machine. */
function isOfEarlierBoot({ domain, machine }: CodingOwner): boolean {
  const boot = (of: string | undefined): string | undefined => of?.split(':')[1]
  return (
    machine !== '' &&
    machine === readMachineId() &&
    boot(domain) !== boot(identifyProcess(process.pid)?.domain)
  )
}

interface HeartbeatParts {
  store: CodingStore
  clock: Clock
  log: Log
}

/** Writes the heartbeat of this process for as long as it owns sessions. */
export class OwnerHeartbeat {
  #parts: HeartbeatParts
  #owner: CodingOwner
  #isNeeded: () => boolean
  #cancel: (() => void) | undefined

  constructor(parts: HeartbeatParts, owner: CodingOwner, isNeeded: () => boolean) {
    this.#parts = parts
    this.#owner = owner
    this.#isNeeded = isNeeded
  }

  /** Resolves when the first heartbeat is stored; more follow while they are needed. */
  async start(): Promise<void> {
    if (this.#cancel) return
    const { store, clock, log } = this.#parts
    this.#cancel = clock.after(heartbeatMs, () => {
      this.#cancel = undefined
      if (!this.#isNeeded()) return
      this.start().catch((error: unknown) =>
        log.error(
          { event: 'owner-heartbeat-failed', error: String(error) },
          'Could not write the heartbeat; other processes may consider this one dead.',
        ),
      )
    })
    await store.markOwner(nameOfOwner(this.#owner), clock.now())
  }

  stop(): void {
    this.#cancel?.()
  }
}
