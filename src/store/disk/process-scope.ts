// One of Claude's processes and everything that it started, also what has left its process tree (`setsid`, `cmd &` of a
// shell that ended). Found by the cgroup that it was put in, or by a variable in the environment, which children inherit;
// and from there by parent and by session.
import { createHash, randomBytes } from 'node:crypto'
import { pidsInCgroup } from './cgroup.ts'
import type { ProcessIdentity, SeenProcess } from './process-identity.ts'
import { allProcesses, identifyProcess, processDomain, withVariable } from './process-identity.ts'

export interface ProcessScope {
  root: ProcessIdentity
  /** What the value of the variable begins with in the environment of each process. */
  marker: string
  cgroup?: string
}

export const markerVariable = 'ROCKPOOL_PROCESS_OF'

/** For everything that this Rockpool starts. No other Rockpool of the machine has the same, also after a restart. */
export function ownerMarker({ pid, startTime, domain }: ProcessIdentity): string {
  const hash = createHash('sha256').update(`${domain} ${pid} ${startTime}`).digest('hex')
  return `${hash.slice(0, 16)}-`
}

/** For one process that this Rockpool starts now. */
export function newMarker(): string {
  return ownerMarker(ownIdentity()) + randomBytes(8).toString('hex')
}

/** Begins with the name of all cgroups of this Rockpool if the marker is an owner's. */
export function cgroupName(marker: string): string {
  return `rockpool-${marker}`
}

export function ownIdentity(): ProcessIdentity {
  return identifyProcess(process.pid) ?? { pid: process.pid, startTime: '', domain: '' }
}

/** All processes of the scope that run now. `known` were found earlier: what they started since then belongs to the scope,
 *  too. Never this process itself. */
export function processesOf(
  { root, marker, cgroup }: ProcessScope,
  known: readonly ProcessIdentity[] = [],
): ProcessIdentity[] {
  const domain = processDomain()
  const running = allProcesses()
  // What started before the root was not started by it.
  const younger = running.filter(({ startTime }) => Number(startTime) >= Number(root.startTime))
  const marked = withVariable(`${markerVariable}=${marker}`, younger)
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

/** Adds the children and the processes of the same session, and theirs. Our own session is not theirs: what we start for a
 *  scope gets a session of its own. */
function withTheirs(found: readonly SeenProcess[], running: readonly SeenProcess[]): SeenProcess[] {
  const own = running.find(({ pid }) => pid === process.pid)?.group
  const children = Map.groupBy(running, ({ parent }) => parent)
  const sessions = Map.groupBy(running, ({ group }) => group)
  // A session whose leader is outside of a container reads as 0.
  for (const shared of [own, 0]) if (shared !== undefined) sessions.delete(shared)
  const all = new Set(found)
  // A set that grows while it is walked through is walked to its end.
  for (const { pid, group } of all) {
    for (const next of [...(children.get(pid) ?? []), ...(sessions.get(group) ?? [])]) all.add(next)
  }
  return [...all]
}

function nameOf({ pid, startTime, domain }: ProcessIdentity): string {
  return `${domain} ${pid} ${startTime}`
}
