// Whether a coding session runs, works, and has a process that owns it.
import { hostname } from 'node:os'
import type { Clock } from '../../domain/clock.ts'
import type { CodingOwner, CodingSession } from '../../domain/coding-session.ts'
import type { CodingStore } from '../../store/sqlite/coding-store.ts'
import type { ProcessIdentity } from '../../store/disk/process-identity.ts'
import { identifyProcess, isSameProcess, readMachineId } from '../../store/disk/process-identity.ts'

/** An owner says so often that it lives; one that we cannot see is taken for dead after so long a silence, or as soon as the
 *  machines that share a database have buried it: then its sign is gone. */
export const ownerSignMs = 5_000
const ownerSilenceMs = 20_000
/** How often it is looked whose owner is gone. */
export const orphansMs = 2_000

export function isRunning(session: CodingSession): boolean {
  return session.status === 'starting' || session.status === 'running'
}

export function isWorking(session: CodingSession): boolean {
  return isRunning(session) && session.lifecycle !== 'awaiting-input'
}

/** Does it belong to this machine? One that knows of no machines was begun before there were several. */
export function isOn(machine: string | undefined, session: Pick<CodingSession, 'machine'>): boolean {
  return machine === undefined || session.machine === undefined || session.machine === machine
}

export function asOwner(self: ProcessIdentity): CodingOwner {
  return { ...self, machine: readMachineId(), host: hostname() }
}

export function nameOfOwner({ pid, startTime, domain }: ProcessIdentity): string {
  return `${domain} ${pid} ${startTime}`
}

/** Tells whether the process that owns a session lives. The name of the machine says nothing: it may change. */
export function ownership(
  store: Pick<CodingStore, 'ownerSeenAt'>,
  clock: Pick<Clock, 'now'>,
): (session: CodingSession) => boolean {
  return ({ owner }) => {
    if (!owner) return false
    if (owner.domain === identifyProcess(process.pid)?.domain) return isSameProcess(owner)
    if (isOfEarlierBoot(owner)) return false
    // Another container of this machine, or another machine: only its own sign of life tells.
    const seenAt = store.ownerSeenAt(nameOfOwner(owner))
    return seenAt !== undefined && clock.now() - seenAt < ownerSilenceMs
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
