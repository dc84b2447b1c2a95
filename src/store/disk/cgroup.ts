// Our own cgroups (version 2). A process without write access to the parent cgroups cannot leave its cgroup, and the kernel can
// kill a whole cgroup at once. Not available outside of Linux, without the rights, or in most containers.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { attempt } from '../../domain/errors.ts'

/** The cgroup of this process, below which others can be created given the rights; undefined without cgroup version 2. */
export function findOwnCgroup(): string | undefined {
  // Without /proc there are no cgroups.
  return attempt(() =>
    ownCgroup(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8')),
  )
}

/** `mountinfo` and `cgroup` are files of /proc/self. Fields 4 and 5 of a mount are its root and its place. */
export function ownCgroup(mountinfo: string, cgroup: string): string | undefined {
  const own = /^0::(\/.*)$/m.exec(cgroup)?.[1]
  const mount = mountinfo.split('\n').find((line) => line.includes(' - cgroup2 '))
  const [, , , root, place] = mount?.split(' ') ?? []
  if (own === undefined || root === undefined || place === undefined) return undefined
  const below = relative(root, own)
  return below.startsWith('..') ? undefined : join(place, below)
}

/** A new cgroup in `parent`; undefined if it cannot be created, or the kernel cannot kill it at once (before Linux 5.14). */
export function makeCgroup(parent: string, name: string): string | undefined {
  const path = join(parent, name)
  try {
    mkdirSync(path)
  } catch {
    // No rights: an ordinary user without a service, or a container.
    return undefined
  }
  if (existsSync(join(path, 'cgroup.kill'))) return path
  rmdirSync(path)
  return undefined
}

export function pidsInCgroup(path: string): number[] {
  const lists = listsBelow(path).map((list) => attempt(() => readFileSync(list, 'latin1'), ''))
  return lists.flatMap((list) => list.split('\n').filter(Boolean)).map(Number)
}

/** Sends SIGKILL to all processes in this cgroup and below it, including those that are just being started. */
export function killCgroup(path: string): void {
  // Fails if it is gone already.
  attempt(() => writeFileSync(join(path, 'cgroup.kill'), '1'))
}

/** Removes this cgroup and those below it, if no process is left in them. */
export function removeCgroup(path: string): void {
  const below = listsBelow(path)
    .map((list) => join(list, '..'))
    .toSorted((one, other) => other.length - one.length)
  for (const each of below) {
    // A process that cannot be killed keeps its cgroup until the machine restarts; it costs almost nothing.
    attempt(() => rmdirSync(each))
  }
}

/** The lists of processes of this cgroup and those below it; none if it is gone already. */
function listsBelow(path: string): string[] {
  const names = attempt(() => readdirSync(path, { recursive: true, encoding: 'utf8' }), [])
  return names.filter((name) => name.endsWith('cgroup.procs')).map((name) => join(path, name))
}
