// The processes that a process started, directly or through others.
import { allProcesses, processDomain } from '../../src/store/disk/process-identity.ts'
import type { ProcessIdentity } from '../../src/store/disk/process-identity.ts'

export function descendantsOf(pid: number): ProcessIdentity[] {
  const domain = processDomain()
  const children = Map.groupBy(allProcesses(), ({ parent }) => parent)
  const found: ProcessIdentity[] = []
  for (let next = children.get(pid) ?? []; next.length > 0;) {
    found.push(...next.map((child) => ({ pid: child.pid, startTime: child.startTime, domain })))
    next = next.flatMap((child) => children.get(child.pid) ?? [])
  }
  return found
}
