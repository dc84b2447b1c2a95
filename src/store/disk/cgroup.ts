// Cgroups (version 2) of our own. No process can leave one by itself that may not write to the cgroups above it, and the
// kernel ends a whole cgroup at once. Where none can be made (not Linux, no rights, a container), there is none.
import { existsSync, mkdirSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'

/** The cgroup of this process, in which others can be made, if we have the rights; undefined where there is no version 2. */
export function findOwnCgroup(): string | undefined {
  try {
    return ownCgroup(readFileSync('/proc/self/mountinfo', 'utf8'), readFileSync('/proc/self/cgroup', 'utf8'))
  } catch {
    // No /proc, thus no cgroups.
    return undefined
  }
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

/** A new cgroup in `parent`; undefined if it cannot be made, or the kernel cannot end it at once (before Linux 5.14). */
export function makeCgroup(parent: string, name: string): string | undefined {
  const path = join(parent, name)
  try {
    mkdirSync(path)
  } catch {
    // No rights: an ordinary user outside a service of his own, or a container.
    return undefined
  }
  if (existsSync(join(path, 'cgroup.kill'))) return path
  rmdirSync(path)
  return undefined
}

/** The numbers of all processes in this cgroup and in those below it. */
export function pidsInCgroup(path: string): number[] {
  return filesIn(path)
    .filter((name) => name.endsWith('cgroup.procs'))
    .flatMap((name) => readLines(join(path, name)).map(Number))
}

/** Sends SIGKILL to all processes in this cgroup and below, also to those that are being started at this moment. */
export function killCgroup(path: string): void {
  try {
    writeFileSync(join(path, 'cgroup.kill'), '1')
  } catch {
    // It is gone already.
  }
}

/** Removes the cgroup and those below it, if no process is left in them. */
export function removeCgroup(path: string): void {
  const below = filesIn(path)
    .filter((name) => name.endsWith('cgroup.procs'))
    .map((name) => join(path, name, '..'))
    .toSorted((one, other) => other.length - one.length)
  for (const each of below) {
    try {
      rmdirSync(each)
    } catch {
      // A process that cannot be ended keeps its cgroup: an empty folder in memory, until the machine restarts.
    }
  }
}

function filesIn(path: string): string[] {
  try {
    return readdirSync(path, { recursive: true, encoding: 'utf8' })
  } catch {
    // It is gone already.
    return []
  }
}

function readLines(path: string): string[] {
  try {
    return readFileSync(path, 'latin1').split('\n').filter(Boolean)
  } catch {
    // It is gone already.
    return []
  }
}
