// Who a process is: its number and when it started. Numbers are given out again, so a number alone is never enough to
// say that a process still lives, nor to end it.
import { existsSync, readFileSync, readdirSync, readlinkSync } from 'node:fs'

export interface ProcessIdentity {
  pid: number
  /** Clock ticks since boot, from /proc; elsewhere the date that `ps` shows. Only ever compared. */
  startTime: string
  /** The boot and pid namespace in which the two numbers mean something. */
  domain: string
}

/** The process with this number, or undefined if there is none. A zombie is none: it only waits to be counted. */
export function identifyProcess(pid: number): ProcessIdentity | undefined {
  const startTime = existsSync('/proc/self') ? readStat(pid)?.startTime : startTimeFromPs(pid)
  return startTime === undefined ? undefined : { pid, startTime, domain: processDomain() }
}

export function isSameProcess(identity: ProcessIdentity): boolean {
  const found = identifyProcess(identity.pid)
  return found?.startTime === identity.startTime && found.domain === identity.domain
}

/** What Claude Code writes as `pidDomain` beside the number and start of a process: the machine and pid namespace. */
export function claudePidDomain(): string {
  return `linux:${readMachineId()}:${pidNamespace()}`
}

/** All processes below this one, children before grandchildren. Empty where the system does not tell. */
export function descendantsOf(pid: number): ProcessIdentity[] {
  const children = new Map<number, ProcessIdentity[]>()
  for (const candidate of allPids()) {
    const stat = readStat(candidate)
    if (!stat) continue
    const identity = { pid: candidate, startTime: stat.startTime, domain: processDomain() }
    children.set(stat.parent, [...(children.get(stat.parent) ?? []), identity])
  }
  const found: ProcessIdentity[] = []
  for (let next = children.get(pid) ?? []; next.length > 0;) {
    found.push(...next)
    next = next.flatMap((child) => children.get(child.pid) ?? [])
  }
  return found
}

/** The processes above this one, the nearest first; none where the system does not tell. */
export function ancestorsOf(pid: number): number[] {
  const found: number[] = []
  for (
    let parent = readStat(pid)?.parent;
    parent && !found.includes(parent);
    parent = readStat(parent)?.parent
  ) {
    found.push(parent)
  }
  return found
}

function readStat(pid: number): { parent: number; startTime: string } | undefined {
  let text: string
  try {
    text = readFileSync(`/proc/${pid}/stat`, 'latin1')
  } catch {
    // No such process, or no /proc: both mean that there is nothing to read.
    return undefined
  }
  // The name in parentheses may hold anything, also spaces and parentheses; the fields begin after the last one.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
  const [state, parent] = fields
  if (state === 'Z' || state === 'X') return undefined
  return { parent: Number(parent), startTime: fields[19] ?? '' }
}

function allPids(): number[] {
  if (!existsSync('/proc/self')) return []
  return readdirSync('/proc').flatMap((name) => (/^\d+$/.test(name) ? [Number(name)] : []))
}

function startTimeFromPs(pid: number): string | undefined {
  try {
    const line = process
      .getBuiltinModule('node:child_process')
      .execFileSync('ps', ['-o', 'stat=,lstart=', '-p', String(pid)], { encoding: 'utf8' })
      .trim()
    const [state, ...started] = line.split(/\s+/)
    return !state || state.startsWith('Z') ? undefined : started.join(' ')
  } catch {
    // ps fails when there is no such process.
    return undefined
  }
}

function processDomain(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim().replaceAll('-', '')
    return `linux:${boot}:${pidNamespace()}`
  } catch {
    // Not Linux: there is one domain, the machine.
    return process.platform
  }
}

function pidNamespace(): string {
  return readlinkSync('/proc/self/ns/pid')
}

/** What this machine calls itself for ever, whatever its name; empty where it does not say. */
export function readMachineId(): string {
  const file = ['/etc/machine-id', '/var/lib/dbus/machine-id'].find((path) => existsSync(path))
  return file ? readFileSync(file, 'latin1').trim() : ''
}
