// A process of Claude's and everything that it started, including processes that left its process tree (`setsid`, `cmd &` of a
// shell that ended). They are found by cgroup, or by an environment variable that children inherit; then by parent and by session.
import { createHash, randomBytes } from 'node:crypto'
import { pidsInCgroup } from './cgroup.ts'
import type { ProcessIdentity, ListedProcess } from './process-identity.ts'
import { allProcesses, identifyProcess, processDomain, pidsWithVariable } from './process-identity.ts'

export interface ProcessScope {
  root: ProcessIdentity
  /** The beginning of the variable's value in the environment of each process. */
  marker: string
  cgroup?: string
}

export const markerVariable = 'ROCKPOOL_PROCESS_OF'

/** The marker of everything that this Rockpool starts; unique on this machine, also after a restart. */
export function ownerMarker({ pid, startTime, domain }: ProcessIdentity): string {
  const hash = createHash('sha256').update(`${domain} ${pid} ${startTime}`).digest('hex')
  return `${hash.slice(0, 16)}-`
}

/** The marker of one process that this Rockpool starts now. */
export function newMarker(): string {
  return ownerMarker(ownIdentity()) + randomBytes(8).toString('hex')
}

/** For an owner's marker: the common beginning of the names of all cgroups of this Rockpool. */
export function cgroupName(marker: string): string {
  return `rockpool-${marker}`
}

export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', domain: '' }
}

/** All running processes of the scope, never this process itself. `known` were found earlier; their children belong to it too. */
export function processesOf(
  { root, marker, cgroup }: ProcessScope,
  known: readonly ProcessIdentity[] = [],
): ProcessIdentity[] {
  const domain = processDomain()
  const running = allProcesses()
  // A process that started before the root is not its descendant.
  const younger = running.filter(({ startTime }) => Number(startTime) >= Number(root.startTime))
  const marked = pidsWithVariable(`${markerVariable}=${marker}`, younger)
  const grouped = new Set(cgroup === undefined ? [] : pidsInCgroup(cgroup))
  const remembered = new Set([root, ...known].map(nameOf))
  const found = running.filter(
    ({ pid, startTime }) =>
      marked.has(pid) || grouped.has(pid) || remembered.has(nameOf({ pid, startTime, domain })),
  )
  return withTheirs(found, running)
    .filter(({ pid }) => pid !== process.pid)
    .map(({ pid, startTime }) => ({ pid, startTime, domain }))
}

/** Adds children and processes of the same session, recursively. Our own session is excluded: a scope has its own session. */
function withTheirs(found: readonly ListedProcess[], running: readonly ListedProcess[]): ListedProcess[] {
  const own = running.find(({ pid }) => pid === process.pid)?.group
  const children = Map.groupBy(running, ({ parent }) => parent)
  const sessions = Map.groupBy(running, ({ group }) => group)
  // The session reads as 0 if its leader is outside of this container.
  for (const shared of [own, 0]) if (shared !== undefined) sessions.delete(shared)
  const all = new Set(found)
  // Iteration over a Set includes elements that are added meanwhile.
  for (const { pid, group } of all) {
    for (const next of [...(children.get(pid) ?? []), ...(sessions.get(group) ?? [])]) all.add(next)
  }
  return [...all]
}

function nameOf({ pid, startTime, domain }: ProcessIdentity): string {
  return `${domain} ${pid} ${startTime}`
}
